//! What is staged: the tree of HEAD against the index, as `git diff-index --cached HEAD` has it.
//!
//! Both are walked together from the top. A directory whose tree object the index knows (its cache-tree) and
//! that is HEAD's own is passed over whole, so the cost is that of the directories that differ.

mod change;
mod error;
mod index_side;
#[cfg(test)]
mod tests;
pub(crate) mod tree;
mod tree_source;
mod walk;

use bstr::BStr;
use gix_hash::oid;
use vigil_model::index::{CacheTree, FlatEntry, Index};
use vigil_model::tracked::Tracked;

pub use self::change::{StagedChange, StagedDiff, UnmergedPath};
pub use self::error::{Error, SourceError};
pub use self::tree::{Listed, tree_entries};
pub use self::tree_source::TreeSource;
pub use self::walk::{OneEntry, Walk};
use self::walk::{Stop, Walker};

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

/// The same by the tracked files of an index, which was read with its `cache_tree`. `None` where the cache-tree is
/// wrong about it: only the whole index then tells what git finds.
pub fn diff_tracked(
    head_tree: Option<&oid>,
    (tracked, cache_tree): (&Tracked, Option<&CacheTree>),
    trees: &dyn TreeSource,
    max: Option<usize>,
) -> Result<Option<StagedDiff>, Error> {
    let mut walker = Walker::new(tracked.hash_kind(), trees, Walk::plain(max));
    match walker.tracked(head_tree, tracked, cache_tree) {
        Err(Stop::AtOdds) => return Ok(None),
        walked => finish(walked)?,
    }
    Ok(Some(walker.into_diff()))
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

fn finish(walked: Result<(), Stop>) -> Result<(), Error> {
    match walked {
        Ok(()) | Err(Stop::Enough | Stop::AtOdds) => Ok(()),
        Err(Stop::Failed(error)) => Err(error),
    }
}
