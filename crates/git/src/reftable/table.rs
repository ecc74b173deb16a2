//! One reftable file.

mod logs;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bstr::BStr;
use gix_hash::{Kind, oid};
use vigil_stamp::file::Contents;

use super::block::{Reason, RecordReader, Records};
use super::error::Error;
use super::value::Value;

/// The tables from oldest to newest. A table never changes once written, and no two ever have the same name.
pub(crate) type Tables = Arc<Vec<Arc<ReftableFile>>>;

const BLOCK_REF: u8 = b'r';
const BLOCK_INDEX: u8 = b'i';
const BLOCK_LOG: u8 = b'g';

/// The maximum depth of the index: with a few records per block, more than a file can hold.
const INDEX_DEPTH_MAX: usize = 16;

/// The most bytes that all names in a table of `len` bytes may have in total. A name that resembles the one before
/// takes almost no space, however long it is.
fn names_len_max(len: usize) -> usize {
    len.saturating_mul(64).max(1 << 20)
}

/// A table. Its sections have been checked to lie inside it.
#[derive(Debug)]
pub(crate) struct ReftableFile {
    path: PathBuf,
    hash: Kind,
    bytes: Contents,
    header_length: usize,
    /// The size to which reference blocks are padded; 0 if they are not.
    block_size: usize,
    /// The root of the index of references; 0 if there is none.
    ref_index: usize,
    /// Where the reference blocks end.
    refs_end: usize,
    /// Where the log blocks start, and where they and the lower levels of their index end.
    logs: std::ops::Range<usize>,
    /// The root of the index of logs; 0 if there is none.
    log_index: usize,
    /// Where the footer starts.
    end: usize,
}

/// The position and contents of a block.
struct Block<'a> {
    kind: u8,
    /// The bytes after the block's header.
    body: &'a [u8],
    /// Where the next block starts.
    next: usize,
}

impl ReftableFile {
    /// Checks and parses the bytes of the file `path`.
    pub(crate) fn parse(path: PathBuf, bytes: Contents, hash: Kind) -> Result<Self, Error> {
        let mut table = Self {
            path,
            hash,
            bytes,
            header_length: 0,
            block_size: 0,
            ref_index: 0,
            refs_end: 0,
            logs: 0..0,
            log_index: 0,
            end: 0,
        };
        match table.read_footer() {
            Ok(()) => Ok(table),
            Err(reason) => Err(table.corrupt(reason)),
        }
    }

    /// Copies the contents to memory so that the file is not mapped, if there is room.
    pub(super) fn copy_to_memory(&self) {
        self.bytes.copy_to_memory();
    }

