//! How much of a sparse checkout is present, kept until any of the files that are left out may have come: to find that out, git looks
//! for each of them.

use std::sync::Arc;

use bstr::BStr;
use parking_lot::Mutex;
use vigil_model::tracked::Tracked;
use vigil_watch::{Changes, Position, WatchedTree};

/// More changes than this are not gone through.
const CHANGES_MAX: usize = 10_000;

/// The percentage that was last found.
#[derive(Default)]
pub(super) struct KnownPresence(Mutex<Option<Known>>);

#[derive(Clone, Copy)]
struct Known {
    /// The number of the watched tree.
    tree: u64,
    /// The position up to which the percentage covers changes.
    position: Position,
    percent: Option<usize>,
}

/// A working tree of which every change is heard.
pub(super) struct HeardTree<'s> {
    pub(super) tree: &'s Arc<WatchedTree>,
    /// The position up to which it was looked at.
    pub(super) looked_until: Position,
}

impl KnownPresence {
    /// Returns the percentage if no file that is left out of the working tree may have come or gone since it was found.
    pub(super) fn percent(
        &self,
        heard: &HeardTree<'_>,
        tracked: &Tracked,
    ) -> Option<Option<usize>> {
        let mut known = self.0.lock();
        let known = known.as_mut()?;
        if known.tree != heard.tree.serial() {
            return None;
        }
        let (changes, position) = heard.tree.changes_since(known.position);
        if may_bring_files(&changes, tracked) {
            return None;
        }
        known.position = position;
        Some(known.percent)
    }

    /// Keeps the percentage that `find` finds, unless something changed since the working tree was looked at: its new folders may not
    /// be watched.
    pub(super) fn keep<E>(
        &self,
        heard: &HeardTree<'_>,
        find: impl FnOnce() -> Result<Option<usize>, E>,
    ) -> Result<Option<usize>, E> {
        let (changes, position) = heard.tree.changes_since(heard.looked_until);
        let percent = find()?;
        let known = changes.is_empty().then(|| Known {
            tree: heard.tree.serial(),
            position,
            percent,
        });
        *self.0.lock() = known;
        Ok(percent)
    }
}

/// Whether `changes` may have brought, or taken, any of the `tracked` files that are left out of the working tree.
fn may_bring_files(changes: &Changes, tracked: &Tracked) -> bool {
    let is_left_out = |path: &BStr| {
        let file = tracked.find_first(path);
        let directory = tracked.find_directory(path);
        file.is_some_and(|file| file.flags.is_skip_worktree())
            || directory.is_some_and(|number| tracked.directory(number).sums().skip_worktree > 0)
    };
    let mut paths = changes.paths.iter().chain(&changes.folders);
    changes.everything
        || changes.len() > CHANGES_MAX
        || paths.any(|path| is_left_out(path.as_ref()))
}

#[cfg(test)]
mod tests;
