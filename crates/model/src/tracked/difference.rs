//! The tree of a new index as a difference from that of an older one: blocks that did not change stay where they are, and
//! directories keep their numbers.

use std::borrow::Borrow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use bstr::{BStr, BString};

use super::blocks::{Blocks, Damaged, DirNumber, ROOT};
use super::builder::{BlockSink, Builder};
use super::memory::Store;
use super::tree::{Directory, Tracked};
use crate::index::{Entry, EntrySink, Index};
use crate::path::PATH_LEN_MAX;

/// When more differences than this are stacked, all blocks are copied into one place.
const DEPTH_MAX: u32 = 4;

/// The differences between an older tree and a new one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TreeDiff {
    /// Directories with a new block, and their paths (without a trailing slash; empty for the top). `None` stands for paths that
    /// are longer than the system takes: one path in an index may have very many directories.
    pub directories: BTreeMap<DirNumber, Option<BString>>,
    /// Directories that were removed.
    pub removed: BTreeSet<DirNumber>,
    /// The keys of new blocks of files.
    pub files: BTreeSet<u32>,
    /// The keys of removed blocks of files.
    pub removed_files: BTreeSet<u32>,
    /// Those of `directories` whose names changed, or that did not exist before.
    pub other_names: BTreeSet<DirNumber>,
}

impl TreeDiff {
    /// Whether both trees are equal.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Adds a later difference, so that the result spans from the first tree to the last.
    pub fn add(&mut self, later: Self) {
        // The number of a removed directory may be reused.
        self.removed
            .retain(|number| !later.directories.contains_key(number));
        self.removed_files.retain(|key| !later.files.contains(key));
        self.directories.extend(later.directories);
        self.directories
            .retain(|number, _| !later.removed.contains(number));
        self.other_names.extend(later.other_names);
        self.other_names
            .retain(|number| !later.removed.contains(number));
        self.removed.extend(later.removed);
        self.files.extend(later.files);
        self.files.retain(|key| !later.removed_files.contains(key));
        self.removed_files.extend(later.removed_files);
    }
}

impl Tracked {
    /// Builds the tree of `index`, reusing the blocks of this tree that are the same. Also returns the differences.
    pub fn updated_to(&self, index: &Index) -> (Self, TreeDiff) {
        Builder::build(index, self.difference()).finish()
    }

    /// Does the same for the tree of `records`, which come as for [`Self::of_records`].
    pub fn updated_to_records<'r>(
        &self,
        records: impl IntoIterator<Item = (&'r BStr, impl Borrow<Entry>)>,
    ) -> (Self, TreeDiff) {
        let mut builder = self.difference_builder();
        for (path, record) in records {
            builder.accept(path, record.borrow());
        }
        builder.finish()
    }

    /// Starts the tree of a new index, to be fed entry by entry; otherwise like [`Self::updated_to`].
    pub fn difference_builder(&self) -> DifferenceBuilder<'_> {
        DifferenceBuilder(Builder::new(
            self.hash_kind().len_in_bytes(),
            self.difference(),
        ))
    }

    fn difference(&self) -> Difference<'_> {
        Difference {
            base: self,
            directories: Store::default(),
            files: Store::default(),
            paths: BTreeMap::new(),
            seen: BTreeSet::from([ROOT]),
            next_directory: self.directory_number_end().max(1),
            next_files: self.blocks().files_key_end(),
            segments: (DirNumber::MAX, HashMap::new()),
        }
    }
}

/// The tree of a new index, fed entry by entry, as a difference from that of an older one.
pub struct DifferenceBuilder<'t>(Builder<Difference<'t>>);

impl DifferenceBuilder<'_> {
    /// Ends the entries, and returns the new tree and the differences.
    pub fn finish(self) -> (Tracked, TreeDiff) {
        self.0.finish().finish()
    }
}

impl EntrySink for DifferenceBuilder<'_> {
    fn accept(&mut self, path: &BStr, entry: &Entry) {
        self.0.push(path, entry);
    }
}

struct Difference<'b> {
    base: &'b Tracked,
    directories: Store,
    files: Store,
    /// The paths of directories with a new block.
    paths: BTreeMap<DirNumber, Option<BString>>,
    /// All directories of the new tree.
    seen: BTreeSet<DirNumber>,
    next_directory: DirNumber,
    next_files: u32,
    /// The old blocks of files of one directory, with their keys.
    segments: (DirNumber, HashMap<Vec<u8>, u32>),
}

impl BlockSink for Difference<'_> {
    fn number(&mut self, parent: DirNumber, name: &BStr) -> DirNumber {
        let known = (parent < self.base.directory_number_end())
            .then(|| self.base.directory_if_any(parent)?.find_subdir(name))
            .flatten()
            .map(|subdir| subdir.number)
            // A number that no directory of the base has would be assigned again, to another directory.
            .filter(|&number| {
                number < self.base.directory_number_end() && !self.seen.contains(&number)
            });
        let number = known.unwrap_or_else(|| {
            let number = self.next_directory;
            self.next_directory = number.saturating_add(1);
            number
        });
        self.seen.insert(number);
        number
    }

    fn directory(&mut self, number: DirNumber, path: &BStr, block: &[u8]) {
        if self.base.blocks().directory(number) != Ok(block) {
            self.directories.put(number, block);
            let path = (path.len() <= PATH_LEN_MAX).then(|| path.to_owned());
            self.paths.insert(number, path);
        }
    }

    fn files(&mut self, of: DirNumber, block: &[u8]) -> u32 {
        if self.segments.0 != of {
            self.segments = (of, self.base.segments_of(of));
        }
        if let Some(key) = self.segments.1.remove(block) {
            return key;
        }
        let key = self.next_files;
        self.next_files = key.saturating_add(1);
        self.files.put(key, block);
        key
    }
}

