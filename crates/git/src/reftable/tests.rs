use std::collections::BTreeMap;
use std::fs;

use super::*;
use vigil_stamp::file::Contents;
use vigil_testkit::chance::Chance;
use vigil_testkit::sandbox::{RefFormat, Sandbox};

fn stack_of(sandbox: &Sandbox) -> Stack {
    Stack::new(sandbox.git_dir().join("reftable"), sandbox.hash)
}

/// A repository with enough references for an index of several levels.
fn repository_with_many_references(count: usize, block_size: &str) -> Sandbox {
    let sandbox = Sandbox::with_formats(RefFormat::Reftable, Kind::Sha1);
    sandbox.git(["config", "reftable.blockSize", block_size]);
    let id = sandbox.commit("one");
    let mut input = String::new();
    for n in 0..count {
        input.push_str(&format!("create refs/tags/{n:05} {id}\n"));
    }
    sandbox.git_with_input(["update-ref", "--stdin"], input.as_bytes());
    sandbox.git(["pack-refs", "--all"]);
    sandbox
}

#[test]
fn every_reference_is_found_through_indexes_of_any_depth() {
    for (count, block_size) in [(3, "0"), (200, "256"), (3000, "256"), (3000, "4096")] {
        let sandbox = repository_with_many_references(count, block_size);
        let stack = stack_of(&sandbox);
        let mut merged = Merged::default();
        merged.add(&stack.tables().unwrap(), |_| true);
        let mut found = 0;
        let listed = merged.for_each::<Error>("refs/tags/".into(), |_, _| {
            found += 1;
            Ok(())
        });
        listed.unwrap();
        assert_eq!(found, count);
        for n in (0..count).step_by(count / 50 + 1).chain([count - 1]) {
            let name = format!("refs/tags/{n:05}");
            assert!(
                stack.find(name.as_str().into()).unwrap().is_some(),
                "{name} of {count}"
            );
        }
        for absent in [
            "A",
            "refs/tags/",
            "refs/tags/00000a",
            "refs/tags/99999",
            "z",
        ] {
            assert_eq!(stack.find(absent.into()).unwrap(), None);
        }
    }
}

/// The length of a block of logs is the one from before it was compressed, which may be more than is left of the file. Such a
/// block comes right after the index of a table that holds only deletions.
#[test]
fn after_many_deletions_names_after_all_of_them_are_found() {
    let sandbox = Sandbox::with_formats(RefFormat::Reftable, Kind::Sha1);
    let id = sandbox.commit("one");
    let name = |n: usize| format!("refs/heads/{n:03}{}", "x".repeat(100));
    let created: String = (0..600)
        .map(|n| format!("create {} {id}\n", name(n)))
        .collect();
    let deleted: String = (0..200).map(|n| format!("delete {}\n", name(n))).collect();
    for input in [created, deleted] {
        sandbox.git_with_input(["update-ref", "--stdin"], input.as_bytes());
    }
    let stack = stack_of(&sandbox);
    for (n, is_there) in [
        (0, false),
        (199, false),
        (200, true),
        (599, true),
        (600, false),
    ] {
        let found = stack.find(name(n).as_str().into()).unwrap();
        assert_eq!(found.is_some(), is_there, "{n}");
    }
}

#[test]
fn every_log_is_found_through_indexes_of_any_depth() {
    for (count, block_size) in [(3, "0"), (40, "256"), (600, "256")] {
        let sandbox = Sandbox::with_formats(RefFormat::Reftable, Kind::Sha1);
        sandbox.git(["config", "reftable.blockSize", block_size]);
        sandbox.git(["config", "core.logAllRefUpdates", "always"]);
        let ids = ["one", "two"].map(|message| sandbox.commit(message));
        for id in &ids {
            let mut input = String::new();
            for n in 0..count {
                input.push_str(&format!("update refs/tags/{n:05} {id}\n"));
            }
            input.push_str(&format!("update refs/stash {id}\n"));
            sandbox.git_with_input(["update-ref", "--stdin"], input.as_bytes());
        }
        sandbox.git(["pack-refs", "--all"]);
        let stack = stack_of(&sandbox);
        assert_eq!(stack.tables().unwrap().len(), 1);
        let names = (0..count).step_by(count / 20 + 1).chain([count - 1]);
        let names = names.map(|n| format!("refs/tags/{n:05}"));
        for name in names.chain(["HEAD".to_owned(), "refs/stash".to_owned()]) {
            assert_eq!(stack.log_count(name.as_str().into()).unwrap(), 2, "{name}");
        }
        for absent in ["A", "refs/tags/00000a", "refs/tags/99999", "z"] {
            assert_eq!(stack.log_count(absent.into()).unwrap(), 0, "{absent}");
        }
    }
}

