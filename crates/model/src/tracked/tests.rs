use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use bstr::{BStr, BString, ByteSlice};
use gix_hash::{Kind, ObjectId};
use proptest::prelude::*;

use super::*;
use crate::facts::RecordedStat;
use crate::index::writer::{Draft, write};
use crate::index::{Entry, Index};

fn index(mut drafts: Vec<Draft>) -> Index {
    drafts.sort_by(|a, b| (&a.path, a.flags & 0x3000).cmp(&(&b.path, b.flags & 0x3000)));
    drafts.dedup_by(|a, b| a.path == b.path && a.flags & 0x3000 == b.flags & 0x3000);
    let bytes = write(3, Kind::Sha1, &drafts, &[]);
    Index::parse(&bytes, Kind::Sha1).unwrap().index
}

fn draft(path: &str, stage: u32, number: usize) -> Draft {
    let n = u32::try_from(number).unwrap();
    Draft {
        path: path.into(),
        stat: RecordedStat {
            mtime_s: n,
            size: n ^ 7,
            ..RecordedStat::default()
        },
        mode: if n % 5 == 4 { 0o160_000 } else { 0o100_644 },
        id: ObjectId::Sha1([number as u8; 20]),
        flags: stage << 12 | if n % 3 == 2 { 0x4000_4000 } else { 0 },
    }
}

fn all_entries(tracked: &Tracked) -> Vec<(u32, BString, ObjectId)> {
    let mut all = Vec::new();
    let _ = tracked.visit::<()>(
        |_| true,
        |number, path, file| {
            all.push((number, path.to_owned(), file.id()));
            ControlFlow::Continue(())
        },
    );
    all
}

/// Asserts that the tree gives the same answers as the index itself.
fn assert_same_as_index(tracked: &Tracked, index: &Index) {
    let entries = index.entries();
    let expected: Vec<_> = (0u32..)
        .zip(entries)
        .map(|(number, entry)| (number, index.path(entry).to_owned(), entry.id))
        .collect();
    assert_eq!(all_entries(tracked), expected);
    for (number, entry) in (0u32..).zip(entries) {
        let found = tracked.entry(number).unwrap();
        let of = |entry: &Entry| (entry.stat, entry.mode, entry.flags, entry.id);
        assert_eq!((found.stat, found.mode, found.flags, found.id), of(entry));
        assert_eq!(found.path, index.path(entry));
        let path = index.path(entry);
        assert_eq!(tracked.find(path, entry.flags.stage()), Some(found));
        let (Ok(first) | Err(first)) = index.position(path, 0);
        let first = u32::try_from(first).unwrap();
        assert_eq!(tracked.find_first(path), tracked.entry(first));
        let absent = BString::from([path.as_bytes(), b"!"].concat());
        assert_eq!(
            tracked.find(absent.as_bstr(), 0).is_some(),
            index.find(absent.as_bstr(), 0).is_some()
        );
        let is_there = |stage| index.find(absent.as_bstr(), stage).is_some();
        let found = tracked.find_first(absent.as_bstr());
        assert_eq!(found.is_some(), (0..=3).any(is_there));
    }
    let end = u32::try_from(entries.len()).unwrap();
    assert_eq!(tracked.entry(end), None);
    // Whatever was looked up before.
    let mut by_number = ByNumber::new(tracked);
    for number in (0..=end).chain((0..=end).rev()) {
        assert_eq!(by_number.get(number), tracked.entry(number));
    }
    let count = |is: &dyn Fn(&Entry) -> bool| {
        u32::try_from(entries.iter().filter(|entry| is(entry)).count()).unwrap()
    };
    let sums = tracked.sums();
    assert_eq!(sums.entries as usize, entries.len());
    assert_eq!(sums.gitlinks, count(&|entry| entry.mode.is_gitlink()));
    assert_eq!(
        sums.skip_worktree,
        count(&|entry| entry.flags.is_skip_worktree())
    );
    let mut conflicted: Vec<&BStr> = entries
        .iter()
        .filter(|entry| entry.flags.stage() > 0)
        .map(|entry| index.path(entry))
        .collect();
    conflicted.dedup();
    assert_eq!(sums.conflicted as usize, conflicted.len());
    assert_eq!(tracked.check(), Ok(()));
}

