//! The tracked files as a tree that mirrors the working tree: one block of bytes for each directory, with names, not
//! paths. A block is used where it lies, in memory or in a mapped file (docs/state-file.md gives the bytes).
//!
//! Entries are numbered in the order of git's index (path bytes, then stage). Blocks hold no absolute number, only how
//! many entries lie before what, so that a change in one directory touches its own block and those above.

mod budget;
mod builder;
mod difference;
mod in_order;
mod layout;
mod memory;
#[cfg(test)]
mod tests;
mod tree;

pub use self::budget::Budget;
pub use self::builder::{Builder, Put};
pub use self::difference::Moved;
pub use self::in_order::{InOrder, Member};
pub use self::layout::{
    DirectoryBlock, FileRecord, Files, FilesBlock, Header, SegmentRecord, SubdirRecord, TrackedFile,
};
pub use self::memory::InMemory;
pub use self::tree::{Block, Directory, Subdir, Tracked, TrackedEntry};

/// The number of a directory: the key of its block.
pub type DirNumber = u32;

/// The top of the working tree.
pub const ROOT: DirNumber = 0;

/// What of a tree is counted up to the top.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    /// Index entries, all stages.
    pub entries: u32,
    /// Entries that are not expected in the working tree.
    pub skip_worktree: u32,
    /// Entries that the user promised not to change.
    pub assume_unchanged: u32,
    /// Paths in conflict.
    pub conflicted: u32,
    /// Submodules, all stages.
    pub gitlinks: u32,
    /// Directories that are one entry (sparse index).
    pub sparse_directories: u32,
}

impl Sums {
    /// Counts `other` in.
    pub fn add(&mut self, other: &Self) {
        let pairs = [
            (&mut self.entries, other.entries),
            (&mut self.skip_worktree, other.skip_worktree),
            (&mut self.assume_unchanged, other.assume_unchanged),
            (&mut self.conflicted, other.conflicted),
            (&mut self.gitlinks, other.gitlinks),
            (&mut self.sparse_directories, other.sparse_directories),
        ];
        for (sum, more) in pairs {
            *sum = sum.saturating_add(more);
        }
    }
}

/// Where blocks lie.
pub trait Blocks: Send + Sync {
    /// The block of a directory.
    ///
    /// # Errors
    /// [`Damaged`] where there is none, or not as it was written.
    fn directory(&self, number: DirNumber) -> Result<&[u8], Damaged>;

    /// A block of files of a large directory.
    ///
    /// # Errors
    /// As for [`Self::directory`].
    fn files(&self, key: u32) -> Result<&[u8], Damaged>;

    /// One more than the greatest number of a directory.
    fn directories(&self) -> u32;

    /// One more than the greatest key of a block of files.
    fn files_keys(&self) -> u32;

    /// Whether nothing that lies here was lost since it was looked at first, as a part of a mapped file may be.
    fn are_whole(&self) -> bool {
        true
    }

    /// How many others these blocks lie on.
    fn depth(&self) -> u32 {
        0
    }

    /// How many bytes all blocks have together, where another process may have written them: they may be anything.
    fn foreign_len(&self) -> Option<u64> {
        None
    }
}

/// A block is not there, or not what it was when it was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("block {key} of the tracked files is damaged")]
pub struct Damaged {
    /// Its key.
    pub key: u32,
}
