//! The index: a record of 64 bytes for each revision, followed by its chunk if the revlog is inline. In a file that a docket
//! names, records have 96 bytes.

use super::chunk::Mode;
use crate::fields::{i32_at, u16_at, u32_at, u64_at};
use crate::node::Node;

/// Stands for the absence of a revision.
pub const NO_REVISION: i32 = -1;

const RECORD_LEN: usize = 64;
/// The length of a record in a file that a docket names.
const LONG_RECORD_LEN: usize = 96;
const VERSION_0: u16 = 0;
const VERSION_1: u16 = 1;
const VERSION_2: u16 = 0xdead;
const CHANGELOG_VERSION_2: u16 = 0xd34d;
const IS_INLINE: u16 = 1;
const IS_GENERAL: u16 = 1 << 1;
const TELLS_METADATA: u16 = 1 << 2;
/// The index says more about why a delta was chosen, which is not needed to read it.
const TELLS_DELTAS: u16 = 1 << 3;
/// A revision's flag: metadata comes before the contents of the file.
const HAS_METADATA: u16 = 1 << 11;

/// The index's record of one revision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Revision {
    /// The node.
    pub node: Node,
    /// The number of the first parent, or [`NO_REVISION`].
    pub p1: i32,
    /// The number of the second parent, or [`NO_REVISION`].
    pub p2: i32,
    /// The number of the changeset that introduced it.
    pub link: i32,
    /// The flags.
    pub flags: u16,
    /// The revision that it is a delta against; for a full text, itself or [`NO_REVISION`].
    pub(super) base: i32,
    /// Where its chunk begins in its file.
    pub(super) start: u64,
    /// The length of its chunk in bytes.
    pub(super) stored_len: u32,
    /// How its chunk is compressed.
    pub(super) mode: Mode,
    /// The length of its text in bytes.
    pub text_len: u32,
    /// Where its sidedata is.
    pub(super) sidedata: Sidedata,
}

/// Where the sidedata of a revision is, if it has any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sidedata {
    pub(super) start: u64,
    pub(super) len: u32,
    pub(super) mode: Mode,
}

impl Sidedata {
    const NONE: Self = Self {
        start: 0,
        len: 0,
        mode: Mode::Plain,
    };
}

/// Why an index could not be read.
pub(super) enum IndexError {
    Damaged(&'static str),
    /// The records do not end where the file ends.
    WrongLength,
    /// The version is unknown.
    UnknownVersion(u16),
    /// The version is the oldest one, 0.
    Version0,
    /// It has flags that its version does not define.
    UnknownFlags {
        flags: u16,
        version: u16,
    },
}

/// Where the records are, according to the beginning of the revlog's first file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// In that file itself.
    WithoutDocket {
        /// The flags.
        flags: u16,
    },
    /// In a file that the docket names.
    WithDocket(Layout),
}

/// The layout of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    /// That of version 1.
    First,
    /// That of version 2: with the place of the sidedata, and how chunks are compressed.
    Second,
    /// That of changelogs only, which have no deltas.
    Changelog,
}

impl Form {
    /// Returns the form of a revlog that begins with `bytes`.
    pub(super) fn of(bytes: &[u8]) -> Result<Self, IndexError> {
        if bytes.is_empty() {
            return Ok(Self::WithoutDocket { flags: 0 });
        }
        let (Some(flags), Some(version)) = (u16_at(bytes, 0), u16_at(bytes, 2)) else {
            return Err(IndexError::Damaged("the index is cut off"));
        };
        let (form, known) = match version {
            VERSION_0 => return Err(IndexError::Version0),
            VERSION_1 => (
                Self::WithoutDocket { flags },
                IS_INLINE | IS_GENERAL | TELLS_METADATA | TELLS_DELTAS,
            ),
            VERSION_2 => (Self::WithDocket(Layout::Second), IS_INLINE),
            CHANGELOG_VERSION_2 => (Self::WithDocket(Layout::Changelog), 0),
            other => return Err(IndexError::UnknownVersion(other)),
        };
        match flags & !known {
            0 => Ok(form),
            _ => Err(IndexError::UnknownFlags { flags, version }),
        }
    }
}

/// Finds the records of an index.
#[derive(Debug)]
pub(super) struct Index {
    layout: Layout,
    is_general: bool,
    /// Whether a flag says which revisions have metadata.
    tells_metadata: bool,
    /// The number of records.
    len: usize,
    /// Where each record begins, if chunks lie between them.
    inline: Option<Vec<u32>>,
}

