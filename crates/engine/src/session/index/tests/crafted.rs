//! States crafted to cause a wrong answer: their checksums are right.

use std::borrow::Cow;

use vigil_model::clock::ClockMark;
use vigil_model::tracked::{DirectoryBlock, Header, ROOT, SegmentRecord, SubdirRecord};
use zerocopy::{FromBytes, IntoBytes};

use super::*;
use vigil_git::state_place;
use vigil_store::{Changes, Snapshot, StateTable};

/// Returns the published state.
fn published(sandbox: &Sandbox) -> Snapshot {
    let session = session(sandbox);
    let stores = state_place::places(&session.repository);
    stores.first().unwrap().open().unwrap()
}

/// Publishes `changes` to it.
fn publish(sandbox: &Sandbox, changes: Changes<'_>) {
    let session = session(sandbox);
    let stores = state_place::places(&session.repository);
    let base = published(sandbox);
    let mark = ClockMark::from_bytes(base.clock());
    let store = stores.first().unwrap();
    let appended = store.publish(Some(&base), changes, mark.to_bytes(), &NoSteps);
    assert!(!matches!(
        appended.unwrap().0,
        PublishOutcome::Busy | PublishOutcome::Superseded
    ));
}

/// Asserts that the answer is git's, and that the published state is no longer used.
#[track_caller]
fn assert_dropped(sandbox: &Sandbox, what: &str) {
    let (_, mut session) = checked_answer(sandbox);
    assert_ne!(session.take_dropped_states(), [""; 0], "{what}");
}

/// Splits the block of a directory into its header, its subdirectories, and the rest.
fn parts(block: &[u8]) -> (Header, Vec<SubdirRecord>, Vec<u8>) {
    let (header, rest) = Header::read_from_prefix(block).unwrap();
    let count = header.subdirs.get() as usize;
    let (subdirs, rest) = <[SubdirRecord]>::ref_from_prefix_with_elems(rest, count).unwrap();
    (header, subdirs.to_vec(), rest.to_vec())
}

fn block(header: &Header, subdirs: &[SubdirRecord], rest: &[u8]) -> Vec<u8> {
    let header = Header {
        subdirs: (subdirs.len() as u32).into(),
        ..*header
    };
    [header.as_bytes(), subdirs.as_bytes(), rest].concat()
}

fn set(key: u32, block: Vec<u8>) -> Changes<'static> {
    let mut changes = Changes::new();
    changes.set(StateTable::Tracked, key, Cow::Owned(block));
    changes
}

/// Whether there is a path from the directory `from` down to `to`.
fn is_reachable(all: &[(Header, Vec<SubdirRecord>, Vec<u8>)], from: u32, to: u32) -> bool {
    let below = all[from as usize]
        .1
        .iter()
        .map(|subdir| subdir.number.get());
    from == to || { below }.any(|number| is_reachable(all, number, to))
}

/// A repository with files deep down, and no differences in them.
fn deep_repository() -> Sandbox {
    let sandbox = repository();
    sandbox.write("b/c/deep/deeper/one", "recorded\n");
    sandbox.write("a/untracked", "");
    std::fs::remove_file(sandbox.top().join("b/d")).unwrap();
    sandbox.git(["add", "b"]);
    ask_until_saved(&sandbox);
    sandbox
}

#[test]
fn directories_in_a_circle_or_twice_are_dropped() {
    let sandbox = deep_repository();
    let directories = |sandbox: &Sandbox| -> Vec<_> {
        let state = published(sandbox);
        let blocks = 0..state.keys(StateTable::Tracked);
        let blocks = blocks.map(|number| state.block(StateTable::Tracked, number));
        blocks.map(|block| parts(block.unwrap().unwrap())).collect()
    };
    // From here on, all states are made from scratch, with the same numbers.
    publish(&sandbox, set(ROOT, Vec::new()));
    assert_dropped(&sandbox, "nothing");
    ask_until_saved(&sandbox);
    let all = directories(&sandbox);
    let mut circles = 0;
    for (number, (header, subdirs, rest)) in (0u32..).zip(&all) {
        for at in 0..subdirs.len() {
            let right = subdirs[at].number.get();
            for other in (0..all.len() as u32).filter(|other| *other != right) {
                let mut subdirs = subdirs.clone();
                subdirs[at].number = other.into();
                publish(&sandbox, set(number, block(header, &subdirs, rest)));
                if is_reachable(&all, other, number) {
                    assert_dropped(&sandbox, &format!("{number}/{at} is {other}"));
                    circles += 1;
                } else {
                    // It may be a valid tree with other files, which cannot be detected.
                    drop(session(&sandbox).status(&StatusRequest::default()));
                    publish(&sandbox, set(ROOT, Vec::new()));
                }
                ask_until_saved(&sandbox);
                assert_eq!(directories(&sandbox).len(), all.len());
            }
        }
    }
    assert!(circles > 5);
}

