//! The walk over a working copy, in parallel, one task per directory: how the disk differs from what is recorded, and what
//! else is there.
//!
//! A directory is opened from its parent's descriptor, and listed only if no remembered listing still holds. Each recorded file
//! is looked at by name from its directory's descriptor. A small directory that need not be listed is looked at from the one
//! above, without being opened.
//!
//! May import `stamp`, `model` and `linux`. It knows no version control system: it asks a [`System`] what is ignored, what
//! the facts of an entry prove, and what a nested repository is.

mod cache;
mod differences;
mod entries;
mod filter;
mod findings;
mod focus;
mod folded_names;
mod from_above;
mod ignoring;
mod kept_findings;
mod non_tracked;
mod open;
mod pool;
mod position;
pub mod progress;
pub mod question;
mod system;
#[cfg(test)]
mod tests;
mod timing;
mod tracked_files;
mod untracked;
mod walk;
mod watch;

use std::path::Path;

use bstr::BString;
use vigil_linux::errno;
use vigil_model::raw_text::{raw, raw_path};
use vigil_model::tracked::Tracked;

use crate::progress::Progress;
pub use cache::{ScanMemory, SeenBlocks};
pub use differences::{Disagreement, PathFinding};
pub use filter::{DirMatch, PathFilter};
pub use findings::{Findings, Observed, RulesWarning, Unseen};
pub use focus::Focus;
pub use kept_findings::KeptFindings;
pub use system::{
    ContentError, Difference, IgnoreScope, ListedDirectory, NOT_CONVERTED, RulesFile, System,
};
pub use timing::Timing;
pub use watch::{Nested, SilentPaths, Watch};

use vigil_model::request::{IgnoredMode, UntrackedMode};

/// One scan: the question, and all that is needed to answer it.
pub struct Scan<'a> {
    /// The top of the working tree.
    pub work_tree: &'a Path,
    /// The tracked files.
    pub tracked_files: &'a Tracked,
    /// Whether names that differ only in case are the same.
    pub ignore_case: bool,
    /// Whether to look at files that are left out of the working tree but present.
    pub looks_at_present_skipped_files: bool,
    /// Whether every directory that is a single entry of a sparse index is known to be absent.
    pub lacks_sparse_directories: bool,
    /// The version control system of the working copy.
    pub system: &'a dyn System,
    /// Selects paths; `None` for all.
    pub filter: Option<&'a dyn PathFilter>,
    /// The part of the working tree to look at; `None` for all.
    pub focus: Option<&'a Focus>,
    /// Whether to look at tracked files.
    pub tracked: bool,
    /// Which untracked files to look for.
    pub untracked: UntrackedMode,
    /// Which ignored files to look for; none if untracked files are not looked for.
    pub ignored: IgnoredMode,
    /// How many changed tracked files are enough to stop looking for more.
    pub stop_after_tracked: usize,
    /// How many untracked paths are enough to stop looking for more.
    pub stop_after_untracked: usize,
    /// The maximum number of threads; `None` for as many as there is work for.
    pub threads_max: Option<usize>,
    /// The memory of earlier scans.
    pub memory: Option<&'a ScanMemory>,
    /// Watches each folder before it is looked at. Only with [`Self::memory`], and without a filter.
    pub watch: Option<&'a dyn Watch>,
    /// Counts the tracked files that were looked at.
    pub progress: Option<&'a Progress>,
    /// Adds up how the time is spent.
    pub timing: Option<&'a Timing>,
}

impl Scan<'_> {
    /// The number of the question about untracked and ignored files. A remembered listing answers only the question it was
    /// made for.
    fn question(&self) -> u32 {
        question::number(self.untracked, self.ignored)
    }
}

/// Why a scan ended without an answer.
#[derive(Debug, thiserror::Error)]
pub enum ScanError {
    /// The top of the working tree cannot be opened.
    #[error("cannot open the working tree '{}': {}", raw_path(path), errno::text(*source))]
    WorkTree {
        /// The top of the working tree.
        path: std::path::PathBuf,
        /// The system's error.
        source: vigil_linux::Errno,
    },
    /// A directory cannot be opened, for a reason that says nothing about the files in it.
    #[error("cannot open directory '{path}': {}", errno::text(*source), path = raw(path))]
    Directory {
        /// The directory, from the top of the working tree.
        path: BString,
        /// The system's error.
        source: vigil_linux::Errno,
    },
    /// Ignore rules cannot be read, for a reason that says nothing about them; the text is the system's.
    #[error("{}", raw(.0))]
    Rules(BString),
    /// Contents could not be compared.
    #[error(transparent)]
    Content(#[from] ContentError),
}

impl ScanError {
    /// Why `findings` lack a directory, or the ignore rules in one, if that is only because this process has too many files open,
    /// or no memory. A client of a long-lived process may have more.
    pub fn beyond_means(findings: &Findings) -> Option<Self> {
        let mut unlisted = findings.unlisted.iter();
        let unlisted = unlisted.find(|unseen| errno::is_shortage(unseen.reason));
        let mut warnings = findings.warnings.iter();
        let warning = warnings.find(|warning| warning.is_of_shortage);
        let of_rules = warning.map(|warning| Self::Rules(warning.text.clone()));
        unlisted.map(Self::from).or(of_rules)
    }
}

impl From<&Unseen> for ScanError {
    fn from(unseen: &Unseen) -> Self {
        Self::Directory {
            path: unseen.path.clone(),
            source: unseen.reason,
        }
    }
}
