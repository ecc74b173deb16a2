//! Paths that are in the index both merged and in conflict, as `git update-index --index-info` leaves them if the merged entry
//! was not removed.
//!
//! git finds the merged entry when it looks for the stages, so it shows no conflict: each comparison merely says "unmerged" if
//! it knows nothing better. Only on an unborn branch does it list the stages, and also say how the working tree differs from
//! the merged entry.

use bstr::{BString, ByteSlice};
use gix_hash::ObjectId;
use vigil_model::mode::FileMode;
use vigil_model::tracked::{ByPath, Tracked};

use super::conflicts::{Conflict, without_stages};
use crate::status::{Change, TrackedChange, UnmergedChange};
use vigil_model::change::ChangeKind;

/// Joins the changes of each path into one. `changes` must be sorted by path, those of merged entries first, and `conflicts` in
/// the order of the index.
pub(super) fn join(
    tracked: &Tracked,
    has_head: bool,
    conflicts: &[Conflict],
    changes: &mut Vec<(BString, Change)>,
) {
    if has_head {
        let mut entries = ByPath::new(tracked);
        for (path, change) in changes.iter_mut() {
            if let Change::Unmerged(unmerged) = change
                && entries.find(path.as_bstr(), 0).is_some()
            {
                let conflict = conflicts.binary_search_by(|conflict| conflict.path.cmp(path));
                let conflict = conflict.ok().and_then(|at| conflicts.get(at));
                let null = ObjectId::null(tracked.hash_kind());
                *change = Change::Tracked(TrackedChange {
                    staged: Some(ChangeKind::Unmerged),
                    submodule: unmerged.submodule,
                    ..without_stages(conflict, None, null)
                });
            }
        }
    }
    changes.dedup_by(|later, earlier| {
        let is_same = later.0 == earlier.0;
        if is_same {
            join_two(&mut earlier.1, &later.1);
        }
        is_same
    });
}

/// Adds what later entries say about a path to what is known.
fn join_two(earlier: &mut Change, later: &Change) {
    match (earlier, later) {
        (Change::Tracked(earlier), Change::Tracked(later)) => {
            if later.staged == Some(ChangeKind::Unmerged) {
                add_conflict(earlier, later);
            } else {
                add_repeated(earlier, later);
            }
        }
        (earlier, Change::Unmerged(later)) => {
            let merged = match &*earlier {
                Change::Tracked(earlier) => earlier.unstaged,
                Change::Unmerged(_) => None,
            };
            *earlier = Change::Unmerged(UnmergedChange {
                merged,
                ..later.clone()
            });
        }
        (Change::Unmerged(_), Change::Tracked(_)) => {}
    }
}

/// Adds a further change of a path that a damaged tree or index has more than once: the first change says what happened, and the
/// last ones what is on each side.
fn add_repeated(earlier: &mut TrackedChange, later: &TrackedChange) {
    if matches!(later.staged, Some(kind) if kind != ChangeKind::Added) {
        earlier.head_mode = later.head_mode;
        earlier.head_id = later.head_id;
    }
    let has_index = matches!(later.staged, Some(kind) if kind != ChangeKind::Deleted);
    if has_index || earlier.index_mode == FileMode::NONE {
        earlier.index_mode = later.index_mode;
        earlier.index_id = later.index_id;
    }
}

fn add_conflict(earlier: &mut TrackedChange, conflict: &TrackedChange) {
    if earlier.staged.is_none() {
        earlier.staged = conflict.staged;
        earlier.head_mode = conflict.head_mode;
        earlier.head_id = conflict.head_id;
        earlier.index_mode = conflict.index_mode;
        earlier.index_id = conflict.index_id;
    }
    if conflict.unstaged.is_some() {
        earlier.unstaged = earlier.unstaged.or(conflict.unstaged);
        earlier.worktree_mode = conflict.worktree_mode;
        earlier.submodule = conflict.submodule;
    }
}
