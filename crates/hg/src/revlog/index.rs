//! The index: a record of 64 bytes for each revision; inline, with its chunk behind it.

use crate::fields::{i32_at, u16_at, u32_at, u64_at};
use crate::node::Node;

/// In the place of a revision's number: none.
pub const NO_REVISION: i32 = -1;

const RECORD_LEN: usize = 64;
const VERSION_1: u16 = 1;
const IS_INLINE: u16 = 1;
const IS_GENERAL: u16 = 1 << 1;
const TELLS_COPIES: u16 = 1 << 2;
const TELLS_DELTAS: u16 = 1 << 3;

/// What the index says of one revision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Revision {
    /// The node.
    pub node: Node,
    /// The number of the first parent, or [`NO_REVISION`].
    pub p1: i32,
    /// The number of the second parent, or [`NO_REVISION`].
    pub p2: i32,
    /// The number of the changeset that brought it.
    pub link: i32,
    /// The marks.
    pub flags: u16,
    /// What it is a difference to; itself where it is none.
    pub(super) base: i32,
    /// Where its chunk begins in the file in which it is.
    pub(super) start: u64,
    /// The length of its chunk in bytes.
    pub(super) stored_len: u32,
    /// The length of its text in bytes.
    pub text_len: u32,
}

/// Why an index was not read.
pub(super) enum Unread {
    Damaged(&'static str),
    /// It is of another version.
    Unknown(u16),
    /// It tells of deltas or copies in a newer way.
    NotHere,
}

/// Where the records of an index are.
#[derive(Debug)]
pub(super) struct Index {
    is_general: bool,
    /// How many records there are.
    len: usize,
    /// Where each record begins, if chunks lie between them.
    inline: Option<Vec<u32>>,
}

impl Index {
    pub(super) fn read(bytes: &[u8]) -> Result<Self, Unread> {
        let mut index = Self {
            is_general: false,
            len: 0,
            inline: None,
        };
        if bytes.is_empty() {
            return Ok(index);
        }
        let cut = Unread::Damaged("the index is cut off");
        let (Some(flags), Some(version)) = (u16_at(bytes, 0), u16_at(bytes, 2)) else {
            return Err(cut);
        };
        if version != VERSION_1 {
            return Err(Unread::Unknown(version));
        }
        if flags & (TELLS_COPIES | TELLS_DELTAS) != 0 {
            return Err(Unread::NotHere);
        }
        if flags & !(IS_INLINE | IS_GENERAL) != 0 {
            return Err(Unread::Damaged("the index has unknown flags"));
        }
        index.is_general = flags & IS_GENERAL != 0;
        if flags & IS_INLINE == 0 {
            index.len = bytes.len() / RECORD_LEN;
            return match bytes.len() % RECORD_LEN {
                0 => Ok(index),
                _ => Err(cut),
            };
        }
        let mut starts = Vec::new();
        let mut at = 0usize;
        while at < bytes.len() {
            let stored_len = u32_at(bytes, at.saturating_add(8))
                .ok_or(Unread::Damaged("the index is cut off"))?;
            starts.push(u32::try_from(at).map_err(|_| Unread::Damaged("the index is too large"))?);
            at = at
                .saturating_add(RECORD_LEN)
                .saturating_add(stored_len as usize);
        }
        if at != bytes.len() {
            return Err(cut);
        }
        index.len = starts.len();
        index.inline = Some(starts);
        Ok(index)
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn is_inline(&self) -> bool {
        self.inline.is_some()
    }

    /// Whether a difference may be to any revision, and not only to the one before.
    pub(super) fn is_general(&self) -> bool {
        self.is_general
    }

    fn record<'b>(&self, bytes: &'b [u8], number: u32) -> Option<(usize, &'b [u8])> {
        let number = number as usize;
        if number >= self.len {
            return None;
        }
        let start = match &self.inline {
            Some(starts) => *starts.get(number)? as usize,
            None => number.checked_mul(RECORD_LEN)?,
        };
        Some((start, bytes.get(start..start.checked_add(RECORD_LEN)?)?))
    }

    pub(super) fn node(&self, bytes: &[u8], number: u32) -> Option<Node> {
        let (_, record) = self.record(bytes, number)?;
        Node::from_start_of(record.get(32..)?)
    }

    pub(super) fn revision(&self, bytes: &[u8], number: u32) -> Option<Revision> {
        let (start, record) = self.record(bytes, number)?;
        let mut place = u64_at(record, 0)? >> 16;
        if number == 0 {
            // The first four bytes are those of the file's header.
            place = 0;
        }
        if self.is_inline() {
            place = u64::try_from(start.checked_add(RECORD_LEN)?).ok()?;
        }
        Some(Revision {
            node: Node::from_start_of(record.get(32..)?)?,
            p1: i32_at(record, 24)?,
            p2: i32_at(record, 28)?,
            link: i32_at(record, 20)?,
            flags: u16_at(record, 6)?,
            base: i32_at(record, 16)?,
            start: place,
            stored_len: u32_at(record, 8)?,
            text_len: u32_at(record, 12)?,
        })
    }
}
