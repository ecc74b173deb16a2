//! Compares index and working tree, in parallel, one task per directory.
//!
//! A directory is opened from its parent's descriptor and listed only where its memory cannot answer; each
//! tracked file is looked at by name from its directory's descriptor. What stands beside the tracked files is
//! judged as git's `dir.c` judges it for `git status`.

mod beside;
mod cache;
mod entries;
mod filter;
mod focus;
mod icase;
mod open;
mod pool;
pub(crate) mod question;
mod rules;
mod spot;
mod surroundings;
mod untracked;
mod walk;

use std::path::Path;
use std::sync::Arc;

use bstr::BString;
use vigil_linux::errno;
use vigil_model::mode::FileMode;
use vigil_model::timestamp::Timestamp;
use vigil_model::tracked::Tracked;
use vigil_model::verdict::StatRules;

use crate::progress::Progress;
pub use cache::{ScanMemory, SeenBlocks};
pub(crate) use entries::observed;
pub use filter::{DirMatch, PathFilter};
pub use focus::Focus;
pub(crate) use rules::{read_ignore_file, recorded_rules_hold};
pub use surroundings::{ContentError, Surroundings};
use vigil_model::request::{IgnoredMode, UntrackedMode};
use vigil_rules::ignore::IgnoreRules;

/// One scan: what is asked, and all that is needed to answer.
pub struct Scan<'a> {
    /// The top of the working tree.
    pub work_tree: &'a Path,
    /// The tracked files.
    pub tracked_files: &'a Tracked,
    /// The mtime of the index file.
    pub index_written_at: Timestamp,
    /// Which stat facts count.
    pub stat_rules: StatRules,
    /// `core.ignoreCase`.
    pub ignore_case: bool,
    /// Whether a file that the sparse checkout leaves out, but that is there, is looked at nevertheless.
    pub looks_at_present_skipped_files: bool,
    /// Whether it is known that no directory is there that is one entry of a sparse index.
    pub lacks_sparse_directories: bool,
    /// What the scan asks of the repository.
    pub surroundings: &'a dyn Surroundings,
    /// The ignore rules that hold for the whole working tree.
    pub ignore_rules: Arc<IgnoreRules>,
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
    /// Where it is counted how many tracked files were looked at.
    pub progress: Option<&'a Progress>,
}

impl Scan<'_> {
    /// The number of the question about untracked and ignored files: remembered listings answer the one that they were
    /// made for.
    fn question(&self) -> u32 {
        question::number(self.untracked, self.ignored)
    }
}

/// What a tracked path looks like on disk, where it is not as recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Observed {
    /// Nothing is there.
    Missing,
    /// A file, link or directory that would be recorded with this mode.
    Present(FileMode),
    /// The directory of a submodule, which has yet to be asked for its state.
    Submodule,
}

impl Observed {
    /// The mode that would be recorded; that of nothing where nothing is there.
    pub fn mode(self) -> FileMode {
        match self {
            Self::Missing => FileMode::NONE,
            Self::Present(mode) => mode,
            Self::Submodule => FileMode::GITLINK,
        }
    }
}

/// What a scan found. Lists are in byte order.
#[derive(Debug, Default)]
pub struct Findings {
    /// Index entries that differ, by number; of unmerged paths the first stage, whether it differs or not.
    pub tracked: Vec<(u32, Observed)>,
    /// Untracked paths; directories end in `/`.
    pub untracked: Vec<BString>,
    /// Ignored paths; directories end in `/`.
    pub ignored: Vec<BString>,
    /// What could not be looked at, as git warns of it, without "warning: ".
    pub warnings: Vec<BString>,
    /// The tracked paths that could not be looked at, each line whole.
    pub messages: Vec<BString>,
}

/// Why a scan ended without an answer.
#[derive(Debug, thiserror::Error)]
pub enum ScanError {
    /// The top of the working tree cannot be opened.
    #[error("cannot open the working tree '{}': {}", path.display(), errno::text(*source))]
    WorkTree {
        /// The top of the working tree.
        path: std::path::PathBuf,
        /// What the system said.
        source: vigil_linux::Errno,
    },
    /// A directory with tracked files cannot be looked into, for a reason that says nothing of those files.
    #[error("cannot open directory '{path}': {}", errno::text(*source))]
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
