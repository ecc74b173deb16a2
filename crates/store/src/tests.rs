mod damage;
mod model;
mod other_processes;
mod refusals;
mod steps;

use std::borrow::Cow;

use super::*;

const IDENTITY: [u8; 32] = [7; 32];

/// All steps, in order.
const STEPS: [Step; 6] = [
    Step::Locked,
    Step::DataBegun,
    Step::DataWritten,
    Step::DocketWritten,
    Step::DocketPublished,
    Step::OldRemoved,
];

struct Sandbox {
    _dir: tempfile::TempDir,
    store: Store,
}

impl Sandbox {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::new(dir.path().join("vigil"), IDENTITY);
        Self { _dir: dir, store }
    }

    /// Returns the names in the folder, sorted.
    fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.store.folder()).unwrap();
        let mut names: Vec<_> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    /// Asserts that there are a docket and its data file, and nothing else.
    fn assert_tidy(&self) {
        let snapshot = self.store.open().unwrap();
        let data = snapshot.data_path().file_name().unwrap().to_str().unwrap();
        assert_eq!(self.names(), ["state", data]);
    }

    /// Publishes and reads back.
    fn publish_and_open(
        &self,
        base: Option<&Snapshot>,
        changes: Changes<'_>,
        clock: u8,
    ) -> Snapshot {
        self.publish(base, changes, clock);
        self.store.open().unwrap()
    }

    fn publish(&self, base: Option<&Snapshot>, changes: Changes<'_>, clock: u8) -> PublishOutcome {
        let published = self.store.publish(base, changes, [clock; 48], &NoSteps);
        let (published, state) = published.unwrap();
        // The new state is returned if there is one, and only then.
        assert_eq!(state.is_some(), published.is_new());
        if let Some(state) = state {
            assert_eq!(state.docket(), self.store.open().unwrap().docket());
        }
        published
    }
}

fn changes_of<'a>(blocks: &[(StateTable, u32, &'a [u8])]) -> Changes<'a> {
    let mut changes = Changes::new();
    for (table, key, block) in blocks {
        changes.set(*table, *key, Cow::Borrowed(*block));
    }
    changes
}

#[test]
fn what_is_published_is_read() {
    let sandbox = Sandbox::new();
    assert!(matches!(sandbox.store.open(), Err(NoState::Absent { .. })));
    let blocks = [
        (StateTable::General, 0, b"general".as_slice()),
        (StateTable::Seen, 3, b""),
        (StateTable::Seen, 700, b"12345678"),
        (StateTable::Files, u32::MAX - 1, b"last"),
    ];
    let published = sandbox.publish(None, changes_of(&blocks), 1);
    let first = sandbox.store.open().unwrap();
    assert_eq!(
        published,
        PublishOutcome::Rewritten {
            bytes: first.used_len()
        }
    );
    assert_eq!(
        (first.generation(), first.dead_len(), first.clock()),
        (1, 0, &[1; 48])
    );
    for (table, key, block) in blocks {
        let found = first.block(table, key).unwrap().unwrap();
        assert_eq!((found, found.as_ptr().addr() % 8), (block, 0));
    }
    assert_eq!(first.block(StateTable::Seen, 4), Ok(None));
    assert_eq!(first.block(StateTable::Tracked, 0), Ok(None));
    assert_eq!(
        (first.keys(StateTable::Seen), first.keys(StateTable::Files)),
        (701, u32::MAX)
    );
    let listed: Vec<_> = first.blocks(StateTable::Seen).collect();
    assert_eq!(listed, [Ok((3, 0)), Ok((700, 8))]);
    first.verify_all().unwrap();
    sandbox.assert_tidy();

    let mut changes = changes_of(&[
        (StateTable::Seen, 3, b"more"),
        (StateTable::Tracked, 256, b"new"),
    ]);
    changes.remove(StateTable::Files, u32::MAX - 1);
    changes.remove(StateTable::Files, 1);
    let published = sandbox.publish(Some(&first), changes, 2);
    let second = sandbox.store.open().unwrap();
    let bytes = second.used_len() - first.used_len();
    assert_eq!(published, PublishOutcome::Appended { bytes });
    assert_eq!(
        second.block(StateTable::Seen, 3),
        Ok(Some(b"more".as_slice()))
    );
    assert_eq!(
        second.block(StateTable::Tracked, 256),
        Ok(Some(b"new".as_slice()))
    );
    assert_eq!(second.block(StateTable::Files, u32::MAX - 1), Ok(None));
    assert_eq!(
        (second.keys(StateTable::Files), second.generation()),
        (0, 1)
    );
    assert_eq!(first.block(StateTable::Seen, 3), Ok(Some(b"".as_slice())));
    assert_eq!(
        first.block(StateTable::Files, u32::MAX - 1),
        Ok(Some(b"last".as_slice()))
    );
    second.verify_all().unwrap();
    sandbox.assert_tidy();
}