/// Each directory contains the next one twice: forty of them stand for as many files as can be
/// counted.
#[test]
fn directories_that_double_are_dropped() {
    let sandbox = deep_repository();
    let whole = published(&sandbox);
    let whole = whole.block(StateTable::Tracked, ROOT).unwrap().unwrap();
    let (header, ..) = parts(whole);
    let mut changes = Changes::new();
    for number in 0..40u32 {
        let subdir = |name_start: u32| SubdirRecord {
            number: (number + 1).into(),
            name_start: name_start.into(),
            before: 0.into(),
            entries: (u32::MAX / 2).into(),
        };
        let header = Header {
            entries: u32::MAX.into(),
            files: 0.into(),
            segments: 0.into(),
            ..header
        };
        let bytes = block(&header, &[subdir(0), subdir(2)], b"a\0b\0");
        changes.set(StateTable::Tracked, number, Cow::Owned(bytes));
    }
    publish(&sandbox, changes);
    assert_dropped(&sandbox, "doubling");
    ask_until_saved(&sandbox);
}

/// One name shared by many: each path would be as long as the block.
#[test]
fn names_that_are_shared_are_dropped() {
    let sandbox = deep_repository();
    let state = published(&sandbox);
    let whole = state.block(StateTable::Tracked, ROOT).unwrap().unwrap();
    let (header, subdirs, rest) = parts(whole);
    let names_start = DirectoryBlock::parse(whole).unwrap();
    assert!(names_start.subdirs().len() > 1 && names_start.files().len() > 1);
    for long in [100, 10_000] {
        let mut subdirs = subdirs.clone();
        let name = [b"n".repeat(long), vec![0]].concat();
        let end = rest.len() - header.files.get() as usize * (48 + 20);
        for subdir in &mut subdirs {
            subdir.name_start = (end as u32).into();
        }
        let rest = [rest.as_slice(), &name].concat();
        publish(&sandbox, set(ROOT, block(&header, &subdirs, &rest)));
        assert_dropped(&sandbox, "subdirectories");
        ask_until_saved(&sandbox);
    }
    // The last four bytes of a file's record say where its name starts.
    let mut rest = rest;
    for at in 0..header.files.get() as usize {
        rest[48 * at + 44..48 * (at + 1)].fill(0);
    }
    let shared = block(&header, &subdirs, &rest);
    if header.files.get() > 4 {
        publish(&sandbox, set(ROOT, shared));
        assert_dropped(&sandbox, "files");
        ask_until_saved(&sandbox);
    }
    let last = 48 * (header.files.get() as usize - 1) + 44;
    rest[last..last + 4].copy_from_slice(&1u32.to_le_bytes());
    publish(&sandbox, set(ROOT, block(&header, &subdirs, &rest)));
    assert_dropped(&sandbox, "the end of another's name");
    ask_until_saved(&sandbox);
}

/// A block of files that is referred to again and again.
#[test]
fn files_that_are_counted_again_are_dropped() {
    let sandbox = repository();
    for n in 0..600 {
        sandbox.write(format!("many/{n}"), "recorded\n");
    }
    sandbox.git(["add", "many"]);
    ask_until_saved(&sandbox);
    let state = published(&sandbox);
    let is_large = |number: &u32| {
        let block = state.block(StateTable::Tracked, *number).unwrap().unwrap();
        parts(block).0.segments.get() > 0
    };
    let number = (0..state.keys(StateTable::Tracked)).find(is_large).unwrap();
    let (header, _, rest) = parts(state.block(StateTable::Tracked, number).unwrap().unwrap());
    let (first, _) = SegmentRecord::ref_from_prefix(&rest).unwrap();
    let segments = vec![*first; 10_000];
    let header = Header {
        segments: 10_000.into(),
        ..header
    };
    publish(
        &sandbox,
        set(number, block(&header, &[], segments.as_bytes())),
    );
    assert_dropped(&sandbox, "segments");
    ask_until_saved(&sandbox);
}

/// Memory is allocated for each number that a directory may have.
#[test]
fn numbers_that_nothing_has_are_dropped() {
    let sandbox = deep_repository();
    for table in [StateTable::Tracked, StateTable::Files] {
        let mut changes = Changes::new();
        changes.set(table, u32::MAX - 1, Cow::Borrowed(&b"x"[..]));
        publish(&sandbox, changes);
        assert_dropped(&sandbox, "a number");
        ask_until_saved(&sandbox);
    }
}