/// Moves `refs/stash`, which has a log, to the commit `name`.
fn log_stash(sandbox: &Sandbox, name: &str) {
    let arguments = [
        "update-ref",
        "--create-reflog",
        "-m",
        "m",
        "refs/stash",
        name,
    ];
    sandbox.git(arguments);
}

#[test]
fn of_a_log_no_more_is_read_than_asked_for() {
    let sandbox = Sandbox::with_formats(RefFormat::Reftable, Kind::Sha1);
    sandbox.git(["config", "reftable.blockSize", "256"]);
    let ids = ["one", "two"].map(|message| sandbox.commit(message));
    for _ in 0..20 {
        for id in &ids {
            log_stash(&sandbox, &id.to_string());
        }
    }
    sandbox.git(["pack-refs", "--all"]);
    let list = fs::read_to_string(sandbox.git_dir().join("reftable/tables.list")).unwrap();
    assert_eq!(list.lines().count(), 1);
    let path = sandbox.git_dir().join("reftable").join(list.trim_end());
    let name = "refs/stash".into();
    assert_eq!(stack_of(&sandbox).log_count(name).unwrap(), 40);
    // The oldest records are in the last block before the index of logs, whose start is next to last in the footer.
    let mut bytes = fs::read(&path).unwrap();
    let index = bytes[bytes.len() - 12..bytes.len() - 4].try_into().unwrap();
    let index = usize::try_from(u64::from_be_bytes(index)).unwrap();
    bytes[index - 30..index].fill(0);
    fs::remove_file(&path).unwrap();
    fs::write(&path, bytes).unwrap();
    let stack = stack_of(&sandbox);
    assert!(stack.log_count(name).is_err());
    assert!(stack.has_log(name).unwrap());
    let mut found = 0;
    let read = stack.log_newest_first(name, |_, _| {
        found += 1;
        found < 5
    });
    read.unwrap();
    assert_eq!(found, 5);
}

#[test]
fn records_of_one_log_in_several_tables_are_merged() {
    let sandbox = Sandbox::with_formats(RefFormat::Reftable, Kind::Sha1);
    sandbox.git(["config", "core.logAllRefUpdates", "always"]);
    let ids = ["one", "two"].map(|message| sandbox.commit(message));
    let mut tables_max = 0;
    // Each transaction is smaller than half of the one before, so that git leaves it in a table of its own.
    for (turn, count) in [900, 400, 180, 80, 35, 15, 6, 2].into_iter().enumerate() {
        let id = ids[turn % 2];
        let mut input = format!("update refs/stash {id}\n");
        for number in 0..count {
            input.push_str(&format!("update refs/tags/{number} {id}\n"));
        }
        let message = format!("turn {turn}");
        let update = ["update-ref", "--stdin", "-m", &message];
        sandbox.git_with_input(update, input.as_bytes());
        if count == 15 {
            sandbox.git(["reflog", "delete", "refs/stash@{3}"]);
        }
        let stack = stack_of(&sandbox);
        tables_max = tables_max.max(stack.tables().unwrap().len());
        let mut messages = String::new();
        let read = stack.log_newest_first("refs/stash".into(), |_, message| {
            messages.push_str(&format!("{message}\n"));
            true
        });
        read.unwrap();
        let of_git = sandbox.git(["log", "-g", "--format=%gs", "refs/stash"]);
        assert_eq!(messages.trim_end(), of_git.trim_end());
        let lines = messages.lines().count();
        assert_eq!(stack.log_count("refs/stash".into()).unwrap(), lines);
    }
    assert!(tables_max >= 3, "{tables_max}");
}

