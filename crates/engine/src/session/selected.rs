//! Selecting what pathspecs ask for from what is known about the whole working tree.

use std::path::Path;

use bstr::{BString, ByteSlice};
use vigil_linux::stat::lstat_path;
use vigil_model::tracked::{ByNumber, Tracked};
use vigil_rules::pathspec::{Pathspec, Relation};
use vigil_scan::{Findings, PathFilter};

use super::path_question::PathQuestion;

/// Selects what `pathspec` asks for from `all`, the findings in the working tree `top`. `None` if only a scan can tell: git
/// shows a directory without tracked files by other names if it is not asked for as a whole, and starts elsewhere if it
/// `looks_for_untracked` files.
pub(super) fn select_from_findings(
    all: &Findings,
    (top, tracked): (&Path, &Tracked),
    pathspec: &Pathspec,
    question: &PathQuestion<'_>,
    looks_for_untracked: bool,
) -> Option<Findings> {
    // Which of these git meets depends on where it starts.
    if !(all.unlisted.is_empty() && all.unknown.is_empty() && all.warnings.is_empty()) {
        return None;
    }
    // If git cannot open the directory in which it starts, it says so.
    if looks_for_untracked && !begins_in_tracked(top, tracked, pathspec) {
        return None;
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
    match pathspec.directory_relation_with(directory.as_bstr(), question) {
        Relation::Outside if !pathspec.may_match_at_or_below(directory.as_bstr()) => Some(false),
        Relation::All => Some(true),
        Relation::Outside | Relation::LeadsInside | Relation::Itself => None,
    }
}

#[cfg(test)]
mod tests;
