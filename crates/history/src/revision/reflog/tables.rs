//! Reads complete logs from reftables. Questions about a time, or about the value before the log, need more of a
//! record than its new id (reftable(5) of git's technical documentation, "Log record").

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use bstr::{BStr, ByteSlice};
use gix_hash::{Kind, ObjectId};

use super::Record;
use vigil_git::reftable::Error;

/// How often the list is read again because a writer replaced tables meanwhile.
const ATTEMPTS_MAX: usize = 8;

/// The records in the log of `name` by update index; `None` stands for a deleted one.
type Updates = BTreeMap<u64, Option<Record>>;

/// Reads the records in the log of `name` from the tables in `folder`, the newest first.
pub(super) fn read(folder: &Path, name: &BStr, hash: Kind) -> Result<Vec<Record>, Error> {
    let list_path = folder.join("tables.list");
    for _ in 0..ATTEMPTS_MAX {
        let list = match vigil_stamp::file::read(&list_path) {
            Ok(list) => list,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(source) => {
                return Err(Error::Read {
                    path: list_path,
                    source,
                });
            }
        };
        if let Some(updates) = read_all(folder, &list, name, hash)? {
            return Ok(updates.into_values().rev().flatten().collect());
        }
    }
    Err(Error::KeepsChanging { path: list_path })
}

/// Reads all tables of the list. `None` if one is gone, which means that there is a newer list.
fn read_all(folder: &Path, list: &[u8], name: &BStr, hash: Kind) -> Result<Option<Updates>, Error> {
    let mut updates = Updates::new();
    for table in list.lines().filter(|table| !table.is_empty()) {
        let path = folder.join(OsStr::from_bytes(table));
        match vigil_stamp::file::read(&path) {
            Ok(bytes) => add_table(&bytes, name, hash, &mut updates).ok_or(Error::Corrupt {
                path,
                reason: "a log makes no sense",
            })?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(Error::Read { path, source }),
        }
    }
    Ok(Some(updates))
}

/// Adds the records of one table; `None` if it is malformed.
fn add_table(bytes: &[u8], name: &BStr, hash: Kind, updates: &mut Updates) -> Option<()> {
    let (header_len, footer_len) = match bytes.get(..5)? {
        b"REFT\x01" => (24, 68),
        b"REFT\x02" => (28, 72),
        _ => return None,
    };
    let end = bytes.len().checked_sub(footer_len)?;
    let mut places = Bytes(bytes.get(end..)?.get(header_len..)?);
    places.take(24)?;
    let (logs, index) = (places.position()?, places.position()?);
    let end = if index > 0 { index.min(end) } else { end };
    let mut at = logs;
    if logs == 0 && bytes.get(header_len) != Some(&b'g') {
        return Some(());
    }
    while at < end {
        // The length of a file's first block includes the file's header.
        let start = if at == 0 { header_len } else { at };
        let mut head = Bytes(bytes.get(start..)?);
        if head.take(1)? != b"g" {
            return None;
        }
        let len = at.checked_add(usize::try_from(head.number(3)?).ok()?)?;
        let body = start.checked_add(4)?;
        let len = len.checked_sub(body)?;
        let packed = bytes.get(body..end)?;
        let mut inflater = flate2::bufread::ZlibDecoder::new(packed);
        let mut block = Vec::new();
        // One byte more than expected, so that the end of the stream is reached.
        let limit = u64::try_from(len).ok()?.checked_add(1)?;
        (&mut inflater).take(limit).read_to_end(&mut block).ok()?;
        if block.len() != len {
            return None;
        }
        at = body.checked_add(usize::try_from(inflater.total_in()).ok()?)?;
        if !add_block(&block, name, hash, updates)? {
            return Some(());
        }
    }
    Some(())
}

/// Adds the records of one block. Returns false once a later name was seen.
fn add_block(block: &[u8], name: &BStr, hash: Kind, updates: &mut Updates) -> Option<bool> {
    let (rest, restarts) = block.split_last_chunk::<2>()?;
    let restarts = usize::from(u16::from_be_bytes(*restarts)).checked_mul(3)?;
    let mut records = Bytes(rest.get(..rest.len().checked_sub(restarts)?)?);
    let mut key = Vec::new();
    while !records.0.is_empty() {
        let shared = records.length()?;
        let suffix = records.varint()?;
        let added = records.take(usize::try_from(suffix >> 3).ok()?)?;
        if shared > key.len() {
            return None;
        }
        key.truncate(shared);
        key.extend_from_slice(added);
        let ([found @ .., 0], update) = key.split_last_chunk::<8>()? else {
            return None;
        };
        let record = match suffix & 7 {
            0 => None,
            1 => Some(records.record(hash)?),
            _ => return None,
        };
        if found > name.as_bytes() {
            return Some(false);
        }
        if found == name.as_bytes() {
            // A record with two null ids only marks that there is a log.
            let is_mark = |record: &Record| record.new.is_null() && record.old.is_null();
            let record = record.filter(|record| !is_mark(record));
            updates.insert(!u64::from_be_bytes(*update), record);
        }
    }
    Some(true)
}

/// Bytes that are read sequentially.
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(taken)
    }

    /// Reads a big-endian number of `len` bytes, at most 8.
    fn number(&mut self, len: usize) -> Option<u64> {
        let bytes = self.take(len)?.iter();
        Some(bytes.fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    fn position(&mut self) -> Option<usize> {
        usize::try_from(self.number(8)?).ok()
    }

    /// Reads a number in the encoding of offset deltas in packs.
    fn varint(&mut self) -> Option<u64> {
        let mut byte = self.number(1)?;
        let mut value = byte & 0x7f;
        while byte & 0x80 != 0 {
            byte = self.number(1)?;
            value = value.checked_add(1)?.checked_mul(128)? | (byte & 0x7f);
        }
        Some(value)
    }

    fn length(&mut self) -> Option<usize> {
        usize::try_from(self.varint()?).ok()
    }

    fn string(&mut self) -> Option<&'a [u8]> {
        let len = self.length()?;
        self.take(len)
    }

    fn id(&mut self, hash: Kind) -> Option<ObjectId> {
        ObjectId::try_from(self.take(hash.len_in_bytes())?).ok()
    }

    fn record(&mut self, hash: Kind) -> Option<Record> {
        let (old, new) = (self.id(hash)?, self.id(hash)?);
        // The person's name and address.
        self.string()?;
        self.string()?;
        let time_s = i64::try_from(self.varint()?).ok()?;
        let zone = i16::from_be_bytes(*self.take(2)?.first_chunk()?);
        self.string()?;
        Some(Record {
            old,
            new,
            time_s,
            zone: zone.into(),
        })
    }
}
