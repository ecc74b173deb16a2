//! `--short`: two letters and a path (git-status(1), "Short Format").

use bstr::{BStr, BString};
use vigil_engine::status::{
    BranchStatus, Change, Distance, Head, Status, TrackedChange, UnmergedChange, Upstream,
};

use super::color::paint;
use super::{Presentation, branch_name};

/// The bytes of `status`.
pub fn write(status: &Status, presentation: &Presentation) -> Vec<u8> {
    let mut out = Vec::new();
    if let Some(branch) = &status.branch {
        append_branch(&mut out, branch, presentation);
    }
    for (path, change) in &status.changes {
        match change {
            Change::Tracked(change) => append_tracked(&mut out, path, change, presentation),
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

fn append_branch(out: &mut Vec<u8>, branch: &BranchStatus, presentation: &Presentation) {
    let palette = &presentation.palette;
    paint(out, &palette.header, b"## ");
    match &branch.head {
        Head::Detached(_) => paint(out, &palette.no_branch, b"HEAD (no branch)"),
        Head::Branch { name, id } => {
            if id.is_none() {
                paint(out, &palette.header, b"No commits yet on ");
            }
            let reference = name.as_ref();
            let name = branch_name(reference).unwrap_or(reference);
            paint(out, &palette.local_branch, name);
            if let Some(upstream) = &branch.upstream {
                append_upstream(out, upstream, presentation);
            }
        }
    }
    out.push(presentation.terminator());
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
    // Each part is painted on its own, as git does it.
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

fn append_tracked(
    out: &mut Vec<u8>,
    path: &BString,
    change: &TrackedChange,
    presentation: &Presentation,
) {
    let palette = &presentation.palette;
    let sides = [
        (change.staged, &palette.updated),
        (change.unstaged, &palette.changed),
    ];
    for (kind, color) in sides {
        match kind {
            Some(kind) => paint(out, color, &[kind.letter()]),
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
