//! Packs that another process replaces while all objects are enumerated.

use super::*;

/// Enumerates all objects in both orders, with `before` called before, and `meanwhile` before the first object is read.
/// Compares with what git lists in between.
fn check(sandbox: &Sandbox, before: impl Fn(&ObjectStore), meanwhile: impl Fn()) {
    for in_order in [false, true] {
        let store = sandbox.reader().store().clone();
        before(&store);
        let expected = sandbox.git(&[
            "cat-file",
            "--batch-all-objects",
            "--batch-check=%(objectname)",
        ]);
        let mut messages = Vec::new();
        let all: Box<dyn Iterator<Item = Result<Location, Error>>> = match in_order {
            true => Box::new(store.pack_order(&mut messages).unwrap()),
            false => Box::new(store.sorted(&mut messages).unwrap()),
        };
        meanwhile();
        let mut reader = ObjectReader::new(&store);
        let mut ids = Vec::new();
        for location in all {
            let location = location.unwrap();
            let mut contents = Vec::new();
            let info = reader.append(&location, &mut contents).unwrap();
            let id = gix_object::compute_hash(store.hash_kind(), info.kind, &contents).unwrap();
            assert_eq!(*id, *location.id());
            ids.push(id.to_string());
        }
        ids.sort();
        let expected: Vec<_> = text(&expected).lines().collect();
        assert!(
            ids == expected,
            "{} of {} objects",
            ids.len(),
            expected.len()
        );
        assert_eq!(reader.take_messages(), [""; 0]);
        assert_eq!(messages, [""; 0]);
    }
}

fn repack_twice(sandbox: &Sandbox) {
    // Packs with the same objects in other bytes have other names.
    for depth in ["--depth=9", "--depth=3"] {
        sandbox.git(&["repack", "-adfq", depth]);
    }
}

#[test]
fn packs_that_are_removed_after_they_were_listed_are_read_to_their_end() {
    let sandbox = Sandbox::filled(HashKind::Sha1);
    check(&sandbox, |_| {}, || repack_twice(&sandbox));
    sandbox.git(&["repack", "-adfq", "--write-midx"]);
    check(&sandbox, |_| {}, || repack_twice(&sandbox));
}

#[test]
fn packs_that_were_listed_too_early_are_listed_again() {
    let sandbox = Sandbox::filled(HashKind::Sha1);
    let missing = ObjectId::from_hex(&[b'1'; 40]).unwrap();
    let list = |store: &ObjectStore| {
        // This opens no pack.
        let found = store.find(&missing, &mut Vec::new()).unwrap();
        assert!(found.is_none());
    };
    let list_and_repack = |store: &ObjectStore| {
        list(store);
        repack_twice(&sandbox);
    };
    check(&sandbox, list_and_repack, || {});
    check(
        &sandbox,
        |store| {
            sandbox.git(&["repack", "-adfq", "--write-midx"]);
            list_and_repack(store);
        },
        || {},
    );
    check(
        &sandbox,
        |store| {
            list(store);
            // git removes the index of a pack last.
            let index = sandbox.packs("idx").remove(0);
            let bytes = fs::read(&index).unwrap();
            repack_twice(&sandbox);
            fs::write(&index, bytes).unwrap();
            // The youngest packs come first.
            let old = std::time::UNIX_EPOCH + std::time::Duration::from_secs(3600);
            for pack in sandbox.packs("pack") {
                let file = fs::File::open(pack).unwrap();
                file.set_modified(old).unwrap();
            }
        },
        || {
            sandbox
                .packs("idx")
                .iter()
                .filter(|index| !index.with_extension("pack").exists())
                .for_each(|index| fs::remove_file(index).unwrap())
        },
    );
    check(
        &sandbox,
        |store| {
            list(store);
            // Now the objects are loose.
            for pack in sandbox.packs("pack") {
                let objects = fs::read(&pack).unwrap();
                for extension in ["pack", "idx", "rev"] {
                    fs::remove_file(pack.with_extension(extension)).ok();
                }
                sandbox.0.git_with_input(["unpack-objects", "-q"], objects);
            }
        },
        || sandbox.git(&["repack", "-adfq"]).clear(),
    );
}
