//! Who hears of changes, and what cannot be heard of.

use std::os::fd::BorrowedFd;

use bstr::{BStr, BString};

/// Hears of changes in folders.
pub trait Watch: Sync {
    /// From now on hears of changes in the open folder at `path`, from the top; whether that is so. Asked before the folder is
    /// looked at.
    fn watch(&self, path: &BStr, folder: BorrowedFd<'_>) -> bool;
}

/// What may change without a word. Paths are from the top.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unheard {
    /// Recorded files, by number: those with other names, by which they may be written, and those whose contents no stamp
    /// stands for.
    pub files: Vec<u32>,
    /// Folders with recorded files, for what is in them beside these.
    pub folders: Vec<BString>,
    /// Folders, with all that is below.
    pub trees: Vec<BString>,
}

impl Unheard {
    /// Adds what else there is.
    pub(super) fn add(&mut self, other: Self) {
        self.files.extend(other.files);
        self.folders.extend(other.folders);
        self.trees.extend(other.trees);
    }

    /// Puts all in order, each once.
    pub(super) fn sort(&mut self) {
        self.files.sort_unstable();
        self.files.dedup();
        for paths in [&mut self.folders, &mut self.trees] {
            paths.sort_unstable();
            paths.dedup();
        }
    }
}