#[test]
fn nothing_is_written_where_nothing_changes_and_only_a_docket_where_only_the_clock_does() {
    let sandbox = Sandbox::new();
    let blocks = [(StateTable::Seen, 1, b"one".as_slice())];
    let first = sandbox.publish_and_open(None, changes_of(&blocks), 1);
    assert_eq!(
        sandbox.publish(Some(&first), changes_of(&blocks), 1),
        PublishOutcome::Unchanged
    );
    let mut changes = Changes::new();
    changes.remove(StateTable::Seen, 2);
    assert_eq!(
        sandbox.publish(Some(&first), changes, 1),
        PublishOutcome::Unchanged
    );
    assert_eq!(first.docket(), sandbox.store.open().unwrap().docket());

    let published = sandbox.publish(Some(&first), changes_of(&blocks), 2);
    assert_eq!(published, PublishOutcome::Appended { bytes: 0 });
    let second = sandbox.store.open().unwrap();
    assert_eq!(
        (second.clock(), second.used_len()),
        (&[2; 48], first.used_len())
    );
    let len = std::fs::metadata(second.data_path()).unwrap().len();
    assert_eq!(len, second.used_len());
    second.verify_all().unwrap();
}

#[test]
fn a_changed_block_costs_itself_a_node_for_each_level_and_the_root() {
    let sandbox = Sandbox::new();
    let mut changes = Changes::new();
    for key in 0..70_000_u32 {
        changes.set(StateTable::Tracked, key, key.to_le_bytes().to_vec());
    }
    let first = sandbox.publish_and_open(None, changes, 1);
    let published = sandbox.publish(
        Some(&first),
        changes_of(&[(StateTable::Tracked, 300, b"changed")]),
        2,
    );
    let nodes = 4096 + 4096 + 16 * 2;
    assert_eq!(
        published,
        PublishOutcome::Appended {
            bytes: 8 + nodes + 96
        }
    );
    sandbox.store.open().unwrap().verify_all().unwrap();
}

#[test]
fn a_data_file_is_rewritten_when_more_than_half_is_dead() {
    let sandbox = Sandbox::new();
    let old = vec![1; 200 << 10];
    let mut state = sandbox.publish_and_open(
        None,
        changes_of(&[(StateTable::Files, 0, &old), (StateTable::Seen, 9, b"kept")]),
        0,
    );
    let first = state.clone();
    for clock in 1..3 {
        let new = vec![clock + 1; 200 << 10];
        let published = sandbox.publish(
            Some(&state),
            changes_of(&[(StateTable::Files, 0, &new)]),
            clock,
        );
        // The second would leave 400 of 600 KiB dead.
        assert_eq!(
            matches!(published, PublishOutcome::Rewritten { .. }),
            clock == 2,
            "{published:?}"
        );
        state = sandbox.store.open().unwrap();
    }
    assert_eq!((state.generation(), state.dead_len()), (2, 0));
    assert_eq!(
        state.block(StateTable::Seen, 9),
        Ok(Some(b"kept".as_slice()))
    );
    state.verify_all().unwrap();
    sandbox.assert_tidy();
    assert!(!first.data_path().exists());
    assert_eq!(first.block(StateTable::Files, 0), Ok(Some(old.as_slice())));
}

#[test]
fn less_than_half_may_be_dead() {
    let sandbox = Sandbox::new();
    let (large, old) = (vec![1; 1 << 20], vec![2; 500 << 10]);
    let first = sandbox.publish_and_open(
        None,
        changes_of(&[(StateTable::Files, 0, &large), (StateTable::Files, 1, &old)]),
        0,
    );
    let published = sandbox.publish(
        Some(&first),
        changes_of(&[(StateTable::Files, 1, b"new")]),
        1,
    );
    assert!(
        matches!(published, PublishOutcome::Appended { .. }),
        "{published:?}"
    );
    assert!(sandbox.store.open().unwrap().dead_len() > 500 << 10);
}

#[test]
fn a_rewritten_table_that_shrinks_by_whole_levels_keeps_what_is_left() {
    let sandbox = Sandbox::new();
    let large = vec![0; 300_000];
    for gone in [65_535, 65_537, 1 << 24, u32::MAX - 1] {
        let blocks: [(_, _, &[u8]); 5] = [
            (StateTable::Seen, 1, b"one"),
            (StateTable::Seen, 255, b"two"),
            (StateTable::Seen, 256, b"three"),
            (StateTable::Seen, gone, b"gone"),
            (StateTable::Files, 0, &large),
        ];
        let base = sandbox.store.open().ok();
        let base = sandbox.publish_and_open(base.as_ref(), changes_of(&blocks), 1);
        let mut changes = Changes::new();
        changes.remove(StateTable::Seen, gone);
        changes.remove(StateTable::Files, 0);
        let published = sandbox.publish(Some(&base), changes, 2);
        assert!(
            matches!(published, PublishOutcome::Rewritten { .. }),
            "{gone}"
        );
        let state = sandbox.store.open().unwrap();
        let listed: Vec<_> = state.blocks(StateTable::Seen).collect();
        assert_eq!(listed, [Ok((1, 3)), Ok((255, 3)), Ok((256, 5))], "{gone}");
        state.verify_all().unwrap();
    }
}

