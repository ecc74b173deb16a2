//! What is staged: the tree of HEAD against the index, as `git diff-index --cached HEAD` has it.
//!
//! Both are walked together from the top. A directory whose tree object the index knows (its cache-tree) and
//! that is HEAD's own is passed over whole, so the cost is that of the directories that differ.

mod later;
#[cfg(test)]
mod tests;
pub(crate) mod tree;
mod walk;

use crate::objects::{self, Objects, TREE_DEPTH_MAX};
use bstr::{BStr, BString};
use gix_hash::{Kind, ObjectId, oid};
use vigil_model::index::{CacheTree, FlatEntry, Index};
use vigil_model::mode::FileMode;
use vigil_model::tracked::Tracked;

use self::walk::{Stop, Walker};
use vigil_model::change::{ChangeKind, RenameSource};

/// Why an object could not be had, in its source's own words.
pub type SourceError = Box<dyn std::error::Error + Send + Sync>;

/// Where tree objects are read from.
pub trait TreeSource {
    /// Replaces the contents of `buf` by those of the tree `id`; false where there is no such object.
    fn tree(&self, id: &oid, buf: &mut Vec<u8>) -> Result<bool, SourceError>;

    /// How deep directories may lie in each other (`core.maxTreeDepth`).
    fn depth_max(&self) -> i64 {
        TREE_DEPTH_MAX
    }
}

impl TreeSource for Objects {
    fn depth_max(&self) -> i64 {
        self.tree_depth_max()
    }

    fn tree(&self, id: &oid, buf: &mut Vec<u8>) -> Result<bool, SourceError> {
        match Self::tree(self, id, buf) {
            Ok(()) => Ok(true),
            Err(objects::Error::MissingTree { .. }) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

/// Why HEAD and index cannot be compared. The text is git's own, without "fatal: ".
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A tree object is not there.
    #[error("unable to read tree ({id})")]
    Missing {
        /// The tree.
        id: ObjectId,
    },
    /// A tree object cannot be read.
    #[error("unable to read tree ({id})")]
    Unreadable {
        /// The tree.
        id: ObjectId,
        /// What the source says.
        source: SourceError,
    },
    /// A tree object is malformed.
    #[error("{reason}")]
    Corrupt {
        /// The tree.
        id: ObjectId,
        /// git's words.
        reason: &'static str,
    },
    /// Directories lie deeper in each other than git allows (`core.maxTreeDepth`).
    #[error("exceeded maximum allowed tree depth")]
    TooDeep {
        /// The first tree that was not read, or what HEAD has in it.
        id: ObjectId,
    },
    /// The same in a directory that is one entry of a sparse index, where git counts from that directory.
    #[error("exceeded maximum allowed tree depth")]
    TooDeepInOneEntry {
        /// A path that differs there.
        path: BString,
    },
}

/// A path that HEAD and index do not agree on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StagedChange {
    /// The path; of a rename or copy the new one.
    pub path: BString,
    /// How they differ. Without rename detection neither renamed nor copied.
    pub kind: ChangeKind,
    /// Mode in HEAD (of the source, if renamed or copied); `NONE` where not in HEAD.
    pub head_mode: FileMode,
    /// Object in HEAD (of the source, if renamed or copied), null where not in HEAD.
    pub head_id: ObjectId,
    /// Mode in the index; `NONE` where not in the index.
    pub index_mode: FileMode,
    /// Object in the index, null where not in the index.
    pub index_id: ObjectId,
    /// Where a rename or copy came from.
    pub source: Option<RenameSource>,
}

/// A path with conflicts, and what HEAD has of it. It hides the change between HEAD and index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnmergedPath {
    /// The path.
    pub path: BString,
    /// Mode in HEAD; `NONE` where not in HEAD.
    pub head_mode: FileMode,
    /// Object in HEAD, null where not in HEAD.
    pub head_id: ObjectId,
}

/// What differs between HEAD and index, each list in byte order of paths.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StagedDiff {
    /// Merged paths.
    pub changes: Vec<StagedChange>,
    /// Paths with conflicts.
    pub unmerged: Vec<UnmergedPath>,
}

/// Compares the tree of HEAD with the index; without a tree (an unborn branch) all of the index is added.
///
/// Entries that only record the intent to add are taken not to be in the index, as for `git status`. With `max`
/// (at least 1), the walk ends once so many changes are found: the answer is then the first of them.
pub fn diff(
    head_tree: Option<&oid>,
    index: &Index,
    trees: &dyn TreeSource,
    max: Option<usize>,
) -> Result<StagedDiff, Error> {
    diff_with(head_tree, index, trees, Walk::plain(max))
}

/// The same by the tracked files of an index, which was read with its `cache_tree`, and `is_sparse` if it was written as
/// a sparse one. `None` where the cache-tree is wrong about it: only the whole index then tells what git finds.
pub fn diff_tracked(
    head_tree: Option<&oid>,
    (tracked, cache_tree, is_sparse): (&Tracked, Option<&CacheTree>, bool),
    trees: &dyn TreeSource,
    max: Option<usize>,
) -> Result<Option<StagedDiff>, Error> {
    let mut walker = Walker::new(tracked.hash_kind(), trees, Walk::plain(max));
    match walker.tracked(head_tree, tracked, cache_tree, is_sparse) {
        Err(Stop::AtOdds) => return Ok(None),
        walked => finish(walked)?,
    }
    Ok(Some(walker.into_diff()))
}