#[test]
fn one_walk_tells_what_is_beside_all_entries() {
    let outside = Draft {
        mode: 0o40_000,
        flags: 0x4000_4000,
        ..draft("s/t/", 0, 0)
    };
    let files = ["a/b/c", "a.d", "file"].map(|path| draft(path, 0, 0));
    let conflict = draft("in/conflict", 2, 0);
    let tracked = Tracked::of(&index([files.as_slice(), &[outside, conflict]].concat()));
    let mut beside = Beside::new(&tracked);
    for path in ["x", "a/x", "a/b/x/y", "a.e", "b/c", "file.x", "s/u", "in/x"] {
        assert!(beside.has(path.into()), "{path}");
    }
    let at_or_below = [
        "",
        "a",
        "a/b",
        "a/b/c",
        "a.d",
        "file",
        "s",
        "s/t",
        "in/conflict",
    ];
    for path in at_or_below
        .into_iter()
        .chain(["a/b/c/d/e", "file/x", "s/t/u", "in/conflict/x"])
    {
        assert!(!beside.has(path.into()), "{path}");
    }
    let empty = Tracked::of(&index(Vec::new()));
    let mut beside = Beside::new(&empty);
    assert!(!beside.has("".into()));
    assert!(beside.has("a/b".into()));
}

proptest! {
    #[test]
    fn the_tree_answers_as_the_index_does(
        paths in proptest::collection::vec(("[ab]([-./]?[ab0]){0,5}", 0u32..4), 0..60),
    ) {
        let mut drafts = Vec::new();
        for (number, (path, stage)) in paths.iter().enumerate() {
            if !path.contains("//") {
                drafts.push(draft(path, *stage, number));
            }
        }
        let index = index(drafts);
        assert_same_as_index(&Tracked::of(&index), &index);
    }
}

#[test]
fn large_directories_are_in_segments_of_which_few_change() {
    let paths = |skip: usize| {
        let drafts = (0..6000).filter(|n| *n != skip);
        let below = (0..60).map(|n| draft(&format!("d/f{:05}/{n}", n / 2 * 190), 0, n));
        let drafts = drafts.map(|n| draft(&format!("d/f{n:05}"), n as u32 % 4, n));
        index(drafts.chain(below).collect())
    };
    let (before, after) = (paths(usize::MAX), paths(3000));
    let (tracked, later) = (Tracked::of(&before), Tracked::of(&after));
    assert_same_as_index(&tracked, &before);
    assert_same_as_index(&later, &after);
    let blocks = |index: &Index| {
        let mut builder = Builder::new(20, InMemory::default());
        for entry in index.entries() {
            builder.push(index.path(entry), entry);
        }
        let put = builder.finish();
        let keys = (0u32..).map_while(|key| Blocks::files(&put, key).ok().map(<[u8]>::to_vec));
        keys.collect::<Vec<_>>()
    };
    let (before, after) = (blocks(&before), blocks(&after));
    assert!(before.len() > 20);
    let other = after.iter().filter(|block| !before.contains(block)).count();
    assert!(other <= 2, "{other} of {} segments changed", after.len());
}

