//! `--porcelain=v2`: also shows modes, objects and submodules (git-status(1), "Porcelain Format Version 2").

use std::fmt::Write as _;

use bstr::{BStr, BString};
use vigil_engine::status::{Change, Status, SubmoduleState, TrackedChange, UnmergedChange};
use vigil_git::refs::Head;
use vigil_history::branch::{BranchStatus, Distance};
use vigil_model::change::ChangeKind;
use vigil_model::mode::FileMode;
use vigil_model::{HashKind, ObjectId};

use super::branch_name::branch_name;
use super::presentation::Presentation;
use super::sides::Sides;
use crate::reply::bytes;

/// Writes `status`.
pub(super) fn write(status: &Status, presentation: &Presentation) -> Vec<u8> {
    let mut out = Vec::new();
    if let Some(branch) = &status.branch {
        append_branch(&mut out, branch, presentation);
    }
    if let Some(count @ 1..) = status.stash_count {
        append_header(&mut out, "stash", count.to_string(), presentation);
    }
    for (path, change) in &status.changes {
        if let Change::Tracked(change) = change {
            append_tracked(&mut out, path, change, presentation);
        }
    }
    for (path, change) in &status.changes {
        if let Change::Unmerged(change) = change {
            append_unmerged(&mut out, path, change, presentation);
        }
    }
    for (sign, paths) in [(b'?', &status.untracked), (b'!', &status.ignored)] {
        for path in paths {
            out.extend([sign, b' ']);
            presentation.append_path(&mut out, path.as_ref(), false);
            out.push(presentation.terminator());
        }
    }
    out
}

fn append_header(
    out: &mut Vec<u8>,
    name: &str,
    value: impl AsRef<[u8]>,
    presentation: &Presentation,
) {
    out.extend(bytes!["# ", name, " ", value]);
    out.push(presentation.terminator());
}

fn append_branch(out: &mut Vec<u8>, branch: &BranchStatus, presentation: &Presentation) {
    let mut header = |name, value: &[u8]| append_header(out, name, value, presentation);
    match &branch.head {
        Head::Detached(id) => {
            header("branch.oid", id.to_string().as_bytes());
            header("branch.head", b"(detached)");
        }
        Head::Branch { name, id } => {
            let id = id.map_or_else(|| "(initial)".to_owned(), |id| id.to_string());
            header("branch.oid", id.as_bytes());
            let name = match branch_name(name.as_ref()) {
                Some(branch) => branch,
                None if branch.head.is_lost() => BStr::new("(detached)"),
                None if name.is_empty() => BStr::new("(unknown)"),
                // As in git if HEAD names a reference that is not a branch.
                None => BStr::new("(null)"),
            };
            header("branch.head", name);
        }
    }
    let Some(upstream) = &branch.upstream else {
        return;
    };
    header("branch.upstream", &upstream.short_name);
    let counts = match upstream.distance {
        Distance::Gone => return,
        Distance::Equal => "+0 -0".to_owned(),
        Distance::Different => "+? -?".to_owned(),
        Distance::Counted { ahead, behind } => format!("+{ahead} -{behind}"),
    };
    header("branch.ab", counts.as_bytes());
}

fn append_tracked(
    out: &mut Vec<u8>,
    path: &BString,
    change: &TrackedChange,
    presentation: &Presentation,
) {
    let Sides {
        head: (head_mode, head_id),
        index: (index_mode, index_id),
        worktree_mode,
    } = Sides::of(change);
    let (source_kind, source) = match (&change.staged_source, &change.unstaged_source) {
        (Some(source), _) => (change.staged, Some(source)),
        (None, Some(source)) => (change.unstaged, Some(source)),
        (None, None) => (None, None),
    };
    let letter = |kind: Option<ChangeKind>| char::from(kind.map_or(b'.', ChangeKind::letter));
    let is_submodule = [head_mode, index_mode, worktree_mode]
        .iter()
        .any(|mode| mode.is_gitlink());
    let submodule = submodule_field(is_submodule.then(|| change.submodule.unwrap_or_default()));
    let mut fields = String::new();
    // Writing to a string cannot fail.
    let _ = write!(
        fields,
        "{} {}{} {submodule} {head_mode} {index_mode} {worktree_mode} {head_id} {index_id} ",
        if source.is_some() { '2' } else { '1' },
        letter(change.staged),
        letter(change.unstaged),
    );
    if let Some(source) = source {
        let _ = write!(fields, "{}{} ", letter(source_kind), source.score_percent);
    }
    out.extend_from_slice(fields.as_bytes());
    presentation.append_path(out, path.as_ref(), false);
    if let Some(source) = source {
        out.push(if presentation.nul_terminated {
            0
        } else {
            b'\t'
        });
        presentation.append_path(out, source.path.as_ref(), false);
    }
    out.push(presentation.terminator());
}

fn append_unmerged(
    out: &mut Vec<u8>,
    path: &BString,
    change: &UnmergedChange,
    presentation: &Presentation,
) {
    let hash = change
        .stages
        .iter()
        .flatten()
        .map(|side| side.id.kind())
        .next()
        .unwrap_or(HashKind::Sha1);
    let modes = change
        .stages
        .map(|side| side.map_or(FileMode::NONE, |side| side.mode));
    let ids = change
        .stages
        .map(|side| side.map_or(ObjectId::null(hash), |side| side.id));
    let [base_mode, our_mode, their_mode] = modes;
    let [base_id, our_id, their_id] = ids;
    let submodule = submodule_field(change.submodule);
    let letters = change.letters().map(char::from);
    let mut fields = String::new();
    let _ = write!(
        fields,
        "u {}{} {submodule} {base_mode} {our_mode} {their_mode} {} {base_id} {our_id} {their_id} ",
        letters[0], letters[1], change.worktree_mode,
    );
    out.extend_from_slice(fields.as_bytes());
    presentation.append_path(out, path.as_ref(), false);
    out.push(presentation.terminator());
}

/// `S<c><m><u>` for a submodule, otherwise `N...`.
fn submodule_field(state: Option<SubmoduleState>) -> String {
    let Some(state) = state else {
        return "N...".to_owned();
    };
    let mark = |is_set, letter| if is_set { letter } else { '.' };
    [
        'S',
        mark(state.new_commits, 'C'),
        mark(state.modified, 'M'),
        mark(state.untracked, 'U'),
    ]
    .iter()
    .collect()
}
