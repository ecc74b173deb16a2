//! Files with damaged bytes.

use std::fs;
use std::os::unix::fs::{FileExt, symlink};

use vigil_model::state_layout::docket::Docket;
use vigil_model::state_layout::table::{Root, Slot, TableRoot};
use vigil_model::state_layout::{DATA_LEN_MAX, DataHeader, FORMAT_VERSION};
use zerocopy::{FromZeros, IntoBytes};

use super::*;

const BLOCKS: [(StateTable, u32, &[u8]); 4] = [
    (StateTable::General, 0, b"general"),
    (StateTable::Tracked, 2, b"12345678"),
    (StateTable::Tracked, 300, b"more than one word"),
    (StateTable::Files, 1, b""),
];

/// Publishes a state with the blocks above, and some dead bytes.
fn published() -> (Sandbox, Snapshot) {
    let sandbox = Sandbox::new();
    let first = sandbox.publish_and_open(None, changes_of(&BLOCKS[..3]), 1);
    let second = sandbox.publish_and_open(Some(&first), changes_of(&BLOCKS[3..]), 2);
    (sandbox, second)
}

fn docket_path(sandbox: &Sandbox) -> PathBuf {
    sandbox.store.folder().join("state")
}

/// Whether the state is damaged. Whatever can be read must be what was written.
fn is_damaged(store: &Store) -> bool {
    let state = match store.open() {
        Ok(state) => state,
        Err(NoState::Damaged(_) | NoState::Version { .. } | NoState::Foreign { .. }) => {
            return true;
        }
        Err(error) => panic!("{error}"),
    };
    let mut is_damaged = state.verify_all().is_err();
    assert_eq!(state.clock(), &[2; 48]);
    for (table, key, block) in BLOCKS {
        match state.block(table, key) {
            Ok(found) => assert_eq!(found, Some(block)),
            Err(_) => is_damaged = true,
        }
        if let Ok(found) = state.block(table, key + 1) {
            assert_eq!(found, None);
        }
    }
    is_damaged
}

#[test]
fn a_flipped_bit_of_the_docket_is_found() {
    let (sandbox, _) = published();
    let path = docket_path(&sandbox);
    let bytes = fs::read(&path).unwrap();
    assert!(!is_damaged(&sandbox.store));
    for bit in 0..bytes.len() * 8 {
        let mut flipped = bytes.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        fs::write(&path, &flipped).unwrap();
        assert!(is_damaged(&sandbox.store), "bit {bit}");
    }
}

#[test]
fn a_flipped_bit_of_the_data_is_found_or_makes_no_difference() {
    let (sandbox, state) = published();
    let file = fs::File::options()
        .write(true)
        .open(state.data_path())
        .unwrap();
    let bytes = fs::read(state.data_path()).unwrap();
    let mut found = 0;
    for (at, byte) in bytes.iter().enumerate() {
        for flip in [1, 0x80, 0xff] {
            file.write_all_at(&[byte ^ flip], at as u64).unwrap();
            found += u64::from(is_damaged(&sandbox.store));
        }
        file.write_all_at(&[*byte], at as u64).unwrap();
    }
    // All bytes count except dead ones and the padding of blocks to whole units: 1 + 0 + 6 + 8 bytes.
    assert_eq!(found, 3 * (state.used_len() - state.dead_len() - 15));
}

#[test]
fn a_data_file_that_is_cut_off_is_not_mapped() {
    let (sandbox, state) = published();
    let file = fs::File::options()
        .write(true)
        .open(state.data_path())
        .unwrap();
    let used = state.used_len();
    drop(state);
    file.set_len(used + 1).unwrap();
    assert!(!is_damaged(&sandbox.store));
    for len in (0..used).rev() {
        file.set_len(len).unwrap();
        assert!(
            matches!(sandbox.store.open(), Err(NoState::Damaged(_))),
            "{len}"
        );
    }
}

#[test]
fn a_docket_that_is_cut_off_or_too_long_is_damaged() {
    let (sandbox, _) = published();
    let mut bytes = fs::read(docket_path(&sandbox)).unwrap();
    bytes.resize(1000, 0);
    for len in [0, 8, 151, 153, 1000] {
        fs::write(docket_path(&sandbox), &bytes[..len]).unwrap();
        assert!(
            matches!(sandbox.store.open(), Err(NoState::Damaged(_))),
            "{len}"
        );
    }
}

