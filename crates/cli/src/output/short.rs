//! `--short`: two letters and a path (git-status(1), "Short Format").

use bstr::{BStr, BString};
use vigil_engine::status::{Change, Status, TrackedChange, UnmergedChange};
use vigil_git::refs::Head;
use vigil_history::branch::{BranchStatus, Distance, Upstream};
use vigil_model::change::ChangeKind;

use super::branch_name::branch_name;
use super::color::paint;
use super::presentation::Presentation;

/// The letter for a submodule that differs in the working tree.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum SubmoduleLetter {
    /// The same as for any path.
    Plain,
    /// `M` for different commits, else `m` for changed files, else `?` for untracked ones.
    Detailed,
}

/// Writes `status`.
pub(super) fn write(status: &Status, presentation: &Presentation) -> Vec<u8> {
    write_with(status, presentation, SubmoduleLetter::Detailed)
}

/// Writes `status` with the given kind of letters for submodules.
pub(super) fn write_with(
    status: &Status,
    presentation: &Presentation,
    submodules: SubmoduleLetter,
) -> Vec<u8> {
    let mut out = Vec::new();
    if let Some(branch) = &status.branch {
        let is_before_name = status
            .cut_short
            .as_ref()
            .is_some_and(|cut_short| cut_short.is_before_name);
        append_branch(&mut out, branch, is_before_name, presentation);
        let is_named = !matches!(&branch.head, Head::Branch { name, .. } if name.is_empty());
        // If git cannot name the branch or count its commits, it exits there, without a line feed.
        if is_named && status.cut_short.is_none() {
            out.push(presentation.terminator());
        }
    }
    for (path, change) in &status.changes {
        match change {
            Change::Tracked(change) => {
                let unstaged = unstaged_letter(change, submodules);
                append_tracked(&mut out, path, change, unstaged, presentation);
            }
            Change::Unmerged(change) => append_unmerged(&mut out, path, change, presentation),
        }
    }
    for path in &status.untracked {
        append_other(&mut out, b"??", path, presentation);
    }
    for path in &status.ignored {
        append_other(&mut out, b"!!", path, presentation);
    }
    out
}

const NO_BRANCH: &[u8] = b"HEAD (no branch)";

/// Appends the header. `is_before_name` says that git exits before it names the branch.
fn append_branch(
    out: &mut Vec<u8>,
    branch: &BranchStatus,
    is_before_name: bool,
    presentation: &Presentation,
) {
    let palette = &presentation.palette;
    paint(out, &palette.header, b"## ");
    match &branch.head {
        Head::Detached(_) => paint(out, &palette.no_branch, NO_BRANCH),
        Head::Branch { name, .. } if name.is_empty() => {}
        Head::Branch { name, id } => {
            if id.is_none() {
                paint(out, &palette.header, b"No commits yet on ");
            }
            if is_before_name {
                return;
            }
            if branch.head.is_lost() {
                paint(out, &palette.no_branch, NO_BRANCH);
                return;
            }
            let reference = name.as_ref();
            let name = branch_name(reference).unwrap_or(reference);
            paint(out, &palette.local_branch, name);
            if let Some(upstream) = &branch.upstream {
                append_upstream(out, upstream, presentation);
            }
        }
    }
}

fn append_upstream(out: &mut Vec<u8>, upstream: &Upstream, presentation: &Presentation) {
    let palette = &presentation.palette;
    let header = |out: &mut Vec<u8>, text: &str| paint(out, &palette.header, text.as_bytes());
    let ours = |out: &mut Vec<u8>, count: usize| {
        paint(out, &palette.local_branch, count.to_string().as_bytes());
    };
    let theirs = |out: &mut Vec<u8>, count: usize| {
        paint(out, &palette.remote_branch, count.to_string().as_bytes());
    };
    header(out, "...");
    paint(out, &palette.remote_branch, &upstream.short_name);
    // Like git, paint each part separately.
    match upstream.distance {
        Distance::Equal
        | Distance::Counted {
            ahead: 0,
            behind: 0,
        } => return,
        Distance::Gone => {
            header(out, " [");
            header(out, "gone");
        }
        Distance::Different => {
            header(out, " [");
            header(out, "different");
        }
        Distance::Counted { ahead: 0, behind } => {
            header(out, " [");
            header(out, "behind ");
            theirs(out, behind);
        }
        Distance::Counted { ahead, behind } => {
            header(out, " [");
            header(out, "ahead ");
            ours(out, ahead);
            if behind != 0 {
                header(out, ", behind ");
                theirs(out, behind);
            }
        }
    }
    header(out, "]");
}

fn unstaged_letter(change: &TrackedChange, submodules: SubmoduleLetter) -> Option<u8> {
    let plain = change.unstaged?.letter();
    if submodules == SubmoduleLetter::Plain || !change.worktree_mode.is_gitlink() {
        return Some(plain);
    }
    let state = change.submodule.unwrap_or_default();
    Some(if state.new_commits {
        b'M'
    } else if state.modified {
        b'm'
    } else if state.untracked {
        b'?'
    } else {
        plain
    })
}

fn append_tracked(
    out: &mut Vec<u8>,
    path: &BString,
    change: &TrackedChange,
    unstaged: Option<u8>,
    presentation: &Presentation,
) {
    let palette = &presentation.palette;
    let sides = [
        (change.staged.map(ChangeKind::letter), &palette.updated),
        (unstaged, &palette.changed),
    ];
    for (letter, color) in sides {
        match letter {
            Some(letter) => paint(out, color, &[letter]),
            None => out.push(b' '),
        }
    }
    out.push(b' ');
    let path: &BStr = path.as_ref();
    let source = change
        .staged_source
        .as_ref()
        .or(change.unstaged_source.as_ref())
        .map(|source| BStr::new(&source.path));
    match source {
        Some(source) if presentation.nul_terminated => {
            out.extend_from_slice(path);
            out.push(0);
            out.extend_from_slice(source);
        }
        Some(source) => {
            presentation.append_path(out, source, true);
            out.extend_from_slice(b" -> ");
            presentation.append_path(out, path, true);
        }
        None => presentation.append_path(out, path, true),
    }
    out.push(presentation.terminator());
}

fn append_unmerged(
    out: &mut Vec<u8>,
    path: &BString,
    change: &UnmergedChange,
    presentation: &Presentation,
) {
    paint(out, &presentation.palette.unmerged, &change.letters());
    append_last(out, path, presentation);
}

fn append_other(out: &mut Vec<u8>, sign: &[u8], path: &BString, presentation: &Presentation) {
    paint(out, &presentation.palette.untracked, sign);
    append_last(out, path, presentation);
}

fn append_last(out: &mut Vec<u8>, path: &BString, presentation: &Presentation) {
    out.push(b' ');
    presentation.append_path(out, path.as_ref(), true);
    out.push(presentation.terminator());
}

#[cfg(test)]
mod tests {
    use bstr::ByteSlice;

    use super::*;
    use crate::output::color::Palette;

    /// Older versions of git do not colour these entries.
    #[test]
    fn all_signs_are_coloured_before_nul_too() {
        let status = Status {
            untracked: vec!["u".into()],
            ignored: vec!["i".into()],
            ..Status::default()
        };
        let presentation = Presentation {
            nul_terminated: true,
            palette: Palette::default(),
            ..Presentation::default()
        };
        assert_eq!(
            write(&status, &presentation).as_bstr(),
            "\x1b[31m??\x1b[m u\0\x1b[31m!!\x1b[m i\0"
        );
    }
}
