//! What a scan found.

use bstr::BString;
use vigil_model::mode::FileMode;

use super::watch::Unheard;

/// What a tracked path looks like on disk, where it is not as recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Observed {
    /// Nothing is there.
    Missing,
    /// A file, link or directory that would be recorded with this mode.
    Present(FileMode),
    /// The directory of a nested repository, which has yet to be asked for its state.
    Nested,
}

/// What a scan found. Lists are in byte order.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    /// Records that differ, by number; of a path in conflict the first side, whether it differs or not.
    pub tracked: Vec<(u32, Observed)>,
    /// Untracked paths; directories end in `/`.
    pub untracked: Vec<BString>,
    /// Ignored paths; directories end in `/`.
    pub ignored: Vec<BString>,
    /// Directories that could not be listed; a directory that paths asked for have in common may be missing.
    pub unlisted: Vec<Unseen>,
    /// What the system says of ignore rules that could not be read.
    pub warnings: Vec<BString>,
    /// The recorded files that could not be looked at.
    pub unknown: Vec<Unseen>,
    /// What is to be looked at again for each question, where there is one who hears of changes.
    pub unheard: Unheard,
}

/// A path at which the kernel let nothing be seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unseen {
    /// The path, from the top; empty for that itself.
    pub path: BString,
    /// What the kernel said.
    pub reason: vigil_linux::Errno,
}

impl Unseen {
    pub(super) fn of(path: &bstr::BStr, reason: vigil_linux::Errno) -> Self {
        let path = path.to_owned();
        Self { path, reason }
    }
}
