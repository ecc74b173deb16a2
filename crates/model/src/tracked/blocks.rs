//! Where the blocks of a tree lie.

/// The number of a directory: the key of its block.
pub type DirNumber = u32;

/// The top of the working tree.
pub const ROOT: DirNumber = 0;

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
