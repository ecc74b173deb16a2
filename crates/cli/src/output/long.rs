//! The long format: the status in sentences, with hints on what to do next (git-status(1)).

mod branch;
pub(crate) mod columns;
mod lines;
mod other;
pub(crate) mod presentation;
mod sections;
mod state;
mod summary;
mod width;

use bstr::BStr;
use vigil_engine::status::{Change, LongStatus, Status};
use vigil_git::refs::Head;
use vigil_model::change::ChangeKind;

use self::lines::Lines;
use super::presentation::Presentation;

/// A summary of the status, on which the wording depends.
pub(crate) struct Summary {
    /// There is no commit yet.
    pub is_initial: bool,
    /// There is something to commit.
    pub is_committable: bool,
    /// The working tree differs from the index.
    pub is_dirty: bool,
    /// Paths are in conflict.
    pub has_conflicts: bool,
}

impl Summary {
    /// Summarizes `status`.
    pub(crate) fn of(status: &Status) -> Self {
        let is_initial = status
            .branch
            .as_ref()
            .is_some_and(|branch| matches!(branch.head, Head::Branch { id: None, .. }));
        let mut this = Self {
            is_initial,
            is_committable: false,
            is_dirty: false,
            has_conflicts: false,
        };
        for (_, change) in &status.changes {
            match change {
                Change::Tracked(change) => {
                    this.is_committable |= listed(change.staged).is_some();
                    this.is_dirty |= change.unstaged.is_some();
                }
                Change::Unmerged(change) => {
                    this.has_conflicts = true;
                    this.is_dirty |= change.is_observed;
                }
            }
        }
        let is_merge = status
            .long
            .as_ref()
            .is_some_and(|long| long.under_way.is_merge);
        // Before the first commit, git counts conflicts as something to commit.
        this.is_committable |= this.has_conflicts && is_initial;
        this.is_committable |= is_merge && !this.has_conflicts;
        this
    }
}

/// What the writers of all parts share.
struct Writer<'a> {
    status: &'a Status,
    long: &'a LongStatus,
    gist: Summary,
    presentation: &'a Presentation,
    lines: Lines<'a>,
}

/// Writes `status`.
pub(super) fn write(status: &Status, presentation: &Presentation) -> Vec<u8> {
    let additions = &presentation.long.additions;
    let nothing = LongStatus::default();
    let mut writer = Writer {
        status,
        long: status.long.as_ref().unwrap_or(&nothing),
        gist: Summary::of(status),
        presentation,
        lines: Lines::new(presentation.long.comment.as_ref().map(BStr::new)),
    };
    writer.branch();
    if status.cut_short.is_some() {
        return writer.lines.out;
    }
    writer.state();
    if writer.gist.is_initial {
        writer.blank_line();
        writer.header_line("No commits yet");
        writer.blank_line();
    }
    writer.staged();
    writer.unmerged();
    writer.unstaged();
    for commits in &additions.submodules {
        writer.submodule_commits(commits);
    }
    writer.others();
    if let Some(patches) = &additions.patches {
        writer.patches(patches);
    }
    if additions.code() == 0 {
        writer.summary();
    }
    writer.lines.out
}

impl Writer<'_> {
    fn hints(&self) -> bool {
        self.presentation.long.hints
    }

    /// Writes a line in the colour of headers.
    fn header_line(&mut self, text: impl AsRef<[u8]>) {
        self.lines
            .line(&self.presentation.palette.header, text.as_ref());
    }

    /// Writes a line in the colour of headers, if hints are wanted.
    fn hint(&mut self, text: impl AsRef<[u8]>) {
        if self.hints() {
            self.header_line(text);
        }
    }

    /// Writes an empty line in the colour of headers.
    fn blank_line(&mut self) {
        self.header_line("");
    }

    /// Writes a line without colour.
    fn plain_line(&mut self, text: impl AsRef<[u8]>) {
        self.lines.line(b"", text.as_ref());
    }
}

/// The changes between index and working tree that the long format lists. Conflicts are listed elsewhere.
pub(crate) fn unstaged_kinds(status: &Status) -> impl Iterator<Item = ChangeKind> {
    status
        .changes
        .iter()
        .filter_map(|(_, change)| match change {
            Change::Tracked(change) => listed(change.unstaged),
            Change::Unmerged(change) => change.merged,
        })
}

/// Returns a change if the long format lists it. Such a path cannot also be in conflict.
fn listed(kind: Option<ChangeKind>) -> Option<ChangeKind> {
    kind.filter(|kind| *kind != ChangeKind::Unmerged)
}
