//! Reading by a plan gives the same, in each order, with any number of threads, any room, and damage.

use super::*;

/// The result of reading an object: its type and contents, and the messages.
type Outcome = (Result<(Kind, Vec<u8>), String>, Vec<String>);

fn read(reader: &mut ObjectReader, location: Result<Location, Error>) -> Outcome {
    let mut contents = Vec::new();
    let read = location.and_then(|location| reader.append(&location, &mut contents));
    match read {
        Ok(info) => {
            assert_eq!(info.size, contents.len() as u64);
            (Ok((info.kind, contents)), reader.take_messages())
        }
        Err(error) => (Err(error.reason.to_string()), error.messages),
    }
}

/// All objects of a repository, in one of the orders.
fn read_all_in_order(sandbox: &Sandbox, is_sorted: bool) -> Vec<Outcome> {
    let mut reader = sandbox.reader();
    let store = reader.store().clone();
    let mut messages = Vec::new();
    let read = |location| read(&mut reader, location);
    match is_sorted {
        true => store.sorted(&mut messages).unwrap().map(read).collect(),
        false => store.pack_order(&mut messages).unwrap().map(read).collect(),
    }
}

/// The same by a plan, with this many threads and this much room for each, and how many objects were given to
/// one of them.
fn read_by_plan(
    sandbox: &Sandbox,
    is_sorted: bool,
    threads: usize,
    room: usize,
) -> (Vec<Outcome>, usize) {
    let store = sandbox.reader().store().clone();
    let mut readers: Vec<ObjectReader> = (0..threads)
        .map(|_| {
            let mut reader = ObjectReader::new(&store);
            reader.follow_plans(room);
            reader
        })
        .collect();
    let mut given = 0;
    let mut read = |location, thread: Option<usize>| {
        given += usize::from(thread.is_some());
        read(&mut readers[thread.unwrap_or(0)], location)
    };
    let mut outcomes = Vec::new();
    let mut messages = Vec::new();
    match is_sorted {
        true => {
            let mut order = store.sorted(&mut messages).unwrap().planned_for(threads);
            while let Some(location) = order.next() {
                outcomes.push(read(location, order.thread()));
            }
        }
        false => {
            let mut order = store
                .pack_order(&mut messages)
                .unwrap()
                .planned_for(threads);
            while let Some(location) = order.next() {
                outcomes.push(read(location, order.thread()));
            }
        }
    }
    (outcomes, given)
}

fn check(sandbox: &Sandbox, planned_min: usize) {
    for is_sorted in [false, true] {
        let expected = read_all_in_order(sandbox, is_sorted);
        for (threads, room) in [(1, 1 << 20), (2, 20_000), (3, 3_000), (2, 0)] {
            let (outcomes, given) = read_by_plan(sandbox, is_sorted, threads, room);
            assert!(
                outcomes == expected,
                "sorted {is_sorted}, {threads}, {room}"
            );
            assert!(given >= planned_min, "{given}");
        }
    }
}

fn in_many_packs(hash: HashKind) -> Sandbox {
    let sandbox = Sandbox::filled(hash);
    sandbox.git(&["repack", "-dq"]);
    sandbox.history(33..60);
    sandbox.git(&["repack", "-dfq", "--depth=20", "--window=30"]);
    sandbox.history(60..62);
    sandbox
}

#[test]
fn a_plan_changes_nothing_but_how_often_a_base_is_made() {
    for hash in [HashKind::Sha1, HashKind::Sha256] {
        let sandbox = in_many_packs(hash);
        check(&sandbox, 150);
        sandbox.git(&["multi-pack-index", "write"]);
        check(&sandbox, 150);
        sandbox.git(&["-c", "pack.writeReverseIndex=false", "repack", "-adq"]);
        check(&sandbox, 150);
    }
}

#[test]
fn bases_that_are_named_by_id_and_come_later_are_no_hindrance() {
    let sandbox = Sandbox::filled(HashKind::Sha1);
    sandbox.git(&[
        "-c",
        "repack.useDeltaBaseOffset=false",
        "repack",
        "-adfq",
        "--depth=40",
    ]);
    check(&sandbox, 80);
}

#[test]
fn what_is_damaged_is_read_as_without_a_plan() {
    let sandbox = in_many_packs(HashKind::Sha1);
    let pack = sandbox.packs("pack").remove(0);
    let whole = fs::read(&pack).unwrap();
    let mut permissions = fs::metadata(&pack).unwrap().permissions();
    #[allow(clippy::permissions_set_readonly_false)]
    permissions.set_readonly(false);
    fs::set_permissions(&pack, permissions).unwrap();
    for at in (12..whole.len() - 20).step_by(whole.len() / 60) {
        for bits in [0x01, 0x70, 0xff] {
            let mut damaged = whole.clone();
            damaged[at] ^= bits;
            fs::write(&pack, &damaged).unwrap();
            for is_sorted in [false, true] {
                // A message comes once for each time a damaged base is met; with a plan, fewer are met twice.
                let plain = read_all_in_order(&sandbox, is_sorted);
                let (outcomes, _) = read_by_plan(&sandbox, is_sorted, 2, 1 << 20);
                let only = |outcomes: &[Outcome]| -> Vec<_> {
                    outcomes
                        .iter()
                        .map(|(outcome, _)| outcome.clone())
                        .collect()
                };
                assert!(only(&outcomes) == only(&plain), "{at} {bits} {is_sorted}");
            }
        }
    }
}
