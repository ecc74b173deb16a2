//! The walk over a working copy, in parallel, one task per directory: how the disk differs from what is recorded, and what is
//! there beside that.
//!
//! A directory is opened from its parent's descriptor and listed only where its memory cannot answer; each
//! recorded file is looked at by name from its directory's descriptor.
//!
//! May import `stamp`, `model` and `linux`. It knows no system: what is ignored, what the facts of a record prove, and what a
//! nested repository is, it asks a [`System`].

mod cache;
mod differences;
mod entries;
mod filter;
mod findings;
mod focus;
mod folded_names;
mod known;
mod open;
mod others;
mod pool;
mod position;
pub mod progress;
pub mod question;
mod system;
#[cfg(test)]
mod tests;
mod timing;
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
pub use differences::{Disagreement, Saw};
pub use filter::{DirMatch, PathFilter};
pub use findings::{Findings, Observed, Unseen};
pub use focus::Focus;
pub use known::Known;
pub use system::{
    ContentError, Difference, IgnoreScope, ListedDirectory, NOT_CONVERTED, RulesFile, System,
};
pub use timing::Timing;
pub use watch::{Unheard, Watch};

use vigil_model::request::{IgnoredMode, UntrackedMode};

/// One scan: what is asked, and all that is needed to answer.
pub struct Scan<'a> {
    /// The top of the working tree.
    pub work_tree: &'a Path,
    /// The tracked files.
    pub tracked_files: &'a Tracked,
    /// Whether names that differ in the case of letters are the same.
    pub ignore_case: bool,
    /// Whether a file that is not meant to be there, but is, is looked at nevertheless.
    pub looks_at_present_skipped_files: bool,
    /// Whether it is known that no directory is there that one record stands for.
    pub lacks_sparse_directories: bool,
    /// Whose working copy it is.
    pub system: &'a dyn System,
    /// The paths that are asked for; `None` for all.
    pub filter: Option<&'a dyn PathFilter>,
    /// The part of the working tree that is looked at; `None` for all.
    pub focus: Option<&'a Focus>,
    /// Whether tracked files are looked at.
    pub tracked: bool,
    /// Which untracked files are looked for.
    pub untracked: UntrackedMode,
    /// Which ignored files are looked for; nothing is, where untracked files are not.
    pub ignored: IgnoredMode,
    /// How many changed tracked files are enough to stop looking for more.
    pub tracked_enough: usize,
    /// How many untracked paths are enough to stop looking for more.
    pub untracked_enough: usize,
    /// The most threads; `None` for as many as the work waits for.
    pub threads_max: Option<usize>,
    /// What earlier scans remember.
    pub memory: Option<&'a ScanMemory>,
    /// Who hears of changes from now on in each folder that is looked at. Only with [`Self::memory`], and without a filter.
    pub watch: Option<&'a dyn Watch>,
    /// Where it is counted how many tracked files were looked at.
    pub progress: Option<&'a Progress>,
    /// Where it is added up how the time is spent.
    pub timing: Option<&'a Timing>,
}

impl Scan<'_> {
    /// The number of the question about untracked and ignored files: remembered listings answer the one that they were
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
        /// What the system said.
        source: vigil_linux::Errno,
    },
    /// A directory with tracked files cannot be looked into, for a reason that says nothing of those files.
    #[error("cannot open directory '{path}': {}", errno::text(*source), path = raw(path))]
    Directory {
        /// The directory, from the top of the working tree.
        path: BString,
        /// What the system said.
        source: vigil_linux::Errno,
    },
    /// Contents could not be compared.
    #[error(transparent)]
    Content(#[from] ContentError),
}