    /// The file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    fn corrupt(&self, reason: Reason) -> Error {
        Error::Corrupt {
            path: self.path.clone(),
            reason,
        }
    }

    fn read_footer(&mut self) -> Result<(), Reason> {
        let (header_length, footer_length, kind) = match self.bytes.get(..5) {
            Some(b"REFT\x01") => (24, 68, Some(Kind::Sha1)),
            Some(b"REFT\x02") => {
                let kind = match self.bytes.get(24..28) {
                    Some(b"sha1") => Some(Kind::Sha1),
                    Some(b"s256") => Some(Kind::Sha256),
                    _ => None,
                };
                (28, 72, kind)
            }
            Some([b'R', b'E', b'F', b'T', _]) => return Err("its version is unknown"),
            _ => return Err("it does not start like one"),
        };
        if kind != Some(self.hash) {
            return Err("its hash is not the repository's");
        }
        let end = self
            .bytes
            .len()
            .checked_sub(footer_length)
            .filter(|end| *end >= header_length)
            .ok_or("it is too short")?;
        let footer = self.bytes.get(end..).unwrap_or_default();
        let (content, crc) = footer.split_last_chunk::<4>().ok_or("it is too short")?;
        let mut expected = flate2::Crc::new();
        expected.update(content);
        if expected.sum() != u32::from_be_bytes(*crc) {
            return Err("its footer's checksum is wrong");
        }
        if footer.get(..header_length) != self.bytes.get(..header_length) {
            return Err("header and footer differ");
        }
        let mut reader = RecordReader(content.get(5..8).unwrap_or_default());
        let block_size = reader.number(3)?;
        let mut reader = RecordReader(content.get(header_length..).unwrap_or_default());
        let mut sections = [0; 5];
        for (at, section) in sections.iter_mut().enumerate() {
            let position = reader.number(8)?;
            // The lower five bits of the second are the length of abbreviated ids.
            let position = if at == 1 { position >> 5 } else { position };
            *section = usize::try_from(position)
                .ok()
                .filter(|position| *position <= end)
                .ok_or("a section lies outside")?;
        }
        let [ref_index, _, _, logs, log_index] = sections;

        self.header_length = header_length;
        self.block_size = usize::try_from(block_size).unwrap_or_default();
        self.ref_index = ref_index;
        self.log_index = log_index;
        self.end = end;
        let first_kind = self.bytes.get(header_length).copied();
        if first_kind == Some(BLOCK_REF) && end > header_length {
            self.refs_end = sections
                .into_iter()
                .filter(|at| *at > 0)
                .min()
                .unwrap_or(end);
        }
        let logs_end = if log_index > 0 { log_index } else { end };
        if logs > 0 {
            self.logs = logs..logs_end;
        } else if first_kind == Some(BLOCK_LOG) && end > header_length {
            self.logs = 0..logs_end;
        }
        Ok(())
    }

    /// Returns where the contents of a block start, its type and its length, which is counted from `at`: in the first
    /// block of a file it includes the file's header.
    fn block_start(&self, at: usize) -> Result<(usize, u8, usize), Reason> {
        let start = if at < self.header_length {
            self.header_length
        } else {
            at
        };
        let mut reader = RecordReader(self.bytes.get(start..).unwrap_or_default());
        let kind = reader.byte()?;
        let length = usize::try_from(reader.number(3)?).map_err(|_| "a block is too long")?;
        Ok((start + 4, kind, length))
    }

    /// Reads the block of references or of an index that starts at `at`.
    fn block(&self, at: usize) -> Result<Block<'_>, Reason> {
        let (body, kind, length) = self.block_start(at)?;
        let end = at.checked_add(length).ok_or("a block is too long")?;
        let content = self.bytes.get(body..end).ok_or("a block is too long")?;
        // Padding is zeros; if there is none, the type of the next block follows, which is not zero.
        let padded = at + self.block_size;
        let next = if padded > end && self.bytes.get(end) == Some(&0) {
            padded
        } else {
            end
        };
        Ok(Block {
            kind,
            body: content,
            next,
        })
    }

    /// Returns the value of the reference `name`, which may be a deletion.
    pub(crate) fn find(&self, name: &BStr) -> Result<Option<Value>, Error> {
        let mut found = None;
        self.walk(name, |key, value| {
            if key == name {
                found = Some(value);
            }
            false
        })?;
        Ok(found)
    }

    /// Calls `found` for each reference whose name starts with `prefix`, in order, including deletions.
    #[cfg(any(test, feature = "fuzzing"))]
    pub(crate) fn for_each_ref(
        &self,
        prefix: &BStr,
        mut found: impl FnMut(&BStr, Value),
    ) -> Result<(), Error> {
        self.walk(prefix, |key, value| {
            let is_inside = key.starts_with(prefix);
            if is_inside {
                found(key, value);
            }
            is_inside
        })
    }

    /// Calls `visit` for the references from `first` on, until it returns false.
    fn walk(&self, first: &BStr, mut visit: impl FnMut(&BStr, Value) -> bool) -> Result<(), Error> {
        let mut cursor = self.cursor(first)?;
        while let Some((key, record)) = cursor.current() {
            if !visit(key, record.into()) {
                break;
            }
            cursor.advance()?;
        }
        Ok(())
    }

    /// Returns a cursor over the references from `first` on, including deletions.
    pub(super) fn cursor(&self, first: &BStr) -> Result<Cursor<'_>, Error> {
        let start = match self.ref_index {
            0 => Ok(Some(0)),
            root => self.first_block(root, first, BLOCK_REF, 0..self.refs_end),
        };
        let mut cursor = Cursor {
            table: self,
            next: start.map_err(|reason| self.corrupt(reason))?,
            records: None,
            record: None,
            names_left: names_len_max(self.bytes.len()),
        };
        cursor.advance()?;
        while cursor.current().is_some_and(|(key, _)| key < first) {
            cursor.advance()?;
        }
        Ok(cursor)
    }

    /// Returns the block of the type `kind`, inside `section`, that contains `first` if any does, by the index whose root
    /// is at `root`; `None` if all keys come before it.
    fn first_block(
        &self,
        root: usize,
        first: &[u8],
        kind: u8,
        section: std::ops::Range<usize>,
    ) -> Result<Option<usize>, Reason> {
        let mut at = root;
        for _ in 0..INDEX_DEPTH_MAX {
            // Where to go on in the next level: at the first block whose last key is not before it.
            let mut below = None;
            while at < self.end {
                // The block of logs that may follow is compressed: its length may go beyond the end of the file.
                if self.block_start(at)?.1 != BLOCK_INDEX {
                    break;
                }
                let block = self.block(at)?;
                let mut records = Records::new(block.body)?;
                while let Some((key, _)) = records.next_key()? {
                    let is_reached = key >= first;
                    let position = records.values.length()?;
                    if is_reached {
                        below = Some(position);
                        break;
                    }
                }
                if below.is_some() || block.next <= at {
                    break;
                }
                at = block.next;
            }
            let Some(position) = below else {
                return Ok(None);
            };
            match self.block_start(position)?.1 {
                found if found == kind && section.contains(&position) => return Ok(Some(position)),
                BLOCK_INDEX => at = position,
                _ => return Err("an index leads to a block of another type"),
            }
        }
        Err("its index is too deep")
    }

    fn id<'r>(&self, reader: &mut RecordReader<'r>) -> Result<&'r oid, Reason> {
        let bytes = reader.take(self.hash.len_in_bytes())?;
        oid::try_from_bytes(bytes).map_err(|_| "an id is cut off")
    }

    fn record<'r>(&self, reader: &mut RecordReader<'r>, kind: u8) -> Result<Record<'r>, Reason> {
        reader.varint()?;
        Ok(match kind {
            0 => Record::Deleted,
            1 => Record::Direct(self.id(reader)?),
            2 => Record::Peeled(self.id(reader)?, self.id(reader)?),
            3 => {
                let length = reader.length()?;
                Record::Symbolic(reader.take(length)?.into())
            }
            _ => return Err("a value is of an unknown type"),
        })
    }
}

