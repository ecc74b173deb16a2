//! What a scan remembers of each directory, so that the next one need not list it again.

use std::sync::Arc;

use bstr::BString;
use parking_lot::Mutex;
use vigil_model::tracked::DirNumber;

use crate::git::ignore::IgnoreRules;
use crate::stamp::Stamp;

/// A file whose contents were compared.
#[derive(Clone, Copy, Debug)]
pub(super) struct Compared {
    /// Its place among the files of its directory.
    pub(super) at: usize,
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
    pub(super) excluded_subdirs: Vec<DirNumber>,
    /// What else must be unchanged for this to hold.
    pub(super) witnesses: Vec<Witness>,
    /// Whether the directory has a file `.gitignore`, and its state.
    pub(super) gitignore: Option<Stamp>,
}

impl Others {
    fn is_empty(&self) -> bool {
        self.untracked.is_empty()
            && self.ignored.is_empty()
            && self.excluded_subdirs.is_empty()
            && self.witnesses.is_empty()
            && self.gitignore.is_none()
    }
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
    /// Nothing, for most directories.
    others: Option<Box<Others>>,
}

impl Listed {
    pub(super) fn new(
        stamp: Stamp,
        rules_above: &Arc<IgnoreRules>,
        is_excluded: bool,
        rules: &Arc<IgnoreRules>,
        others: Others,
    ) -> Self {
        Self {
            stamp,
            rules_above: rules_above.clone(),
            is_excluded,
            rules: rules.clone(),
            others: (!others.is_empty()).then(|| Box::new(others)),
        }
    }

    pub(super) fn others(&self) -> &Others {
        static NOTHING: Others = Others {
            untracked: Vec::new(),
            ignored: Vec::new(),
            excluded_subdirs: Vec::new(),
            witnesses: Vec::new(),
            gitignore: None,
        };
        self.others.as_deref().unwrap_or(&NOTHING)
    }
}

/// What is remembered of one tracked directory.
#[derive(Debug, Default)]
pub(super) struct DirMemory {
    pub(super) listed: Option<Listed>,
    /// In order of files.
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

    pub(super) fn dir(&self, number: DirNumber) -> Option<&Mutex<DirMemory>> {
        self.dirs.get(number as usize)
    }
}
