//! Entries as they are read, by places in their file.

use std::ops::Range;

use super::entry::Entry;

/// What is wrong with a dirstate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Damaged(pub &'static str);

/// An entry, and where its names are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record {
    pub(super) path: Place,
    pub(super) copy_source: Option<Place>,
    pub(super) entry: Entry,
}

/// A part of the file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) start: u32,
    pub(super) len: u32,
}

impl Place {
    pub(super) fn range(self) -> Range<usize> {
        let start = self.start as usize;
        start..start.saturating_add(self.len as usize)
    }
}
