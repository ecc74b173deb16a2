//! Mercurial's dirstate: the parents of the working copy, and for each file its status, and its stat data when it was
//! last found unchanged.
//!
//! The parsers turn bytes into a list in the order of paths. Files of both formats may come from anybody, so each
//! offset is checked, and no list gets longer than its bytes allow.

mod entry;
mod listed;
mod read;
mod record;
mod v1;
mod v2;

pub use entry::{DirstateEntry, Flags};
pub use listed::ListedDirectories;
pub use read::read;
pub use record::Damaged;
pub use v2::Docket;
use v2::MARKER;

use bstr::{BStr, ByteSlice};
use vigil_stamp::file::Contents;

use crate::node::Node;
use listed::ListedRecord;
use record::{ByteRange, Record};

/// A parsed dirstate.
#[derive(Debug)]
pub struct Dirstate {
    parents: [Node; 2],
    bytes: Contents,
    entries: Vec<Record>,
    /// In the order of paths.
    listed: Vec<ListedRecord>,
    ignore_hash: [u8; 20],
}

impl Dirstate {
    /// Creates the dirstate of a working copy without any records.
    pub fn empty() -> Self {
        Self {
            parents: [Node::NULL; 2],
            bytes: Contents::Read(Vec::new()),
            entries: Vec::new(),
            listed: Vec::new(),
            ignore_hash: [0; 20],
        }
    }

    /// Parses the first format.
    ///
    /// # Errors
    /// The bytes are not a dirstate.
    pub fn of_v1(bytes: Contents) -> Result<Self, Damaged> {
        let (parents, entries) = v1::parse(&bytes)?;
        Self::ordered(parents, bytes, entries)
    }

    /// Parses the second format; `bytes` are the contents of the data file.
    ///
    /// # Errors
    /// The bytes do not match the docket.
    pub fn of_v2(docket: &Docket, bytes: Contents) -> Result<Self, Damaged> {
        let v2::Nodes {
            records,
            mut listed,
        } = v2::parse(docket, &bytes)?;
        let path = |record: &ListedRecord| bytes.get(record.path.as_range()).unwrap_or_default();
        listed.sort_by(|a, b| path(a).cmp(path(b)));
        Ok(Self {
            listed,
            ignore_hash: docket.ignore_hash,
            ..Self::ordered(docket.parents, bytes, records)?
        })
    }

    fn ordered(
        parents: [Node; 2],
        bytes: Contents,
        mut entries: Vec<Record>,
    ) -> Result<Self, Damaged> {
        let path = |record: &Record| bytes.get(record.path.as_range()).unwrap_or_default();
        let is_before = |a: &Record, b: &Record| path(a) < path(b);
        if !entries.is_sorted_by(is_before) {
            entries.sort_by(|a, b| path(a).cmp(path(b)));
            if !entries.is_sorted_by(is_before) {
                return Err(Damaged("a path is recorded twice"));
            }
        }
        if entries.iter().any(|record| !is_allowed(path(record))) {
            return Err(Damaged("a recorded path is none"));
        }
        Ok(Self {
            parents,
            bytes,
            entries,
            listed: Vec::new(),
            ignore_hash: [0; 20],
        })
    }

    /// Returns the parents of the working copy. The second one is null unless a merge is in progress.
    pub fn parents(&self) -> [Node; 2] {
        self.parents
    }

    /// Returns the number of recorded files.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns whether nothing is recorded.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Iterates over the recorded files, in byte order of their paths.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&BStr, &DirstateEntry)> {
        self.entries
            .iter()
            .map(|record| (self.text(record.path), &record.entry))
    }

    /// Returns the file at the position `at`.
    pub fn get(&self, at: usize) -> Option<(&BStr, &DirstateEntry)> {
        let record = self.entries.get(at)?;
        Some((self.text(record.path), &record.entry))
    }

    /// Returns the position of `path`, if it is recorded.
    pub fn position(&self, path: &BStr) -> Option<usize> {
        self.entries
            .binary_search_by(|record| self.text(record.path).cmp(path))
            .ok()
    }

    /// Returns whether anything below the directory `path` is recorded.
    pub fn has_directory(&self, path: &BStr) -> bool {
        self.below(path).next().is_some()
    }

    /// Iterates over the files below the directory `path`, in byte order of their paths.
    pub fn below(&self, path: &BStr) -> impl Iterator<Item = (&BStr, &DirstateEntry)> {
        let mut start = path.to_owned();
        if !start.is_empty() {
            start.push(b'/');
        }
        let is_before = |record: &Record| self.text(record.path) < start.as_bstr();
        let first = self.entries.partition_point(is_before);
        let rest = self.entries.get(first..).unwrap_or_default().iter();
        rest.map(|record| (self.text(record.path), &record.entry))
            .take_while(move |(other, _)| other.starts_with(&start))
    }

    /// Returns the path that the file at `at` is recorded as a copy of.
    pub fn copy_source(&self, at: usize) -> Option<&BStr> {
        let record = self.entries.get(at)?;
        Some(self.text(record.copy_source?))
    }

    /// Returns the directories that were listed with the ignore patterns of this [hash](crate::patterns::Ignore::hash).
    pub fn listed_under(&self, ignore_hash: [u8; 20]) -> Option<ListedDirectories<'_>> {
        let is_known = self.ignore_hash == ignore_hash && !self.listed.is_empty();
        is_known.then(|| ListedDirectories {
            bytes: &self.bytes,
            directories: &self.listed,
        })
    }

    /// Replaces the mapping of the file by a copy in memory, if there is one, and room for the copy.
    pub fn copy_to_memory(&self) {
        self.bytes.copy_to_memory();
    }

    fn text(&self, range: ByteRange) -> &BStr {
        self.bytes
            .get(range.as_range())
            .unwrap_or_default()
            .as_bstr()
    }
}

/// Returns whether a path may be recorded: it has no `..` or empty parts, and is not in Mercurial's own folder.
fn is_allowed(path: &[u8]) -> bool {
    let is_no_name = |part: &[u8]| matches!(part, b"" | b"." | b"..");
    let mut rest = path;
    while let Some(slash) = rest.find_byte(b'/') {
        let (part, after) = rest.split_at(slash);
        if is_no_name(part) {
            return false;
        }
        rest = after.get(1..).unwrap_or_default();
    }
    !is_no_name(rest) && path.find_byte(0).is_none() && !path.starts_with(b".hg/") && path != b".hg"
}

#[cfg(test)]
mod tests;
