//! What a scan remembers of each directory, so that the next one need not list it again.

use std::sync::Arc;

use bstr::BString;
use parking_lot::Mutex;

use super::tree::DirId;
use crate::git::ignore::IgnoreRules;
use crate::stamp::Stamp;

/// A file whose contents were compared.
#[derive(Clone, Copy, Debug)]
pub(super) struct Compared {
    pub(super) entry: u32,
    pub(super) stamp: Stamp,
    /// How they were converted; nothing for a symbolic link.
    pub(super) conversion: Option<u64>,
    pub(super) is_unchanged: bool,
}

/// A file or directory below an untracked directory, on which the verdict on that directory rests.
#[derive(Clone, Debug)]
pub(super) struct Witness {
    /// The path from the tracked directory above, without a slash at the end.
    pub(super) path: BString,
    pub(super) stamp: Stamp,
}

/// What one tracked directory held beside its tracked files.
#[derive(Clone, Debug, Default)]
pub(super) struct Others {
    /// Untracked paths from the top; directories end in `/`.
    pub(super) untracked: Vec<BString>,
    /// Ignored paths from the top; directories end in `/`.
    pub(super) ignored: Vec<BString>,
    /// Tracked subdirectories that an ignore rule matches.
    pub(super) excluded_subdirs: Vec<DirId>,
    /// What else must be unchanged for this to hold.
    pub(super) witnesses: Vec<Witness>,
    /// Whether the directory has a file `.gitignore`, and its state.
    pub(super) gitignore: Option<Stamp>,
}

/// A listing that may be used again.
#[derive(Debug)]
pub(super) struct Listed {
    pub(super) stamp: Stamp,
    /// The rules that were in force, and whether the directory was excluded by them.
    pub(super) rules_above: Arc<IgnoreRules>,
    pub(super) is_excluded: bool,
    /// The rules with those of the directory's own `.gitignore`.
    pub(super) rules: Arc<IgnoreRules>,
    pub(super) others: Others,
}

/// What is remembered of one tracked directory.
#[derive(Debug, Default)]
pub(super) struct DirMemory {
    pub(super) listed: Option<Listed>,
    /// In order of entries.
    pub(super) compared: Vec<Compared>,
}

/// The memory of a working copy's scans. It belongs to one index and one set of questions: a new index, new
/// configuration or another kind of question needs a new one.
#[derive(Debug, Default)]
pub struct ScanMemory {
    dirs: Vec<Mutex<DirMemory>>,
}

impl ScanMemory {
    /// An empty memory for `dirs` directories.
    pub fn new(dirs: usize) -> Self {
        Self {
            dirs: std::iter::repeat_with(Mutex::default).take(dirs).collect(),
        }
    }

    pub(super) fn dir(&self, id: DirId) -> Option<&Mutex<DirMemory>> {
        self.dirs.get(id as usize)
    }
}
