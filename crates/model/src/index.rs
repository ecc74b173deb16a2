//! git's index, read from bytes (gitformat-index(5)).

mod cache_tree;
mod parse;
mod sparse;
pub(crate) mod split;
#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) mod writer;

use std::cmp::Ordering;
use std::ffi::CStr;
use std::ops::Range;

use bstr::{BStr, ByteSlice};
use gix_hash::{ObjectId, oid};

pub use self::cache_tree::CacheTree;
pub use self::parse::{
    EXTENSION_HEADER_LEN, Extension, Flat, HEADER_LEN, IndexParser, ParseError, ParsedIndex,
    Prepare, Promise, Take,
};
pub use self::sparse::FlatEntry;
pub use self::split::{Join, Link};

use crate::facts::RecordedStat;
use crate::mode::FileMode;

/// The flags of an entry, git's own bits: the first 16 as on disk, the extended ones shifted up by 16.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EntryFlags(pub u32);

impl EntryFlags {
    /// `assume-unchanged`: the user promises that the file does not change.
    pub const ASSUME_VALID: u32 = 0x8000;
    /// The entry has extended flags.
    pub const EXTENDED: u32 = 0x4000;
    /// `skip-worktree`: the file is not in the working tree, by the sparse checkout or the user's wish.
    pub const SKIP_WORKTREE: u32 = 0x4000_0000;
    /// `intent-to-add`: the path is tracked, its contents are not yet.
    pub const INTENT_TO_ADD: u32 = 0x2000_0000;

    /// The merge stage: 0 for a merged path, 1 base, 2 ours, 3 theirs.
    pub fn stage(self) -> u8 {
        ((self.0 >> 12) & 3) as u8
    }

    /// Whether the user promised that the file does not change.
    pub fn is_assume_valid(self) -> bool {
        self.0 & Self::ASSUME_VALID != 0
    }

    /// Whether the file is not expected in the working tree.
    pub fn is_skip_worktree(self) -> bool {
        self.0 & Self::SKIP_WORKTREE != 0
    }

    /// Whether only the intent to add is recorded.
    pub fn is_intent_to_add(self) -> bool {
        self.0 & Self::INTENT_TO_ADD != 0
    }
}

/// One entry of the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The stat facts recorded when the entry was made or last refreshed.
    pub stat: RecordedStat,
    /// Type and executable bit.
    pub mode: FileMode,
    /// The blob, or the commit of a submodule, or the tree of a sparse directory.
    pub id: ObjectId,
    /// Stage and marks.
    pub flags: EntryFlags,
    path_start: u32,
    path_len: u32,
}

impl Entry {
    /// A record whose path is kept elsewhere: what any system records of a file.
    pub fn new(stat: RecordedStat, mode: FileMode, id: ObjectId, flags: EntryFlags) -> Self {
        Self {
            stat,
            mode,
            id,
            flags,
            path_start: 0,
            path_len: 0,
        }
    }
}

// A large index has hundreds of thousands of these.
const _: () = assert!(size_of::<Entry>() <= 90);

impl Entry {
    /// The blob, or the commit of a submodule, or the tree of a sparse directory.
    #[inline]
    pub fn id(&self) -> &oid {
        &self.id
    }

    /// Whether this stands for a whole directory outside of the sparse checkout; its path ends in `/`.
    #[inline]
    pub fn is_sparse_directory(&self) -> bool {
        self.mode.is_tree()
    }
}

/// A parsed index: entries in git's order (path bytes, then stage).
#[derive(Clone, Debug)]
pub struct Index {
    hash: gix_hash::Kind,
    entries: Vec<Entry>,
    /// Each with a NUL behind it.
    paths: Vec<u8>,
    cache_tree: Option<CacheTree>,
    is_sparse: bool,
    is_expanded: bool,
}

impl Index {
    /// The index of a repository that has none yet.
    pub fn empty(hash: gix_hash::Kind) -> Self {
        Self {
            hash,
            entries: Vec::new(),
            paths: Vec::new(),
            cache_tree: None,
            is_sparse: false,
            is_expanded: false,
        }
    }

    /// The kind of the ids within.
    pub fn hash_kind(&self) -> gix_hash::Kind {
        self.hash
    }

    /// All entries, in order.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The path of `entry`, which must be one of this index.
    #[inline]
    pub fn path(&self, entry: &Entry) -> &BStr {
        let start = entry.path_start as usize;
        self.paths
            .get(start..start.saturating_add(entry.path_len as usize))
            .unwrap_or_default()
            .as_bstr()
    }

    /// The end of the path of `entry` from `start` on, with the NUL that system calls want behind it.
    #[inline]
    pub fn path_end(&self, entry: &Entry, start: usize) -> &CStr {
        let start = (entry.path_start as usize).saturating_add(start);
        let rest = self.paths.get(start..).unwrap_or_default();
        CStr::from_bytes_until_nul(rest).unwrap_or_default()
    }

    /// The root of the cache-tree, if the index has one.
    pub fn cache_tree(&self) -> Option<&CacheTree> {
        self.cache_tree.as_ref()
    }

    /// Takes it out.
    pub fn take_cache_tree(&mut self) -> Option<CacheTree> {
        self.cache_tree.take()
    }

    /// Whether entries may be sparse directories (`sdir` extension).
    pub fn is_sparse(&self) -> bool {
        self.is_sparse
    }

    /// Whether sparse directories were expanded: git then has a cache-tree made anew from the entries.
    pub fn is_expanded(&self) -> bool {
        self.is_expanded
    }

    /// The position of the entry of `path` and `stage`, or where it would be inserted.
    pub fn position(&self, path: &BStr, stage: u8) -> Result<usize, usize> {
        self.entries.binary_search_by(|entry| {
            compare((self.path(entry), entry.flags.stage()), (path, stage))
        })
    }

    /// The entry of `path` and `stage`.
    pub fn find(&self, path: &BStr, stage: u8) -> Option<&Entry> {
        self.position(path, stage)
            .ok()
            .and_then(|at| self.entries.get(at))
    }

    /// The positions of the entries below the directory `dir` (given without a `/` at its end; the empty path
    /// is the top, below which everything is).
    pub fn range_of_directory(&self, dir: &BStr) -> Range<usize> {
        if dir.is_empty() {
            return 0..self.entries.len();
        }
        let start = self
            .entries
            .partition_point(|entry| compare_with_directory(self.path(entry), dir).is_lt());
        let below = self.entries.get(start..).unwrap_or_default();
        let len =
            below.partition_point(|entry| compare_with_directory(self.path(entry), dir).is_eq());
        start..start.saturating_add(len)
    }
}

/// git's order of entries: path bytes, the shorter first, then stage.
fn compare(a: (&BStr, u8), b: (&BStr, u8)) -> Ordering {
    a.0.as_bytes().cmp(b.0.as_bytes()).then(a.1.cmp(&b.1))
}

/// Whether `path` lies before, below or behind the directory `dir`.
fn compare_with_directory(path: &BStr, dir: &BStr) -> Ordering {
    let (head, rest) = path.split_at_checked(dir.len()).unwrap_or((path, b""));
    head.cmp(dir).then_with(|| match rest.first() {
        None => Ordering::Less,
        Some(byte) => byte.cmp(&b'/'),
    })
}