/// Each row: a change of the docket after which the state must not be read.
#[test]
fn an_impossible_docket_is_damaged() {
    let (sandbox, state) = published();
    let used = state.used_len();
    type Change = fn(&mut Docket, u64);
    let changes: [(&str, Change); 7] = [
        ("a missing file", |docket, _| docket.data_id = 1.into()),
        ("a larger file", |docket, used| {
            docket.used_len = (used + 8).into()
        }),
        ("a huge file", |docket, _| {
            docket.used_len = DATA_LEN_MAX.into()
        }),
        ("a file without its root", |docket, used| {
            docket.used_len = (used - 8).into()
        }),
        ("an absent root", |docket, _| docket.root = Slot::ABSENT),
        ("a root beyond the end", |docket, _| {
            docket.root.offset = u32::MAX.into()
        }),
        ("another root", |docket, _| docket.root.offset = 3.into()),
    ];
    for (what, change) in changes {
        let mut docket = *state.docket();
        change(&mut docket, used);
        fs::write(docket_path(&sandbox), docket.sealed().as_bytes()).unwrap();
        assert!(
            matches!(sandbox.store.open(), Err(NoState::Damaged(_))),
            "{what}"
        );
    }
}

#[test]
fn another_version_or_identity_is_not_used_but_replaced() {
    let (sandbox, state) = published();
    let mut bytes = fs::read(docket_path(&sandbox)).unwrap();
    bytes[8] += 1;
    fs::write(docket_path(&sandbox), &bytes).unwrap();
    assert!(matches!(
        sandbox.store.open(),
        Err(NoState::Version { version, .. }) if version == FORMAT_VERSION + 1
    ));
    assert!(matches!(
        sandbox.publish(None, changes_of(&BLOCKS), 3),
        PublishOutcome::Rewritten { .. }
    ));
    assert!(!state.data_path().exists());
    sandbox.assert_tidy();

    let other = Store::new(sandbox.store.folder().to_owned(), [8; 32]);
    assert!(matches!(other.open(), Err(NoState::Foreign { .. })));
    let (published, _) = other
        .publish(None, Changes::new(), [4; 48], &NoSteps)
        .unwrap();
    assert!(matches!(published, PublishOutcome::Rewritten { .. }));
    assert!(matches!(sandbox.store.open(), Err(NoState::Foreign { .. })));
}

#[test]
fn special_files_are_neither_read_nor_waited_for() {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    type Make = fn(&Path);
    let make: [(&str, Make); 4] = [
        ("a folder", |path| fs::create_dir(path).unwrap()),
        ("a pipe", |path| {
            mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap()
        }),
        ("a link", |path| {
            symlink(path.with_extension("moved"), path).unwrap()
        }),
        ("a link into nothing", |path| {
            symlink("nothing", path).unwrap()
        }),
    ];
    for (what, make) in make {
        for is_docket in [true, false] {
            let (sandbox, state) = published();
            let path = match is_docket {
                true => docket_path(&sandbox),
                false => state.data_path().to_owned(),
            };
            fs::rename(&path, path.with_extension("moved")).unwrap();
            make(&path);
            assert!(
                matches!(sandbox.store.open(), Err(NoState::Damaged(_))),
                "{what}"
            );
        }
    }
}

#[test]
fn a_missing_data_file_is_written_again_by_a_process_that_has_it_open() {
    let (sandbox, state) = published();
    fs::remove_file(state.data_path()).unwrap();
    assert!(matches!(sandbox.store.open(), Err(NoState::Damaged(_))));
    let published = sandbox.publish(
        Some(&state),
        changes_of(&[(StateTable::Seen, 0, b"new")]),
        2,
    );
    assert!(matches!(published, PublishOutcome::Rewritten { .. }));
    assert!(!is_damaged(&sandbox.store));
    sandbox.assert_tidy();
}

/// Flips a bit in the bytes that `slot` refers to.
fn flip(state: &Snapshot, slot: Slot) {
    let file = fs::File::options()
        .read(true)
        .write(true)
        .open(state.data_path())
        .unwrap();
    let at = u64::from(slot.offset.get()) * 8;
    let mut byte = [0];
    file.read_exact_at(&mut byte, at).unwrap();
    file.write_all_at(&[byte[0] ^ 4], at).unwrap();
}

