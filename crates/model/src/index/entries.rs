//! The whole index: its entries and paths.

use std::cmp::Ordering;
use std::ops::Range;

use bstr::{BStr, ByteSlice};

use super::cache_tree::CacheTree;
use super::entry::{Entry, compare};

/// A parsed index: entries in git's order (path bytes, then stage).
#[derive(Clone, Debug)]
pub struct Index {
    pub(super) hash: gix_hash::Kind,
    pub(super) entries: Vec<Entry>,
    /// The paths, each followed by a NUL.
    pub(super) paths: Vec<u8>,
    pub(super) cache_tree: Option<CacheTree>,
    pub(super) is_sparse: bool,
    pub(super) is_expanded: bool,
}

impl Index {
    /// An empty index, as a repository without an index file has.
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

    /// The hash function of the object ids.
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

    /// The root of the cache-tree, if the index has one.
    pub fn cache_tree(&self) -> Option<&CacheTree> {
        self.cache_tree.as_ref()
    }

    /// Removes and returns the cache-tree.
    pub fn take_cache_tree(&mut self) -> Option<CacheTree> {
        self.cache_tree.take()
    }

    /// Whether entries may be sparse directories (`sdir` extension).
    pub fn is_sparse(&self) -> bool {
        self.is_sparse
    }

    /// Whether sparse directories were expanded. git then recomputes the cache-tree from the entries.
    pub fn is_expanded(&self) -> bool {
        self.is_expanded
    }

    /// The position of the entry of `path` and `stage`, or where it would be inserted.
    ///
    /// # Errors
    /// There is no such entry.
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

    /// The positions of the entries below the directory `dir`, which has no trailing `/`. The empty path is
    /// the top, which contains every entry.
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

/// Whether `path` sorts before, below or after the directory `dir`.
fn compare_with_directory(path: &BStr, dir: &BStr) -> Ordering {
    let (head, rest) = path.split_at_checked(dir.len()).unwrap_or((path, b""));
    head.cmp(dir).then_with(|| match rest.first() {
        None => Ordering::Less,
        Some(byte) => byte.cmp(&b'/'),
    })
}