/// How HEAD and index are compared.
#[derive(Clone, Copy)]
pub struct Walk<'a> {
    /// The walk ends once so many changes are found (at least 1).
    pub max: Option<usize>,
    /// The highest directory, the one at the path (with a `/` at its end) or above it, that is one entry of the index git
    /// works with. Only asked for directories deeper than `core.maxTreeDepth`.
    pub one_entry: &'a dyn Fn(&BStr) -> Option<OneEntry>,
    /// The index's cache-tree is asked.
    pub uses_cache_tree: bool,
}

impl Walk<'_> {
    fn plain(max: Option<usize>) -> Self {
        Self {
            max,
            one_entry: &|_| None,
            uses_cache_tree: true,
        }
    }
}

/// A directory that is one entry of a sparse index, or would be if the index had it. git compares it as `diff-tree`
/// compares two trees: how deep others lie is counted from there, and same trees are not entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OneEntry {
    /// How deep it lies itself; 1 at the top. 0 if it is all of the index, in which git passes over what is as in HEAD.
    pub depth: usize,
    /// git looks into it: pathspecs do not leave it out.
    pub is_compared: bool,
}

/// [`diff`] in the way that `walk` says.
pub fn diff_with(
    head_tree: Option<&oid>,
    index: &Index,
    trees: &dyn TreeSource,
    walk: Walk<'_>,
) -> Result<StagedDiff, Error> {
    let mut walker = Walker::new(index.hash_kind(), trees, walk);
    finish(walker.index(head_tree, index))?;
    Ok(walker.into_diff())
}

/// The files of the sparse directory at `path` (`/` at its end) whose tree is `id`, in the index's order. It is
/// what [`Index::expand_sparse_directories`] asks for.
pub fn expand_sparse_directory(
    path: &BStr,
    id: &oid,
    trees: &dyn TreeSource,
) -> Result<Vec<FlatEntry>, Error> {
    let mut walker = Walker::new(id.kind(), trees, Walk::plain(None));
    finish(walker.sparse_directory(path, id))?;
    let files = walker.into_diff().changes.into_iter();
    Ok(files
        .map(|file| FlatEntry {
            path: file.path,
            mode: file.index_mode,
            id: file.index_id,
        })
        .collect())
}

/// Replaces the sparse directories for which `wanted` says so (asked with a `/` at the end) by their files.
pub fn expand_sparse_directories(
    index: Index,
    trees: &dyn TreeSource,
    mut wanted: impl FnMut(&BStr) -> bool,
) -> Result<Index, Error> {
    index.expand_sparse_directories(|path, id| {
        wanted(path)
            .then(|| expand_sparse_directory(path, id, trees))
            .transpose()
    })
}

/// An entry of a tree object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listed<'a> {
    /// Its name.
    pub name: &'a BStr,
    /// Its mode, as git writes it.
    pub mode: FileMode,
    /// What it is.
    pub id: ObjectId,
}

/// The entries of the tree object `contents`, whose ids are of the kind `hash`, in its own order. It ends with the first
/// error, whose text is git's.
pub fn tree_entries(
    contents: &[u8],
    hash: Kind,
) -> impl Iterator<Item = Result<Listed<'_>, &'static str>> {
    let mut rest = contents;
    std::iter::from_fn(move || match tree::TreeEntry::first(rest, hash) {
        Ok(None) => None,
        Ok(Some(entry)) => {
            rest = rest.get(entry.len..).unwrap_or_default();
            Some(Ok(Listed {
                name: entry.key.name.into(),
                mode: entry.mode,
                id: entry.id,
            }))
        }
        Err(words) => {
            rest = b"";
            Some(Err(words))
        }
    })
}

fn finish(walked: Result<(), Stop>) -> Result<(), Error> {
    match walked {
        Ok(()) | Err(Stop::Enough | Stop::AtOdds) => Ok(()),
        Err(Stop::Failed(error)) => Err(error),
    }
}

/// One side of a comparison: what a tree or the index has at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Side {
    mode: FileMode,
    id: ObjectId,
}

impl StagedChange {
    /// The change from `head` to `index`, if there is any.
    fn between(path: &[u8], head: Option<Side>, index: Option<Side>, hash: Kind) -> Option<Self> {
        let kind = match (head, index) {
            (None, None) => return None,
            (None, Some(_)) => ChangeKind::Added,
            (Some(_), None) => ChangeKind::Deleted,
            (Some(head), Some(index)) if head == index => return None,
            (Some(head), Some(index)) if !head.mode.same_type(index.mode) => {
                ChangeKind::TypeChanged
            }
            (Some(_), Some(_)) => ChangeKind::Modified,
        };
        let absent = Side {
            mode: FileMode::NONE,
            id: hash.null(),
        };
        let (head, index) = (head.unwrap_or(absent), index.unwrap_or(absent));
        Some(Self {
            path: path.into(),
            kind,
            head_mode: head.mode,
            head_id: head.id,
            index_mode: index.mode,
            index_id: index.id,
            source: None,
        })
    }
}
