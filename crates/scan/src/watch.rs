//! Watching folders, and what no watch can report.

use std::os::fd::BorrowedFd;

use bstr::{BStr, BString};

/// Watches folders for changes.
pub trait Watch: Sync {
    /// Starts watching the open folder at `path`, from the top, and returns whether that succeeded. Called before the folder
    /// is looked at.
    fn watch(&self, path: &BStr, folder: BorrowedFd<'_>) -> bool;
}

/// What may change without an event. Paths are from the top.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SilentPaths {
    /// Tracked files, by number: those with other hard links through which they may be written, and those whose contents no
    /// stamp vouches for.
    pub files: Vec<u32>,
    /// Folders with tracked files, for what else is in them.
    pub folders: Vec<BString>,
    /// Folders, with everything below.
    pub trees: Vec<BString>,
    /// Untracked folders that are repositories, or may become ones.
    pub nested: Vec<Nested>,
}

/// An untracked folder that is a repository, or may become one: that depends on what is inside, which is not watched.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Nested {
    /// The path of the folder, from the top.
    pub path: BString,
    /// The path of the folder with tracked files that it lies in.
    pub tracked_folder: BString,
}

impl SilentPaths {
    /// Appends `other`.
    pub(super) fn add(&mut self, other: Self) {
        self.files.extend(other.files);
        self.folders.extend(other.folders);
        self.trees.extend(other.trees);
        self.nested.extend(other.nested);
    }

    /// Sorts everything and removes duplicates.
    pub(super) fn sort(&mut self) {
        self.files.sort_unstable();
        self.files.dedup();
        for paths in [&mut self.folders, &mut self.trees] {
            paths.sort_unstable();
            paths.dedup();
        }
        self.nested.sort_unstable();
        self.nested.dedup();
    }
}
