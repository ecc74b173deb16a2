//! One list of all changes: staged, in the working tree, and in conflict.

use std::ops::ControlFlow;

use bstr::{BStr, BString, ByteSlice};
use gix_hash::ObjectId;
use vigil_model::mode::FileMode;
use vigil_model::tracked::{Tracked, TrackedEntry};

use super::conflicts::{Conflict, without_stages};
use crate::status::{Change, SubmoduleState, TrackedChange, UnmergedChange, UnmergedSide};
use vigil_git::staged::StagedChange;
use vigil_model::change::{ChangeKind, RenameSource};

/// An index entry that differs from the working tree.
pub(super) struct Unstaged {
    pub(super) entry: TrackedEntry,
    pub(super) kind: ChangeKind,
    pub(super) mode: FileMode,
    pub(super) submodule: Option<SubmoduleState>,
    /// The file in the index that it was renamed or copied from, if it was.
    pub(super) origin: Option<Origin>,
}

/// The file in the index that a file in the working tree was renamed or copied from.
pub(super) struct Origin {
    pub(super) mode: FileMode,
    pub(super) id: ObjectId,
    pub(super) source: RenameSource,
}

/// Merges both kinds of changes to paths without conflict; `staged` and `unstaged` are in byte order of paths.
pub(super) fn merge(
    null: ObjectId,
    staged: Vec<StagedChange>,
    unstaged: Vec<Unstaged>,
) -> Vec<(BString, Change)> {
    let mut all = Vec::with_capacity(staged.len().saturating_add(unstaged.len()));
    let mut unstaged = unstaged.into_iter().peekable();
    let only_unstaged = |change: Unstaged| {
        let entry = change.entry;
        // An intent to add does not count as an entry, unless the file is gone again.
        let is_new = change.kind == ChangeKind::Added;
        let (mode, id) = match &change.origin {
            Some(origin) => (origin.mode, origin.id),
            None if is_new => (FileMode::NONE, null),
            None => (entry.mode, entry.id),
        };
        let tracked = TrackedChange {
            staged: None,
            unstaged: Some(change.kind),
            head_mode: mode,
            index_mode: mode,
            worktree_mode: change.mode,
            head_id: id,
            index_id: id,
            staged_source: None,
            unstaged_source: change.origin.map(|origin| origin.source),
            submodule: submodule_of(&[mode, change.mode], change.submodule),
        };
        (entry.path, Change::Tracked(tracked))
    };
    for change in staged {
        while let Some(other) = unstaged.next_if(|other| other.entry.path < change.path) {
            all.push(only_unstaged(other));
        }
        let same = unstaged.next_if(|other| other.entry.path == change.path);
        let mut tracked = TrackedChange {
            staged: Some(change.kind),
            unstaged: None,
            head_mode: change.head_mode,
            index_mode: change.index_mode,
            worktree_mode: change.index_mode,
            head_id: change.head_id,
            index_id: change.index_id,
            staged_source: change.source,
            unstaged_source: None,
            submodule: None,
        };
        let mut submodule = None;
        if let Some(same) = same {
            tracked.unstaged = Some(same.kind);
            tracked.worktree_mode = same.mode;
            if tracked.index_mode == FileMode::NONE {
                // Not in the index as it would be committed, but there is an intent to add it.
                let is_deleted = same.kind == ChangeKind::Deleted;
                let recorded = is_deleted.then_some((same.entry.mode, same.entry.id));
                let origin = same.origin.as_ref().map(|origin| (origin.mode, origin.id));
                if let Some((mode, id)) = origin.or(recorded) {
                    tracked.index_mode = mode;
                    tracked.index_id = id;
                }
            }
            tracked.unstaged_source = same.origin.map(|origin| origin.source);
            submodule = same.submodule;
        }
        let modes = [tracked.head_mode, tracked.index_mode, tracked.worktree_mode];
        tracked.submodule = submodule_of(&modes, submodule);
        all.push((change.path, Change::Tracked(tracked)));
    }
    all.extend(unstaged.map(only_unstaged));
    all
}

/// Returns the state to show. A path is shown as a submodule if it is one on any side.
fn submodule_of(modes: &[FileMode], state: Option<SubmoduleState>) -> Option<SubmoduleState> {
    modes
        .iter()
        .any(|mode| mode.is_gitlink())
        .then(|| state.unwrap_or_default())
}

/// Appends the paths in conflict. For those that are not in `conflicts`, no difference from the index is known.
pub(super) fn add_unmerged(
    tracked: &Tracked,
    conflicts: &[Conflict],
    searches_renames: bool,
    has_head: bool,
    changes: &mut Vec<(BString, Change)>,
    is_asked_for: impl Fn(&BStr, FileMode) -> bool,
) {
    let mut all: Vec<TrackedEntry> = Vec::new();
    let _ = tracked.visit::<()>(
        |sums| sums.conflicted > 0,
        |number, path, file| {
            if file.flags().stage() > 0 {
                all.push(TrackedEntry::new(number, path.to_owned(), file));
            }
            ControlFlow::Continue(())
        },
    );
    for sides in all.chunk_by(|a, b| a.path == b.path) {
        let Some(first) = sides.first() else {
            continue;
        };
        let path = first.path.as_bstr();
        let mut stages = [None; 3];
        for entry in sides {
            if let Some(side) = stages.get_mut(usize::from(entry.flags.stage()).saturating_sub(1)) {
                *side = Some(UnmergedSide {
                    mode: entry.mode,
                    id: entry.id,
                });
            }
        }
        let is_listed = is_asked_for(path, first.mode);
        if !has_head {
            // git then lists each stage separately.
            stages = stages.map(|side| side.filter(|side| is_asked_for(path, side.mode)));
        }
        if !has_head && stages == [None; 3] {
            continue;
        }
        let conflict = conflicts
            .binary_search_by_key(&first.number, |conflict| conflict.number)
            .ok()
            .and_then(|at| conflicts.get(at));
        if has_head && !is_listed {
            // git compares the working tree with a later stage that is asked for.
            let null = ObjectId::null(tracked.hash_kind());
            changes.extend(conflict.map(|conflict| {
                let submodule = conflict.submodule(searches_renames);
                let change = without_stages(Some(conflict), submodule, null);
                (path.to_owned(), Change::Tracked(change))
            }));
            continue;
        }
        let unmerged = UnmergedChange {
            stages,
            worktree_mode: conflict.map_or(FileMode::NONE, Conflict::worktree_mode),
            submodule: conflict.and_then(|conflict| conflict.submodule(searches_renames)),
            is_observed: conflict.is_some(),
            merged: None,
        };
        changes.push((path.to_owned(), Change::Unmerged(unmerged)));
    }
}
