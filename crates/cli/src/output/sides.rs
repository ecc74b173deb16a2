//! A path in HEAD, index and working tree, for the formats that show modes and objects.

use vigil_engine::status::TrackedChange;
use vigil_model::ObjectId;
use vigil_model::mode::FileMode;

/// What both comparisons compared.
pub(super) struct Sides {
    pub(super) head: (FileMode, ObjectId),
    pub(super) index: (FileMode, ObjectId),
    pub(super) worktree_mode: FileMode,
}

impl Sides {
    /// The sides of `change`. Where a comparison found no change, the other side equals the index.
    pub(super) fn of(change: &TrackedChange) -> Self {
        let index = (change.index_mode, change.index_id);
        Self {
            head: match change.staged {
                Some(_) => (change.head_mode, change.head_id),
                None => index,
            },
            index,
            worktree_mode: match change.unstaged {
                Some(_) => change.worktree_mode,
                None => change.index_mode,
            },
        }
    }
}
