//! The staged changes: the tree of HEAD against the index, like `git diff-index --cached HEAD`.
//!
//! Both are walked side by side from the top. A directory whose tree object the index knows (from its cache-tree)
//! and that is the same in HEAD is skipped as a whole, so the cost is that of the directories that differ.

mod change;
mod error;
mod index_side;
#[cfg(test)]
mod tests;
mod tree_source;
mod walk;

use bstr::BStr;
use gix_hash::oid;
use vigil_model::index::{CacheTree, FlatEntry, Index};
use vigil_model::tracked::Tracked;

pub use self::change::{StagedChange, StagedDiff, UnmergedPath};
pub use self::error::{Error, SourceError};
pub use self::tree_source::TreeSource;
pub use self::walk::{SparseDirectory, Walk};
use self::walk::{Stop, Walker};

/// Compares the tree of HEAD with the index; without a tree (an unborn branch) everything in the index is added.
///
/// Entries that only record the intent to add count as not in the index, as in `git status`. With `max` (at least
/// 1), the walk ends once that many changes are found, and the result holds only those.
///
/// # Errors
/// A tree is missing or damaged, or nested too deeply.
pub fn diff(
    head_tree: Option<&oid>,
    index: &Index,
    trees: &dyn TreeSource,
    max: Option<usize>,
) -> Result<StagedDiff, Error> {
    diff_with(head_tree, index, trees, Walk::plain(max))
}

/// As [`diff`], for the tracked files of an index that was read with its `cache_tree`. `None` if the cache-tree
/// contradicts them: then only a comparison with the whole index finds what git finds.
///
/// # Errors
/// As for [`diff`].
pub fn diff_tracked(
    head_tree: Option<&oid>,
    (tracked, cache_tree): (&Tracked, Option<&CacheTree>),
    trees: &dyn TreeSource,
    max: Option<usize>,
) -> Result<Option<StagedDiff>, Error> {
    let mut walker = Walker::new(tracked.hash_kind(), trees, Walk::plain(max));
    match walker.tracked(head_tree, tracked, cache_tree) {
        Err(Stop::InconsistentIndex) => return Ok(None),
        walked => finish(walked)?,
    }
    Ok(Some(walker.into_diff()))
}

/// As [`diff`], in the way that `walk` says.
///
/// # Errors
/// As for [`diff`].
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

/// Lists the files of the sparse directory at `path` (with a `/` at its end) whose tree is `id`, in index order,
/// as [`Index::expand_sparse_directories`] requires.
///
/// # Errors
/// As for [`expand_sparse_directories`].
pub(crate) fn expand_sparse_directory(
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

/// Replaces the sparse directories that `wanted` accepts (called with a `/` at the end) by their files.
///
/// # Errors
/// A tree is missing or damaged, or nested too deeply.
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

fn finish(walked: Result<(), Stop>) -> Result<(), Error> {
    match walked {
        Ok(()) | Err(Stop::Enough | Stop::InconsistentIndex) => Ok(()),
        Err(Stop::Failed(error)) => Err(error),
    }
}
