//! What a scan found.

use bstr::BString;
use vigil_linux::Errno;
use vigil_model::mode::FileMode;

use super::watch::SilentPaths;

/// What a tracked path looks like on disk if it is not as recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Observed {
    /// Nothing is there.
    Missing,
    /// A file, symbolic link or directory that would be recorded with this mode.
    Present(FileMode),
    /// The directory of a nested repository, whose state has yet to be asked for.
    Nested,
}

/// What a scan found. Lists are in byte order.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    /// Entries that differ, by number. Of a path in conflict, its first side, whether it differs or not.
    pub tracked: Vec<(u32, Observed)>,
    /// Untracked paths; directories end in `/`.
    pub untracked: Vec<BString>,
    /// Ignored paths; directories end in `/`.
    pub ignored: Vec<BString>,
    /// Directories that could not be listed, and the filter's common directory if it does not exist.
    pub unlisted: Vec<Unseen>,
    /// The system's warnings about ignore rules that could not be read.
    pub warnings: Vec<RulesWarning>,
    /// Tracked files that could not be looked at.
    pub unknown: Vec<Unseen>,
    /// What must be looked at again for each question even if a watch reports changes.
    pub silent_paths: SilentPaths,
}

/// A warning about the ignore rules of a directory.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RulesWarning {
    /// The directory's path from the top; empty for the top itself.
    pub directory: BString,
    /// The system's words.
    pub text: BString,
    /// Whether the rules could not be read only because this process has too many files open, or no memory.
    pub is_of_shortage: bool,
}

/// A path that the kernel did not let us see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unseen {
    /// The path from the top; empty for the top itself.
    pub path: BString,
    /// The kernel's error.
    pub reason: Errno,
}

impl Unseen {
    pub(super) fn of(path: &bstr::BStr, reason: Errno) -> Self {
        let path = path.to_owned();
        Self { path, reason }
    }
}
