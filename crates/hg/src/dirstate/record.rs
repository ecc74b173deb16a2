//! Parsed entries, with paths as ranges of the dirstate file.

use std::ops::Range;

use super::entry::DirstateEntry;

/// A dirstate that cannot be parsed, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Damaged(pub &'static str);

/// An entry, and the places of its path and of its copy source.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record {
    pub(super) path: ByteRange,
    pub(super) copy_source: Option<ByteRange>,
    pub(super) entry: DirstateEntry,
}

/// A range of bytes in the dirstate file.
#[derive(Clone, Copy, Debug)]
pub(super) struct ByteRange {
    pub(super) start: u32,
    pub(super) len: u32,
}

impl ByteRange {
    pub(super) fn as_range(self) -> Range<usize> {
        let start = self.start as usize;
        start..start.saturating_add(self.len as usize)
    }
}
