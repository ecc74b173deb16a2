//! The tracked files as a tree that mirrors the working tree: one block of bytes for each directory, with names, not
//! paths. A block is used in place, in memory or in a mapped file (docs/state-file.md gives the bytes).
//!
//! Entries are numbered in the order of git's index (path bytes, then stage). Blocks hold no absolute numbers, only
//! how many entries of their own tree precede something, so a change in one directory affects only its block and those
//! above.

mod blocks;
mod budget;
mod builder;
mod difference;
mod in_order;
mod layout;
mod lookup;
mod memory;
mod sums;
#[cfg(test)]
mod tests;
mod tree;

pub use self::blocks::{Blocks, Damaged, DirNumber, ROOT};
pub use self::budget::Budget;
pub use self::builder::{BlockSink, Builder};
pub use self::difference::{DifferenceBuilder, TreeDiff};
pub use self::in_order::{InOrder, Member};
pub use self::layout::{
    DirectoryBlock, FileRecord, Files, FilesBlock, Header, SegmentRecord, SubdirRecord, TrackedFile,
};
pub use self::lookup::{Beside, ByNumber, ByPath};
pub use self::memory::InMemory;
pub use self::sums::Sums;
pub use self::tree::{Block, Directory, Subdir, Tracked, TrackedEntry};
