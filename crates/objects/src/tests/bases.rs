//! Caching bases, and when, changes nothing of what is read.

use super::*;
use vigil_testkit::chance::Chance;

#[test]
fn objects_in_any_order_are_read_with_any_room_for_bases_now_or_later() {
    let sandbox = Sandbox::filled(HashKind::Sha1);
    // Random bytes, so that a delta can only copy them from another object.
    let mut chance = Chance::new(7);
    let noise: Vec<u8> = (0..1_200_000).map(|_| chance.below(256) as u8).collect();
    for n in 0..6 {
        let mut large = noise.clone();
        large[n * 1000..n * 1000 + 500].fill(b'x');
        fs::write(sandbox.top().join("large"), large).unwrap();
        sandbox.git(&["add", "."]);
        sandbox.git(&["commit", "-qm", "large"]);
    }
    sandbox.git(&["repack", "-adfq", "--depth=50", "--window=30"]);
    let store = sandbox.reader().store().clone();
    let locations: Vec<Location> = store
        .pack_order(&mut Vec::new())
        .unwrap()
        .map(Result::unwrap)
        .collect();
    let read = |reader: &mut ObjectReader, location| {
        let mut contents = Vec::new();
        let info = reader.append(location, &mut contents).unwrap();
        (info, contents)
    };
    // Without any room each object is made from the root of its chain.
    let mut plain = ObjectReader::new(&store);
    plain.limit_bases(0);
    let expected: Vec<_> = locations
        .iter()
        .map(|location| read(&mut plain, location))
        .collect();
    let mut chance = Chance::new(11);
    for room in [0, 20_000, 2_000_000, 96 << 20] {
        for is_later in [false, true] {
            let mut reader = ObjectReader::new(&store);
            reader.limit_bases(room);
            if is_later {
                reader.defer_bases();
            }
            for _ in 0..400 {
                let number = chance.below(locations.len());
                assert_eq!(read(&mut reader, &locations[number]), expected[number]);
                if chance.below(3) == 0 {
                    reader.flush_bases();
                }
            }
        }
    }
}