#[test]
fn a_publication_with_an_outdated_base_is_superseded() {
    let sandbox = Sandbox::new();
    let first = sandbox.publish_and_open(None, Changes::new(), 1);
    assert_eq!(
        sandbox.publish(None, Changes::new(), 2),
        PublishOutcome::Superseded
    );
    let second = sandbox.publish_and_open(Some(&first), Changes::new(), 2);
    let change = || changes_of(&[(StateTable::Seen, 1, b"late")]);
    assert_eq!(
        sandbox.publish(Some(&first), change(), 3),
        PublishOutcome::Superseded
    );
    let (replaced, state) = sandbox
        .store
        .replace(&first, change(), [3; 48], &NoSteps)
        .unwrap();
    assert!(state.is_none());
    assert_eq!(replaced, PublishOutcome::Superseded);
    assert_eq!(sandbox.store.open().unwrap().docket(), second.docket());

    assert_eq!(
        sandbox.store.remove_state().unwrap(),
        RemoveOutcome::Removed
    );
    assert_eq!(
        sandbox.publish(Some(&second), change(), 3),
        PublishOutcome::Superseded
    );
}

#[test]
fn a_dropped_state_leaves_nothing_but_what_is_not_vigils() {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.store.remove_state().unwrap(), RemoveOutcome::Absent);
    let state = sandbox.publish_and_open(None, changes_of(&[(StateTable::Seen, 1, b"one")]), 1);
    std::fs::write(sandbox.store.folder().join("state.tmp.1-1"), "").unwrap();
    assert_eq!(
        sandbox.store.remove_state().unwrap(),
        RemoveOutcome::Removed
    );
    assert!(!sandbox.store.folder().exists());
    assert_eq!(
        state.block(StateTable::Seen, 1),
        Ok(Some(b"one".as_slice()))
    );

    sandbox.publish(None, Changes::new(), 1);
    std::fs::write(sandbox.store.folder().join("statement"), "").unwrap();
    assert_eq!(
        sandbox.store.remove_state().unwrap(),
        RemoveOutcome::Emptied
    );
    assert_eq!(sandbox.names(), ["statement"]);
    assert_eq!(sandbox.store.remove_state().unwrap(), RemoveOutcome::Absent);
}

#[test]
fn files_that_cannot_be_removed_are_reported() {
    let sandbox = Sandbox::new();
    sandbox.publish(None, Changes::new(), 1);
    let stuck = sandbox.store.folder().join("state.tmp.1-1");
    std::fs::create_dir(&stuck).unwrap();
    let error = sandbox.store.remove_state().unwrap_err().to_string();
    let start = format!("could not remove {}: ", stuck.display());
    assert!(error.starts_with(&start), "{error}");
}

#[test]
fn a_file_in_the_folder_s_place_is_no_state() {
    let sandbox = Sandbox::new();
    let folder = sandbox.store.folder();
    std::fs::write(folder, "").unwrap();
    let error = sandbox.store.remove_state().unwrap_err().to_string();
    assert_eq!(error, format!("{} is not a directory", folder.display()));
    let below = Store::new(folder.join("refs"), [0; 32]);
    assert_eq!(below.remove_state().unwrap(), RemoveOutcome::Absent);
}

#[test]
fn a_replaced_state_holds_only_what_is_set() {
    let sandbox = Sandbox::new();
    let first = sandbox.publish_and_open(
        None,
        changes_of(&[(StateTable::Seen, 1, b"one"), (StateTable::Seen, 2, b"two")]),
        1,
    );
    let changes = changes_of(&[(StateTable::Seen, 1, b"one")]);
    let (published, _) = sandbox
        .store
        .replace(&first, changes, [1; 48], &NoSteps)
        .unwrap();
    let second = sandbox.store.open().unwrap();
    assert_eq!(
        published,
        PublishOutcome::Rewritten {
            bytes: second.used_len()
        }
    );
    assert_eq!(
        second.block(StateTable::Seen, 1),
        Ok(Some(b"one".as_slice()))
    );
    assert_eq!(second.block(StateTable::Seen, 2), Ok(None));
    assert_eq!(second.generation(), 2);
    sandbox.assert_tidy();
}

#[test]
fn files_and_folder_are_for_the_user_alone() {
    use std::os::unix::fs::PermissionsExt;
    let sandbox = Sandbox::new();
    sandbox.publish(None, Changes::new(), 1);
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    assert_eq!(mode(sandbox.store.folder()), 0o700);
    for name in sandbox.names() {
        assert_eq!(mode(&sandbox.store.folder().join(&name)), 0o600, "{name}");
    }
}