#[test]
fn a_damaged_block_is_noticed_and_nothing_panics() {
    struct DamagedBlocks(InMemory, Vec<u8>);
    impl Blocks for DamagedBlocks {
        fn directory(&self, number: DirNumber) -> Result<&[u8], Damaged> {
            match number {
                ROOT => Ok(&self.1),
                _ => Blocks::directory(&self.0, number),
            }
        }
        fn files(&self, key: u32) -> Result<&[u8], Damaged> {
            Blocks::files(&self.0, key)
        }
        fn directory_number_end(&self) -> u32 {
            self.0.directory_number_end()
        }
        fn files_key_end(&self) -> u32 {
            self.0.files_key_end()
        }
    }
    let drafts = (0..40)
        .map(|n| draft(&format!("d{}/e{}/f", n % 3, n % 7), 0, n))
        .collect();
    let index = index(drafts);
    let blocks = || {
        let mut builder = Builder::new(20, InMemory::default());
        for entry in index.entries() {
            builder.push(index.path(entry), entry);
        }
        builder.finish()
    };
    let block = Blocks::directory(&blocks(), ROOT).unwrap().to_vec();
    let mut noticed = 0;
    for at in 0..block.len() {
        for bit in [0x01, 0x80] {
            let mut flipped = block.clone();
            flipped[at] ^= bit;
            let tracked = Tracked::new(Kind::Sha1, Arc::new(DamagedBlocks(blocks(), flipped)));
            let _ = all_entries(&tracked);
            let _ = tracked.entry(17);
            let _ = tracked.find(BStr::new("d1/e1/f"), 0);
            noticed += usize::from(tracked.check().is_err());
        }
    }
    assert!(noticed > 0);
}

proptest! {
    #[test]
    fn a_difference_is_as_a_tree_made_anew(
        steps in proptest::collection::vec(
            proptest::collection::vec(("[ab]([-/]?[ab0]){0,4}", 0usize..9), 0..30), 1..7),
    ) {
        let index_of = |paths: &[(String, usize)]| {
            let paths = paths.iter().filter(|(path, _)| !path.contains("//"));
            index(paths.map(|(path, number)| draft(path, 0, *number)).collect())
        };
        let mut tracked = Tracked::of(&index_of(&[]));
        let mut numbers: BTreeMap<BString, DirNumber> = Default::default();
        for paths in &steps {
            let index = index_of(paths);
            let blocks = |tracked: &Tracked| {
                let mut all = BTreeMap::new();
                tracked.each_block(|block| if let Block::Directory(number, bytes) = block {
                    all.insert(number, bytes.to_vec());
                });
                all
            };
            let before = blocks(&tracked);
            let (next, tree_diff) = tracked.updated_to(&index);
            assert_same_as_index(&next, &index);
            let after = blocks(&next);
            for (number, block) in &after {
                prop_assert_eq!(tree_diff.directories.contains_key(number), before.get(number) != Some(block));
            }
            for number in before.keys() {
                prop_assert_eq!(tree_diff.removed.contains(number), !after.contains_key(number));
            }
            // A directory that stays keeps its number.
            let mut now = BTreeMap::new();
            for entry in index.entries() {
                let path = index.path(entry);
                for slash in path.find_iter("/") {
                    let dir = path[..slash].as_bstr();
                    let number = next.find_directory(dir).unwrap();
                    if let Some(known) = numbers.get(dir) {
                        prop_assert_eq!(*known, number);
                    }
                    now.insert(dir.to_owned(), number);
                }
            }
            numbers = now;
            tracked = next;
        }
    }
}

/// The blocks of a state on disk, to which differences are written from time to time.
#[derive(Default)]
struct StateOnDisk {
    directories: BTreeMap<DirNumber, Vec<u8>>,
    files: BTreeMap<u32, Vec<u8>>,
}

impl StateOnDisk {
    fn all_of(tracked: &Tracked) -> Self {
        let mut all = Self::default();
        tracked.each_block(|block| {
            match block {
                Block::Directory(number, bytes) => all.directories.insert(number, bytes.to_vec()),
                Block::Files(key, bytes) => all.files.insert(key, bytes.to_vec()),
            };
        });
        all
    }

    fn write(&mut self, tracked: &Tracked, tree_diff: &TreeDiff) {
        for number in tree_diff.directories.keys() {
            let block = tracked.block(*number).unwrap();
            self.directories.insert(*number, block.to_vec());
        }
        for key in &tree_diff.files {
            let block = tracked.files_block(*key).unwrap();
            self.files.insert(*key, block.to_vec());
        }
        self.directories
            .retain(|number, _| !tree_diff.removed.contains(number));
        self.files
            .retain(|key, _| !tree_diff.removed_files.contains(key));
    }