/// The record of a reference, borrowed from the table: see [`Value`].
#[derive(Clone, Copy, Debug)]
pub(crate) enum Record<'t> {
    Deleted,
    Direct(&'t oid),
    Peeled(&'t oid, &'t oid),
    Symbolic(&'t BStr),
}

impl From<Record<'_>> for Value {
    fn from(record: Record<'_>) -> Self {
        match record {
            Record::Deleted => Self::Deleted,
            Record::Direct(id) => Self::Direct(id.to_owned()),
            Record::Peeled(id, target) => Self::Peeled(id.to_owned(), target.to_owned()),
            Record::Symbolic(target) => Self::Symbolic(target.to_owned()),
        }
    }
}

/// Iterates over the references of a table.
pub(super) struct Cursor<'t> {
    table: &'t ReftableFile,
    /// Where the next block starts, if there is one.
    next: Option<usize>,
    /// The rest of the current block.
    records: Option<Records<'t>>,
    /// The record of the current reference, whose name is the key of `records`.
    record: Option<Record<'t>>,
    /// How many bytes the following names may have in total.
    names_left: usize,
}

impl<'t> Cursor<'t> {
    /// Returns the current reference; `None` at the end.
    pub(super) fn current(&self) -> Option<(&BStr, Record<'t>)> {
        Some((self.records.as_ref()?.key(), self.record?))
    }

    /// Moves to the next reference.
    pub(super) fn advance(&mut self) -> Result<(), Error> {
        let moved = self.try_advance();
        moved.map_err(|reason| self.table.corrupt(reason))
    }

    fn try_advance(&mut self) -> Result<(), Reason> {
        self.record = None;
        loop {
            if let Some(records) = &mut self.records
                && let Some((key, kind)) = records.next_key()?
            {
                let names_left = self.names_left.checked_sub(key.len());
                self.names_left = names_left.ok_or("its names are too long")?;
                self.record = Some(self.table.record(&mut records.values, kind)?);
                return Ok(());
            }
            let Some(at) = self.next.filter(|at| *at < self.table.refs_end) else {
                self.records = None;
                return Ok(());
            };
            let block = self.table.block(at)?;
            match block.kind {
                BLOCK_REF if block.next > at => self.next = Some(block.next),
                BLOCK_REF => return Err("a block is empty"),
                // The lower levels of the index are between the references and its root.
                BLOCK_INDEX => {
                    (self.next, self.records) = (None, None);
                    return Ok(());
                }
                _ => return Err("a block is of another type"),
            }
            self.records = Some(Records::new(block.body)?);
        }
    }
}