#[test]
fn of_several_tables_the_last_counts() {
    let sandbox = Sandbox::with_formats(RefFormat::Reftable, Kind::Sha1);
    sandbox.commit("one");
    let first = sandbox.id("HEAD");
    sandbox.commit("two");
    let second = sandbox.id("HEAD");
    let name = |number: usize| format!("refs/tags/{number:03}");
    let mut chance = Chance::new(7);
    let mut tables_max = 0;
    // Each transaction is smaller than half of the one before, so that git leaves it in a table of its own.
    for count in [300, 130, 60, 25, 10, 4, 1] {
        let mut input = String::new();
        let mut touched = BTreeMap::new();
        for _ in 0..count {
            touched.insert(chance.below(400), chance.below(3));
        }
        for (number, deed) in touched {
            let name = name(number);
            input.push_str(&match deed {
                0 => format!("delete {name}\n"),
                1 => format!("update {name} {first}\n"),
                _ => format!("update {name} {second}\n"),
            });
        }
        sandbox.git_with_input(["update-ref", "--stdin"], input.as_bytes());
        let stack = stack_of(&sandbox);
        let mut merged = Merged::default();
        merged.add(&stack.tables().unwrap(), |_| true);
        tables_max = tables_max.max(stack.tables().unwrap().len());
        for prefix in ["refs/tags/", "refs/tags/1", "refs/tags/39", "refs/tags/4"] {
            let mut listed = Vec::new();
            let read = merged.for_each::<Error>(prefix.into(), |name, record| {
                listed.push((name.to_string(), Value::from(record)));
                Ok(())
            });
            read.unwrap();
            let each = (0..400).map(name).filter(|name| name.starts_with(prefix));
            let each = each.filter_map(|name| {
                let value = stack.find(name.as_str().into()).unwrap()?;
                Some((name, value))
            });
            assert_eq!(listed, each.collect::<Vec<_>>(), "{prefix} of {count}");
            let of_git = sandbox.git(["for-each-ref", "--format=%(refname)", "refs/tags"]);
            let of_git = of_git.lines().filter(|name| name.starts_with(prefix));
            assert!(of_git.eq(listed.iter().map(|(name, _)| name.as_str())));
        }
    }
    assert!(tables_max >= 3, "{tables_max}");
}

#[test]
fn a_damaged_table_is_refused_or_read_but_never_panics() {
    let sandbox = repository_with_many_references(40, "256");
    sandbox.git(["config", "core.logAllRefUpdates", "always"]);
    log_stash(&sandbox, "HEAD");
    sandbox.git(["pack-refs", "--all"]);
    let list = fs::read_to_string(sandbox.git_dir().join("reftable/tables.list")).unwrap();
    assert_eq!(list.lines().count(), 1);
    let path = sandbox.git_dir().join("reftable").join(list.trim_end());
    let good = fs::read(&path).unwrap();
    let judge = |bytes: Vec<u8>| {
        let table = ReftableFile::parse(path.clone(), Contents::Read(bytes), Kind::Sha1)?;
        table.find("refs/tags/00020".into())?;
        table.for_each_ref("".into(), |_, _| ())?;
        table.for_each_log("refs/stash".into(), |_, _| ())
    };
    judge(good.clone()).unwrap();
    for length in 0..good.len() {
        let error = judge(good[..length].to_vec()).unwrap_err().to_string();
        assert!(error.contains(list.trim_end()), "{error}");
    }
    for at in 0..good.len() {
        for bit in [0, 3, 7] {
            let mut bad = good.clone();
            bad[at] ^= 1 << bit;
            // Only the footer has a checksum: elsewhere, another name or id may be read.
            let outcome = judge(bad);
            assert!(at < good.len() - 68 || outcome.is_err());
        }
    }
}

#[test]
fn names_may_not_fill_the_memory() {
    let varint = |value: usize| [0x80 | ((value >> 7) - 1) as u8, (value & 0x7f) as u8];
    // A long name, and the same with other last letters: deletions, which take five bytes each.
    let long = 1500;
    let mut records = vec![0];
    records.extend(varint(long << 3));
    records.extend(vec![b'a'; long]);
    records.push(0);
    for n in 0..2000 {
        records.extend(varint(long - 1));
        records.extend([1 << 3, (b'b' + n as u8 % 20), 0]);
    }
    records.extend([0, 0]);
    let mut table = b"REFT\x01\0\0\0".to_vec();
    table.extend([0; 16]);
    table.push(b'r');
    let length = (24 + 4 + records.len()) as u32;
    table.extend(&length.to_be_bytes()[1..]);
    table.extend(records);
    let mut footer = table[..24].to_vec();
    footer.extend([0; 40]);
    let mut crc = flate2::Crc::new();
    crc.update(&footer);
    footer.extend(crc.sum().to_be_bytes());
    table.extend(footer);
    let table = ReftableFile::parse("x".into(), Contents::Read(table), Kind::Sha1).unwrap();
    let mut names_len = 0;
    let error = table.for_each_ref("".into(), |name, _| names_len += name.len());
    assert!(
        error
            .unwrap_err()
            .to_string()
            .ends_with("its names are too long")
    );
    assert!((1 << 20) - 2000 < names_len && names_len <= 1 << 20);
}

#[test]
fn a_stack_that_lists_a_missing_table_is_an_error() {
    let sandbox = repository_with_many_references(3, "0");
    let list = sandbox.git_dir().join("reftable/tables.list");
    fs::write(&list, "0x000000000001-0x000000000001-00000000.ref\n").unwrap();
    let error = stack_of(&sandbox).find("HEAD".into()).unwrap_err();
    assert!(matches!(error, Error::KeepsChanging { .. }));
}