    /// The tree as the next process reads it.
    fn tracked(&self) -> Tracked {
        let mut blocks = InMemory::default();
        for (number, block) in &self.directories {
            blocks.put_directory(*number, block);
        }
        for (key, block) in &self.files {
            blocks.put_files(*key, block);
        }
        Tracked::new(Kind::Sha1, Arc::new(blocks))
    }
}

proptest! {
    #[test]
    fn differences_written_from_time_to_time_make_the_same_tree(
        steps in proptest::collection::vec(
            (
                proptest::collection::vec(("[ab]([-/]?[ab]){0,3}", 0usize..3), 0..8),
                proptest::bool::weighted(0.3),
                proptest::bool::weighted(0.2),
            ),
            1..25),
    ) {
        let mut tracked = Tracked::of(&index(Vec::new()));
        let mut written = StateOnDisk::all_of(&tracked);
        let mut unwritten = TreeDiff::default();
        for (paths, is_written, is_read) in &steps {
            let paths = paths.iter().filter(|(path, _)| !path.contains("//"));
            let index = index(paths.map(|(path, number)| draft(path, 0, *number)).collect());
            let (next, tree_diff) = tracked.updated_to(&index);
            assert_same_as_index(&next, &index);
            tracked = next;
            unwritten.add(tree_diff);
            if *is_written {
                written.write(&tracked, &std::mem::take(&mut unwritten));
                let all = StateOnDisk::all_of(&tracked);
                prop_assert_eq!(&written.directories, &all.directories);
                prop_assert_eq!(&written.files, &all.files);
                if *is_read {
                    tracked = written.tracked();
                    assert_same_as_index(&tracked, &index);
                }
            }
        }
    }
}

#[test]
fn a_number_without_a_block_is_not_given_twice() {
    let before = index(vec![draft("b/f", 0, 0), draft("c", 0, 0)]);
    let mut written = StateOnDisk::all_of(&Tracked::of(&before));
    let number = Tracked::of(&before).find_directory("b".into()).unwrap();
    written.directories.remove(&number);
    for paths in [["a/f", "b/f", "c"], ["b/f", "bb/f", "c"]] {
        let after = index(paths.map(|path| draft(path, 0, 0)).into());
        let (next, tree_diff) = written.tracked().updated_to(&after);
        assert_same_as_index(&next, &after);
        assert_eq!(tree_diff.directories.len(), 3);
    }
}

#[test]
fn other_facts_are_not_other_names() {
    let of = |number: usize, extra: bool| {
        let mut drafts = vec![
            draft("d/a", 0, number),
            draft("d/b", 0, 0),
            draft("e/a", 0, 0),
        ];
        if extra {
            drafts.push(draft("d/c", 0, 0));
        }
        index(drafts)
    };
    let tracked = Tracked::of(&of(0, false));
    let dir = tracked.find_directory("d".into()).unwrap();
    let (_, tree_diff) = tracked.updated_to(&of(1, false));
    assert_eq!(
        (tree_diff.directories.len(), tree_diff.other_names.len()),
        (1, 0)
    );
    assert!(tree_diff.directories.contains_key(&dir));
    let (_, tree_diff) = tracked.updated_to(&of(0, true));
    assert!(tree_diff.other_names.contains(&dir) && tree_diff.other_names.len() == 1);
    assert!(tree_diff.directories.contains_key(&ROOT) && tree_diff.directories.len() == 2);
}

#[test]
fn blocks_in_memory_are_read_as_they_were_put() {
    let mut memory = InMemory::default();
    let block = |number: u32| vec![number as u8; 700_000 + number as usize];
    for number in 0..40 {
        memory.put_directory(number, &block(number));
    }
    for number in 0..40 {
        assert!(Blocks::directory(&memory, number).unwrap() == block(number));
    }
    assert!(Blocks::directory(&memory, 40).is_err());
}