#[test]
fn a_damaged_block_survives_a_rewrite_as_damaged_and_is_healed_by_the_next_change() {
    let (sandbox, state) = published();
    flip(&state, state.slot(StateTable::Tracked, 2).unwrap());
    let state = sandbox.store.open().unwrap();
    let error = state.block(StateTable::Tracked, 2).unwrap_err();
    assert!(error.to_string().contains("state."), "{error}");
    assert_eq!(state.block(StateTable::Tracked, 300), Ok(Some(BLOCKS[2].2)));

    fs::remove_file(state.data_path()).unwrap();
    let state = sandbox.publish_and_open(
        Some(&state),
        changes_of(&[(StateTable::Seen, 0, b"new")]),
        2,
    );
    assert!(state.block(StateTable::Tracked, 2).is_err() && state.verify_all().is_err());
    let state = sandbox.publish_and_open(Some(&state), changes_of(&BLOCKS), 2);
    assert_eq!(state.block(StateTable::Tracked, 2), Ok(Some(BLOCKS[1].2)));
    state.verify_all().unwrap();
}

#[test]
fn a_base_with_a_damaged_node_is_replaced_and_not_changed() {
    let (sandbox, state) = published();
    flip(&state, state.root().table(StateTable::Tracked).top);
    let state = sandbox.store.open().unwrap();
    assert!(state.block(StateTable::Tracked, 2).is_err());
    assert_eq!(state.block(StateTable::General, 0), Ok(Some(BLOCKS[0].2)));
    let result = sandbox
        .store
        .publish(Some(&state), changes_of(&BLOCKS), [2; 48], &NoSteps);
    assert!(matches!(result, Err(StoreError::Damaged(_))), "{result:?}");
    sandbox
        .store
        .replace(&state, changes_of(&BLOCKS), [2; 48], &NoSteps)
        .unwrap();
    assert!(!is_damaged(&sandbox.store));
    sandbox.assert_tidy();
}

/// Returns a state whose only table has four levels of nodes at these offsets, in units. Each node is full of slots that
/// refer to the next one, and the last of slots that refer to the block at `leaf`. Checksums are ignored.
fn chained_nodes(nodes: [u32; 4], leaf: u32) -> Snapshot {
    let slot = |offset: u32, len: u32| Slot {
        offset: offset.into(),
        len: len.into(),
        ..Slot::ABSENT
    };
    let [top, second, third, lowest] = nodes;
    let mut data = DataHeader::new(5).as_bytes().to_vec();
    for next in [
        slot(second, 4096),
        slot(third, 4096),
        slot(lowest, 4096),
        slot(leaf, 8),
    ] {
        data.extend_from_slice([next; 256].as_bytes());
    }
    let root_offset = data.len() as u32 / 8;
    let mut root = Root::default();
    *root.table_mut(StateTable::Seen) = TableRoot {
        keys: u32::MAX.into(),
        levels: 4.into(),
        top: slot(top, 4096),
    };
    data.extend_from_slice(root.as_bytes());
    let docket = Docket {
        data_id: 5.into(),
        used_len: (data.len() as u64).into(),
        root: slot(root_offset, 96),
        ..Docket::new_zeroed()
    };
    Snapshot::in_memory(docket, &data, true).unwrap()
}

#[test]
fn nodes_that_are_shared_or_lead_to_themselves_end_a_walk() {
    let shared = chained_nodes([2, 514, 1026, 1538], 2);
    let to_itself = chained_nodes([2, 2, 2, 2], 2);
    for state in [shared, to_itself] {
        assert!(state.block(StateTable::Seen, 77).unwrap().is_some());
        assert!(state.blocks(StateTable::Seen).count() < 2500);
        assert!(state.blocks(StateTable::Seen).any(|found| found.is_err()));
        assert!(state.verify_all().is_err());
        let mut changes = Changes::new();
        changes.remove(StateTable::Seen, u32::MAX - 1);
        let edits = changes.edits(Some(&state)).unwrap();
        assert!(plan::WritePlan::append(&state, &edits).is_ok());
        assert!(plan::WritePlan::rewrite(Some(&state), &edits).is_err());
    }
}

#[test]
fn a_file_that_is_full_is_rewritten() {
    let (sandbox, state) = published();
    let file = fs::File::options()
        .write(true)
        .open(state.data_path())
        .unwrap();
    file.set_len(DATA_LEN_MAX).unwrap();
    let docket = Docket {
        used_len: DATA_LEN_MAX.into(),
        ..*state.docket()
    };
    fs::write(docket_path(&sandbox), docket.sealed().as_bytes()).unwrap();
    let state = sandbox.store.open().unwrap();
    let published = sandbox.publish(
        Some(&state),
        changes_of(&[(StateTable::Seen, 0, b"new")]),
        2,
    );
    assert!(matches!(published, PublishOutcome::Rewritten { bytes } if bytes < 4096));
    assert!(!is_damaged(&sandbox.store));
}
