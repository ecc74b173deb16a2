//! Tracked files that differ: staged, in conflict, and not staged.

use bstr::BString;
use vigil_engine::status::{Change, SubmoduleState, UnmergedChange};
use vigil_model::change::ChangeKind;

use super::presentation::{Patches, SubmoduleCommits};
use super::{Writer, listed, unstaged_kinds};
use crate::reply::bytes;

/// The width of labels, including a space after the longest.
const LABEL_WIDTH: usize = 12;

/// The width of labels of conflicts.
const CONFLICT_WIDTH: usize = 17;

impl Writer<'_> {
    /// Writes the changes that will be committed.
    pub(super) fn staged(&mut self) {
        let mut has_header = false;
        for (path, change) in &self.status.changes {
            let Change::Tracked(change) = change else {
                continue;
            };
            let Some(kind) = listed(change.staged) else {
                continue;
            };
            if !has_header {
                has_header = true;
                self.header_line("Changes to be committed:");
                self.unstage_hint();
            }
            let source = change.staged_source.as_ref().map(|source| &source.path);
            self.change(true, kind, source, path, None);
        }
        if has_header {
            self.blank_line();
        }
    }

    /// Writes how to unstage changes, unless the next commit ends a merge or a cherry-pick.
    fn unstage_hint(&mut self) {
        if !self.long.under_way.is_plain_commit {
            return;
        }
        self.hint(if self.gist.is_initial {
            "  (use \"git rm --cached <file>...\" to unstage)"
        } else {
            "  (use \"git restore --staged <file>...\" to unstage)"
        });
    }

    /// Writes the paths in conflict.
    pub(super) fn unmerged(&mut self) {
        if !self.gist.has_conflicts {
            return;
        }
        self.header_line("Unmerged paths:");
        self.unstage_hint();
        self.resolution_hint();
        for (path, change) in &self.status.changes {
            let Change::Unmerged(change) = change else {
                continue;
            };
            let mut text = format!("{:CONFLICT_WIDTH$}", conflict_label(change)).into_bytes();
            self.presentation
                .append_path(&mut text, path.as_ref(), false);
            text.push(b'\n');
            let palette = &self.presentation.palette;
            self.lines.start(&palette.header, b"\t");
            self.lines.more(&palette.unmerged, &text);
        }
        self.blank_line();
    }

    fn resolution_hint(&mut self) {
        let mut both_deleted = false;
        let mut one_deleted = false;
        let mut not_deleted = false;
        for (_, change) in &self.status.changes {
            if let Change::Unmerged(change) = change {
                match &change.letters() {
                    b"DD" => both_deleted = true,
                    b"UD" | b"DU" => one_deleted = true,
                    _ => not_deleted = true,
                }
            }
        }
        self.hint(match (both_deleted, one_deleted, not_deleted) {
            (false, false, _) => "  (use \"git add <file>...\" to mark resolution)",
            (true, false, false) => "  (use \"git rm <file>...\" to mark resolution)",
            _ => "  (use \"git add/rm <file>...\" as appropriate to mark resolution)",
        });
    }

    /// Writes the changes that will not be committed.
    pub(super) fn unstaged(&mut self) {
        if unstaged_kinds(self.status).next().is_none() {
            return;
        }
        self.header_line("Changes not staged for commit:");
        let has_deleted = unstaged_kinds(self.status).any(|kind| kind == ChangeKind::Deleted);
        self.hint(if has_deleted {
            "  (use \"git add/rm <file>...\" to update what will be committed)"
        } else {
            "  (use \"git add <file>...\" to update what will be committed)"
        });
        self.hint("  (use \"git restore <file>...\" to discard changes in working directory)");
        if self.has_dirty_submodules() {
            self.hint("  (commit or discard the untracked or modified content in submodules)");
        }
        for (path, change) in &self.status.changes {
            let (kind, source, submodule) = match change {
                Change::Tracked(change) => {
                    let source = change.unstaged_source.as_ref();
                    (listed(change.unstaged), source, change.submodule)
                }
                Change::Unmerged(change) => (change.merged, None, change.submodule),
            };
            if let Some(kind) = kind {
                self.change(
                    false,
                    kind,
                    source.map(|source| &source.path),
                    path,
                    submodule,
                );
            }
        }
        self.blank_line();
    }

    fn has_dirty_submodules(&self) -> bool {
        self.status.changes.iter().any(|(_, change)| match change {
            Change::Tracked(change) if change.unstaged.is_some() => change
                .submodule
                .is_some_and(|state| state.modified || state.untracked),
            _ => false,
        })
    }

    fn change(
        &mut self,
        is_staged: bool,
        kind: ChangeKind,
        source: Option<&BString>,
        path: &BString,
        submodule: Option<SubmoduleState>,
    ) {
        let mut text = format!("{:LABEL_WIDTH$}", label(kind)).into_bytes();
        if let Some(source) = source {
            self.presentation
                .append_path(&mut text, source.as_ref(), false);
            text.extend_from_slice(b" -> ");
        }
        self.presentation
            .append_path(&mut text, path.as_ref(), false);
        let palette = &self.presentation.palette;
        let color = if is_staged {
            &palette.updated
        } else {
            &palette.changed
        };
        self.lines.start(&palette.header, b"\t");
        self.lines.more(color, &text);
        let notes = submodule_notes(submodule.unwrap_or_default());
        if !notes.is_empty() {
            let notes = format!(" ({})", notes.join(", "));
            self.lines.more(&palette.header, notes.as_bytes());
        }
        self.lines.out.push(b'\n');
    }

    /// Writes the commits of submodules.
    pub(super) fn submodule_commits(&mut self, commits: &SubmoduleCommits) {
        if commits.text.is_empty() {
            return;
        }
        let title = if commits.is_staged {
            "Submodule changes to be committed:\n\n"
        } else {
            "Submodules changed but not updated:\n\n"
        };
        self.lines.commented(&bytes![title, commits.text]);
    }

    /// Writes the patches of `--verbose`, each under a header if there may be two.
    pub(super) fn patches(&mut self, patches: &Patches) {
        if patches.has_header {
            self.header_line("Changes to be committed:");
        }
        self.lines.out.extend_from_slice(&patches.staged);
        let Some(unstaged) = &patches.unstaged else {
            return;
        };
        self.header_line("--------------------------------------------------");
        self.header_line("Changes not staged for commit:");
        self.lines.out.extend_from_slice(unstaged);
    }
}

fn label(kind: ChangeKind) -> &'static str {
    match kind {
        ChangeKind::Added => "new file:",
        ChangeKind::Copied => "copied:",
        ChangeKind::Deleted => "deleted:",
        ChangeKind::Modified => "modified:",
        ChangeKind::Renamed => "renamed:",
        ChangeKind::TypeChanged => "typechange:",
        ChangeKind::Unmerged => "unmerged:",
    }
}

fn conflict_label(change: &UnmergedChange) -> &'static str {
    match &change.letters() {
        b"DD" => "both deleted:",
        b"AU" => "added by us:",
        b"UD" => "deleted by them:",
        b"UA" => "added by them:",
        b"DU" => "deleted by us:",
        b"AA" => "both added:",
        _ => "both modified:",
    }
}

fn submodule_notes(state: SubmoduleState) -> Vec<&'static str> {
    [
        (state.new_commits, "new commits"),
        (state.modified, "modified content"),
        (state.untracked, "untracked content"),
    ]
    .into_iter()
    .filter_map(|(holds, note)| holds.then_some(note))
    .collect()
}
