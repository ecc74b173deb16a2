//! The contents of a directory in the order of the index.

use super::layout::TrackedFile;
use super::tree::{Directory, Subdir};

/// One direct member of a directory.
#[derive(Clone, Copy, Debug)]
pub enum Member<'t> {
    /// An entry of the index.
    File(TrackedFile<'t>),
    /// A subdirectory that contains entries.
    Subdir(Subdir<'t>),
}

/// An iterator over the members of a directory in the order of the index, each with the number of entries of the
/// directory's tree that precede it.
#[derive(Debug)]
pub struct InOrder<'t> {
    directory: Directory<'t>,
    /// The segment of the next file, and its position there.
    segment: usize,
    file: usize,
    /// The next subdirectory, in the order of the index.
    subdir: usize,
    /// The number of entries passed so far.
    passed: u32,
}

impl<'t> InOrder<'t> {
    /// Starts with the first member of `directory`.
    pub fn new(directory: Directory<'t>) -> Self {
        Self {
            directory,
            segment: 0,
            file: 0,
            subdir: 0,
            passed: 0,
        }
    }

    fn peek_file(&mut self) -> Option<TrackedFile<'t>> {
        loop {
            let segment = self.directory.segment(self.segment)?;
            if let Some(file) = segment.get(self.file) {
                return Some(file);
            }
            self.segment = self.segment.saturating_add(1);
            self.file = 0;
        }
    }
}

impl<'t> Iterator for InOrder<'t> {
    type Item = (u32, Member<'t>);

    fn next(&mut self) -> Option<Self::Item> {
        let before = self.passed;
        let file = self.peek_file();
        if let Some(placed) = self.directory.order().get(self.subdir)
            && (placed.before <= before || file.is_none())
        {
            self.subdir = self.subdir.saturating_add(1);
            self.passed = before.saturating_add(placed.entries);
            let subdir = self.directory.subdir(placed.at as usize)?;
            return Some((before, Member::Subdir(subdir)));
        }
        self.file = self.file.saturating_add(1);
        self.passed = before.saturating_add(1);
        Some((before, Member::File(file?)))
    }
}
