use std::borrow::Cow;

use super::*;

const IDENTITY: [u8; 32] = [7; 32];

struct Sandbox {
    dir: tempfile::TempDir,
    store: Store,
}

impl Sandbox {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::new(dir.path().join("vigil"), IDENTITY);
        Self { dir, store }
    }

    /// The names in the folder, sorted.
    fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.store.folder()).unwrap();
        let mut names: Vec<_> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    /// Whether there are a docket and its data file, and nothing else.
    fn assert_tidy(&self) {
        let snapshot = self.store.open().unwrap();
        let data = snapshot.data_path().file_name().unwrap().to_str().unwrap();
        assert_eq!(self.names(), ["state", data]);
    }

    fn publish(&self, base: Option<&Snapshot>, changes: Changes<'_>, clock: u8) -> Published {
        self.store
            .publish(base, changes, [clock; 48], &NoSteps)
            .unwrap()
    }
}

fn set<'a>(blocks: &[(Table, u32, &'a [u8])]) -> Changes<'a> {
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
        (Table::General, 0, b"general".as_slice()),
        (Table::Seen, 3, b""),
        (Table::Seen, 700, b"12345678"),
        (Table::Files, u32::MAX - 1, b"last"),
    ];
    let published = sandbox.publish(None, set(&blocks), 1);
    let first = sandbox.store.open().unwrap();
    assert_eq!(
        published,
        Published::Rewritten {
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
    assert_eq!(first.block(Table::Seen, 4), Ok(None));
    assert_eq!(first.block(Table::Tracked, 0), Ok(None));
    assert_eq!(
        (first.keys(Table::Seen), first.keys(Table::Files)),
        (701, u32::MAX)
    );
    let listed: Vec<_> = first.blocks(Table::Seen).collect();
    assert_eq!(listed, [Ok((3, 0)), Ok((700, 8))]);
    first.verify_all().unwrap();
    sandbox.assert_tidy();

    let mut changes = set(&[(Table::Seen, 3, b"more"), (Table::Tracked, 256, b"new")]);
    changes.remove(Table::Files, u32::MAX - 1);
    changes.remove(Table::Files, 1);
    let published = sandbox.publish(Some(&first), changes, 2);
    let second = sandbox.store.open().unwrap();
    let bytes = second.used_len() - first.used_len();
    assert_eq!(published, Published::Appended { bytes });
    assert_eq!(second.block(Table::Seen, 3), Ok(Some(b"more".as_slice())));
    assert_eq!(
        second.block(Table::Tracked, 256),
        Ok(Some(b"new".as_slice()))
    );
    assert_eq!(second.block(Table::Files, u32::MAX - 1), Ok(None));
    assert_eq!((second.keys(Table::Files), second.generation()), (0, 1));
    assert_eq!(first.block(Table::Seen, 3), Ok(Some(b"".as_slice())));
    assert_eq!(
        first.block(Table::Files, u32::MAX - 1),
        Ok(Some(b"last".as_slice()))
    );
    second.verify_all().unwrap();
    sandbox.assert_tidy();
}