impl Difference<'_> {
    fn finish(self) -> (Tracked, TreeDiff) {
        let base = self.base;
        let mut tree_diff = TreeDiff {
            directories: self.paths,
            files: self.files.keys().collect(),
            ..TreeDiff::default()
        };
        let layered = Layered {
            base: base.blocks().clone(),
            directories: self.directories,
            files: self.files,
            directories_end: self.next_directory,
            files_end: self.next_files,
        };
        let mut tracked = Tracked::new(base.hash_kind(), Arc::new(layered));
        for &number in tree_diff.directories.keys() {
            let new = tracked.directory(number);
            let Some(old) = base.directory_if_any(number) else {
                tree_diff.other_names.insert(number);
                continue;
            };
            if has_other_names(&old, &new) {
                tree_diff.other_names.insert(number);
            }
            let kept: BTreeSet<u32> = new.segment_keys().collect();
            tree_diff
                .removed_files
                .extend(old.segment_keys().filter(|key| !kept.contains(key)));
            let mut gone: Vec<DirNumber> = old.subdirs().map(|subdir| subdir.number).collect();
            gone.retain(|number| !self.seen.contains(number));
            while let Some(number) = gone.pop() {
                if tree_diff.removed.insert(number)
                    && let Some(directory) = base.directory_if_any(number)
                {
                    tree_diff.removed_files.extend(directory.segment_keys());
                    gone.extend(directory.subdirs().map(|subdir| subdir.number));
                }
            }
        }
        if tracked.blocks().depth() > DEPTH_MAX {
            tracked = tracked.in_one_place();
        }
        (tracked, tree_diff)
    }
}

/// Whether anything changed that decides which names in the directory are tracked: names, submodules, conflicts, and
/// whether an ignore file is expected to exist.
fn has_other_names(old: &Directory<'_>, new: &Directory<'_>) -> bool {
    let facts = |directory: &Directory<'_>| {
        let files = directory.files_from(0).map(|(_, file)| {
            let flags = file.flags();
            let is_expected = file.name() != ".gitignore" || !flags.is_skip_worktree();
            let marks = (file.mode().is_gitlink(), flags.stage() > 0, is_expected);
            (file.name().to_owned(), marks)
        });
        files.collect::<Vec<_>>()
    };
    let names = |directory: &Directory<'_>| {
        directory
            .subdirs()
            .map(|subdir| (subdir.name().to_owned(), subdir.number))
            .collect::<Vec<_>>()
    };
    old.files_len() != new.files_len() || names(old) != names(new) || facts(old) != facts(new)
}

/// Blocks in memory, layered over others. They count as this process's own even if the base was written by another one: a
/// block of the base is reached only where it equals the block that was built from the index.
struct Layered {
    base: Arc<dyn Blocks>,
    directories: Store,
    files: Store,
    directories_end: u32,
    files_end: u32,
}

impl Blocks for Layered {
    fn directory(&self, number: DirNumber) -> Result<&[u8], Damaged> {
        match self.directories.get(number) {
            Some(block) => Ok(block),
            None => self.base.directory(number),
        }
    }

    fn files(&self, key: u32) -> Result<&[u8], Damaged> {
        match self.files.get(key) {
            Some(block) => Ok(block),
            None => self.base.files(key),
        }
    }

    fn directory_number_end(&self) -> u32 {
        self.directories_end
    }

    fn files_key_end(&self) -> u32 {
        self.files_end
    }

    fn are_whole(&self) -> bool {
        self.base.are_whole()
    }

    fn depth(&self) -> u32 {
        self.base.depth().saturating_add(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::RecordedStat;
    use crate::index::EntryFlags;
    use crate::mode::FileMode;
    use crate::{HashKind, ObjectId};

    /// Otherwise a path of 200 KB would take 10 GB.
    #[test]
    fn paths_that_are_too_long_for_the_system_are_not_kept() {
        let id = ObjectId::null(HashKind::Sha1);
        let file = || {
            let stat = RecordedStat::default();
            Entry::new(stat, FileMode::FILE, id, EntryFlags::default())
        };
        let path = BString::from(format!("{}f", "p/".repeat(10_000)));
        let before = Tracked::of_records(HashKind::Sha1, [(BStr::new("a"), file())]);
        let (_, tree_diff) = before.updated_to_records([(path.as_ref(), file())]);
        assert_eq!(tree_diff.directories.len(), 10_001);
        let kept = tree_diff.directories.values().flatten();
        let len: usize = kept.map(|path| path.len()).sum();
        assert!(len <= PATH_LEN_MAX * PATH_LEN_MAX);
    }

    #[test]
    fn a_number_that_is_given_again_is_not_removed() {
        let removed = || TreeDiff {
            removed: [5, 6].into(),
            removed_files: [7, 8].into(),
            ..TreeDiff::default()
        };
        let given_again = || TreeDiff {
            directories: [(5, Some("b".into()))].into(),
            files: [7].into(),
            ..TreeDiff::default()
        };
        let mut all = removed();
        all.add(given_again());
        assert_eq!((all.removed, all.removed_files), ([6].into(), [8].into()));
        let mut all = given_again();
        all.add(removed());
        assert!(all.directories.is_empty() && all.files.is_empty());
        assert_eq!(
            (all.removed, all.removed_files),
            ([5, 6].into(), [7, 8].into())
        );
    }
}