impl Index {
    /// Reads an index of version 1 with these flags.
    pub(super) fn without_docket(bytes: &[u8], flags: u16) -> Result<Self, IndexError> {
        let mut index = Self {
            layout: Layout::First,
            is_general: flags & IS_GENERAL != 0,
            tells_metadata: flags & TELLS_METADATA != 0,
            len: 0,
            inline: None,
        };
        if flags & IS_INLINE == 0 {
            index.len = bytes.len() / RECORD_LEN;
            return match bytes.len() % RECORD_LEN {
                0 => Ok(index),
                _ => Err(IndexError::WrongLength),
            };
        }
        let mut starts = Vec::new();
        let mut at = 0usize;
        while at < bytes.len() {
            let stored_len = u32_at(bytes, at.saturating_add(8)).ok_or(IndexError::WrongLength)?;
            starts.push(
                u32::try_from(at).map_err(|_| IndexError::Damaged("the index is too large"))?,
            );
            at = at
                .saturating_add(RECORD_LEN)
                .saturating_add(stored_len as usize);
        }
        if at != bytes.len() {
            return Err(IndexError::WrongLength);
        }
        index.len = starts.len();
        index.inline = Some(starts);
        Ok(index)
    }

    /// Makes the index of the first `len` bytes of a file that a docket names; `None` if these are not whole records.
    pub(super) fn with_docket(layout: Layout, len: usize) -> Option<Self> {
        len.is_multiple_of(LONG_RECORD_LEN).then_some(Self {
            layout,
            is_general: true,
            tells_metadata: false,
            len: len / LONG_RECORD_LEN,
            inline: None,
        })
    }

    /// Returns whether metadata may come before the contents of a file.
    pub(super) fn may_have_metadata(&self, revision: &Revision) -> bool {
        match self.tells_metadata {
            true => revision.flags & HAS_METADATA != 0,
            // A revision written with metadata has its first parent in the second place.
            false => revision.p1 == NO_REVISION,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn is_inline(&self) -> bool {
        self.inline.is_some()
    }

    /// Returns whether a delta may be against any revision, not only the previous one.
    pub(super) fn is_general(&self) -> bool {
        self.is_general
    }

    fn record<'b>(&self, bytes: &'b [u8], number: u32) -> Option<(usize, &'b [u8])> {
        let number = number as usize;
        if number >= self.len {
            return None;
        }
        let len = match self.layout {
            Layout::First => RECORD_LEN,
            Layout::Second | Layout::Changelog => LONG_RECORD_LEN,
        };
        let start = match &self.inline {
            Some(starts) => *starts.get(number)? as usize,
            None => number.checked_mul(len)?,
        };
        Some((start, bytes.get(start..start.checked_add(len)?)?))
    }

    pub(super) fn node(&self, bytes: &[u8], number: u32) -> Option<Node> {
        let (_, record) = self.record(bytes, number)?;
        self.node_of(record)
    }

    fn node_of(&self, record: &[u8]) -> Option<Node> {
        let at = match self.layout {
            Layout::First | Layout::Second => 32,
            Layout::Changelog => 24,
        };
        Node::from_start_of(record.get(at..)?)
    }

    pub(super) fn revision(&self, bytes: &[u8], number: u32) -> Option<Revision> {
        let (start, record) = self.record(bytes, number)?;
        let mut place = u64_at(record, 0)? >> 16;
        if number == 0 {
            // The first four bytes may be those of the file's header.
            place = 0;
        }
        if self.is_inline() {
            place = u64::try_from(start.checked_add(RECORD_LEN)?).ok()?;
        }
        let mut revision = Revision {
            node: self.node_of(record)?,
            p1: i32_at(record, 24)?,
            p2: i32_at(record, 28)?,
            link: i32_at(record, 20)?,
            flags: u16_at(record, 6)?,
            base: i32_at(record, 16)?,
            start: place,
            stored_len: u32_at(record, 8)?,
            mode: Mode::Marked,
            text_len: u32_at(record, 12)?,
            sidedata: Sidedata::NONE,
        };
        let sidedata_at = match self.layout {
            Layout::First => return Some(revision),
            Layout::Second => 64,
            Layout::Changelog => {
                let itself = i32::try_from(number).ok()?;
                (revision.base, revision.link) = (itself, itself);
                (revision.p1, revision.p2) = (i32_at(record, 16)?, i32_at(record, 20)?);
                56
            }
        };
        let modes = *record.get(sidedata_at + 12)?;
        revision.mode = Mode::of_bits(modes);
        revision.sidedata = Sidedata {
            start: u64_at(record, sidedata_at)?,
            len: u32_at(record, sidedata_at + 8)?,
            mode: Mode::of_bits(modes >> 2),
        };
        Some(revision)
    }
}
