//! The storage that holds the blocks of a tree.

/// The number of a directory: the key of its block.
pub type DirNumber = u32;

/// The top of the working tree.
pub const ROOT: DirNumber = 0;

/// A storage for blocks.
pub trait Blocks: Send + Sync {
    /// The block of a directory.
    ///
    /// # Errors
    /// [`Damaged`] if the block is missing, or not as it was written.
    fn directory(&self, number: DirNumber) -> Result<&[u8], Damaged>;

    /// A block of the files of a large directory.
    ///
    /// # Errors
    /// As for [`Self::directory`].
    fn files(&self, key: u32) -> Result<&[u8], Damaged>;

    /// One more than the greatest directory number.
    fn directory_number_end(&self) -> u32;

    /// One more than the greatest key of a block of files.
    fn files_key_end(&self) -> u32;

    /// Whether no data was lost since it was first read, as may happen to a mapped file.
    fn are_whole(&self) -> bool {
        true
    }

    /// The number of layers below this one.
    fn depth(&self) -> u32 {
        0
    }

    /// The total length of all blocks in bytes, if another process may have written them, so that they may hold
    /// anything.
    fn untrusted_len(&self) -> Option<u64> {
        None
    }
}

/// A block is missing, or not what was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("block {key} of the tracked files is damaged")]
pub struct Damaged {
    /// The key of the block.
    pub key: u32,
}
