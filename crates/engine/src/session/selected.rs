//! Selecting what pathspecs ask for from what is known about the whole working tree.

use std::ops::ControlFlow;
use std::path::Path;

use bstr::{BStr, BString, ByteSlice};
use vigil_linux::stat::lstat_path;
use vigil_model::path::join;
use vigil_model::request::UntrackedMode;
use vigil_model::tracked::{ByNumber, Tracked, TrackedFile};
use vigil_rules::pathspec::{Pathspec, Relation};
use vigil_scan::{Findings, PathFilter};

use super::looks::Looks;
use super::path_question::PathQuestion;

/// Selects what `pathspec` asks for from `all`, the findings in the working tree `top`. `None` if only a scan can tell: git
/// shows a directory without tracked files by other names if it is not asked for as a whole, and starts elsewhere if it looks for
/// `untracked` files. `looks_at_skipped` tells whether the scan looked at files that are left out.
pub(super) fn select_from_findings(
    all: &Findings,
    (top, tracked): (&Path, &Tracked),
    pathspec: &Pathspec,
    question: &PathQuestion<'_>,
    untracked: UntrackedMode,
    looks_at_skipped: bool,
) -> Option<Findings> {
    // Which of these git meets depends on where it starts.
    if !(all.unlisted.is_empty() && all.unknown.is_empty() && all.warnings.is_empty()) {
        return None;
    }
    // If git cannot open the directory in which it starts, it says so.
    if untracked != UntrackedMode::No && !begins_in_tracked(top, tracked, pathspec) {
        return None;
    }
    if untracked == UntrackedMode::Normal {
        let mut looks = Looks::new(top);
        let is_in_part =
            |path: &BStr| is_directory_asked_for_in_part(path, &mut looks, pathspec, question);
        if has_in_place_of_file(all, tracked, looks_at_skipped, is_in_part) {
            return None;
        }
    }
    let mut entries = ByNumber::new(tracked);
    let tracked = all.tracked.iter().filter(|(number, _)| {
        entries.get(*number).is_some_and(|entry| {
            let (path, is_nested) = (entry.path.as_bstr(), entry.mode.is_gitlink());
            question.matches(path, is_nested)
                || entry.flags.stage() > 0 && question.matches(path, !is_nested)
        })
    });
    let tracked = tracked.copied().collect();
    let others = |paths: &[BString]| {
        let mut asked_for = Vec::new();
        for path in paths {
            if is_asked_for(path, pathspec, question)? {
                asked_for.push(path.clone());
            }
        }
        Some(asked_for)
    };
    Some(Findings {
        tracked,
        untracked: others(&all.untracked)?,
        ignored: others(&all.ignored)?,
        ..Findings::default()
    })
}

/// Whether `is_meant` holds for the path of a tracked file that may have a directory in its place. git does not show such a
/// directory as a whole, but shows what is asked for in it.
fn has_in_place_of_file(
    all: &Findings,
    tracked: &Tracked,
    looks_at_skipped: bool,
    mut is_meant: impl FnMut(&BStr) -> bool,
) -> bool {
    let mut entries = ByNumber::new(tracked);
    let mut silent_files = all.silent_paths.files.iter();
    let is_looked_at = silent_files.any(|number| {
        entries
            .get(*number)
            .is_some_and(|entry| !entry.mode.is_gitlink() && is_meant(entry.path.as_ref()))
    });
    // The scan did not look at these.
    let is_passed_over =
        |file: &TrackedFile<'_>| file.is_assume_valid() || file.is_left_out() && !looks_at_skipped;
    is_looked_at
        || tracked
            .visit(
                |sums| sums.assume_unchanged > 0 || sums.skip_worktree > 0 && !looks_at_skipped,
                |_, path, file| match is_passed_over(file) && !file.is_nested() && is_meant(path) {
                    true => ControlFlow::Break(()),
                    false => ControlFlow::Continue(()),
                },
            )
            .is_break()
}

/// Whether there is a directory at `path` of which a part may be asked for.
fn is_directory_asked_for_in_part(
    path: &BStr,
    looks: &mut Looks<'_>,
    pathspec: &Pathspec,
    question: &PathQuestion<'_>,
) -> bool {
    let directory = join(path, BStr::new(""));
    is_asked_for(&directory, pathspec, question).is_none()
        && looks.lstat(path).is_ok_and(|stat| stat.is_dir())
}

/// Whether the directory in which git starts to search exists and has tracked files, so that it is searched in any case.
fn begins_in_tracked(top: &Path, tracked: &Tracked, pathspec: &Pathspec) -> bool {
    let prefix = pathspec.common_prefix();
    let Some(directory) = prefix.strip_suffix(b"/") else {
        return true;
    };
    tracked.find_directory(directory.as_bstr()).is_some()
        && lstat_path(&top.join(directory.to_path_lossy())).is_ok_and(|stat| stat.is_dir())
}

/// Whether `path`, which is not tracked, is asked for; `None` if it is a directory of which only a part may be.
fn is_asked_for(path: &BString, pathspec: &Pathspec, question: &PathQuestion<'_>) -> Option<bool> {
    let Some(directory) = path.strip_suffix(b"/") else {
        return Some(question.matches(path.as_bstr(), false));
    };
    match pathspec.directory_relation(directory.as_bstr(), question) {
        Relation::Outside if !pathspec.may_match_at_or_below(directory.as_bstr()) => Some(false),
        Relation::All => Some(true),
        Relation::Outside | Relation::LeadsInside | Relation::Itself => None,
    }
}

#[cfg(test)]
mod tests;
