//! The logs in a table: each record by itself, newest first.

use std::io::Read;
use std::ops::Range;

use bstr::{BStr, ByteSlice};

use super::super::block::{Reason, RecordReader, Records};
use super::super::error::Error;
use super::{BLOCK_INDEX, BLOCK_LOG, ReftableFile};
use crate::reflog::LogRecord;

impl ReftableFile {
    /// Returns a cursor over the log of `name`, newest record first.
    pub(in crate::reftable) fn log_cursor<'t>(
        &'t self,
        name: &'t BStr,
    ) -> Result<LogCursor<'t>, Error> {
        let start = self.logs_start(name);
        let mut cursor = LogCursor {
            table: self,
            name,
            next: start.map_err(|reason| self.corrupt(reason))?,
            block: Vec::new(),
            unread: 0..0,
            key: Vec::new(),
            record: None,
        };
        cursor.advance()?;
        Ok(cursor)
    }

    /// Calls `found` for each record in the log of `name`, with its update number: `None` for a deleted one.
    #[cfg(any(test, feature = "fuzzing"))]
    pub(crate) fn for_each_log(
        &self,
        name: &BStr,
        mut found: impl FnMut(u64, Option<(LogRecord, &BStr)>),
    ) -> Result<(), Error> {
        let mut cursor = self.log_cursor(name)?;
        while let Some(update) = cursor.update() {
            found(update, cursor.record());
            cursor.advance()?;
        }
        Ok(())
    }

    /// Returns where the block starts that contains the newest record in the log of `name`, if there is one; `None` if all
    /// logs come before it.
    fn logs_start(&self, name: &BStr) -> Result<Option<usize>, Reason> {
        if self.log_index == 0 {
            return Ok(Some(self.logs.start));
        }
        // The newest entries come first.
        let first = [name.as_bytes(), &[0; 9]].concat();
        self.first_block(self.log_index, &first, BLOCK_LOG, self.logs.clone())
    }

    /// Inflates the log block that starts at `at` into `block`, and returns where the next one starts; `None` if it is no log
    /// block, but one of their index.
    fn inflate_logs(&self, at: usize, block: &mut Vec<u8>) -> Result<Option<usize>, Reason> {
        let (body, kind, length) = self.block_start(at)?;
        match kind {
            BLOCK_LOG => {}
            // The lower levels of the index are between the logs and its root.
            BLOCK_INDEX => return Ok(None),
            _ => return Err("a block is of another type"),
        }
        let length = at
            .saturating_add(length)
            .checked_sub(body)
            .ok_or("a block is too short")?;
        let packed = self.bytes.get(body..self.logs.end).unwrap_or_default();
        let mut inflater = flate2::bufread::ZlibDecoder::new(packed);
        block.clear();
        // One byte more than the header says, so that the end of the stream is reached and counted.
        (&mut inflater)
            .take(length as u64 + 1)
            .read_to_end(block)
            .map_err(|_| "a log block cannot be inflated")?;
        if block.len() != length {
            return Err("a log block is not of the promised length");
        }
        let used = usize::try_from(inflater.total_in()).unwrap_or(packed.len());
        Ok(Some(body.saturating_add(used)))
    }

    /// Reads the data of a log record, and its message.
    fn log_data<'r>(&self, reader: &mut RecordReader<'r>) -> Result<(LogRecord, &'r BStr), Reason> {
        let (old, new) = (self.id(reader)?.to_owned(), self.id(reader)?.to_owned());
        // The person's name and address.
        for _ in 0..2 {
            let length = reader.length()?;
            reader.take(length)?;
        }
        let time_s = i64::try_from(reader.varint()?).unwrap_or(i64::MAX);
        let zone = reader.take(2)?.first_chunk().copied().unwrap_or_default();
        let length = reader.length()?;
        let message = reader.take(length)?.as_bstr();
        let record = LogRecord {
            old,
            new,
            time_s,
            zone: i16::from_be_bytes(zone).into(),
        };
        Ok((record, message))
    }
}

/// Iterates over the records in the log of one reference, newest first. Only one block of it is in memory.
pub(in crate::reftable) struct LogCursor<'t> {
    table: &'t ReftableFile,
    /// The reference.
    name: &'t BStr,
    /// Where the next block starts, if there is one.
    next: Option<usize>,
    /// The current block, inflated.
    block: Vec<u8>,
    /// Where the following records are in `block`.
    unread: Range<usize>,
    /// The key of the last record that was read.
    key: Vec<u8>,
    record: Option<CurrentLogRecord>,
}

/// The record at which a [`LogCursor`] stands.
struct CurrentLogRecord {
    update: u64,
    /// The data, and where the message is in the block; `None` if the record was deleted.
    data: Option<(LogRecord, Range<usize>)>,
}

impl LogCursor<'_> {
    /// The number of the update that made the current record; `None` at the end.
    pub(in crate::reftable) fn update(&self) -> Option<u64> {
        self.record.as_ref().map(|record| record.update)
    }

    /// The current record and its message; `None` if it was deleted.
    pub(in crate::reftable) fn record(&self) -> Option<(LogRecord, &BStr)> {
        let (record, message) = self.record.as_ref()?.data.as_ref()?;
        let message = self.block.get(message.clone()).unwrap_or_default();
        Some((*record, message.as_bstr()))
    }

    /// Moves to the next record.
    pub(in crate::reftable) fn advance(&mut self) -> Result<(), Error> {
        let moved = self.try_advance();
        moved.map_err(|reason| self.table.corrupt(reason))
    }

    fn try_advance(&mut self) -> Result<(), Reason> {
        self.record = None;
        loop {
            let unread = self.block.get(self.unread.clone()).unwrap_or_default();
            let mut records = Records::resume(unread, std::mem::take(&mut self.key));
            while let Some((key, kind)) = records.next_key()? {
                let (name, update) = log_key(key)?;
                if name > self.name {
                    self.next = None;
                    self.unread = 0..0;
                    return Ok(());
                }
                let is_found = name == self.name;
                let data = match kind {
                    0 => None,
                    1 => Some(self.table.log_data(&mut records.values)?),
                    _ => return Err("a log record is of an unknown type"),
                };
                if !is_found {
                    continue;
                }
                // A record ends with its message.
                let end = self.unread.end.saturating_sub(records.values.0.len());
                let data =
                    data.map(|(record, message)| (record, end.saturating_sub(message.len())..end));
                self.record = Some(CurrentLogRecord { update, data });
                self.key = records.into_key();
                self.unread.start = end;
                return Ok(());
            }
            let Some(at) = self.next.filter(|at| *at < self.table.logs.end) else {
                self.unread = 0..0;
                return Ok(());
            };
            self.next = self.table.inflate_logs(at, &mut self.block)?;
            self.unread = match self.next {
                Some(_) => 0..Records::new(&self.block)?.values.0.len(),
                None => 0..0,
            };
        }
    }
}

/// Splits the key of a log record into the reference and the update number.
fn log_key(key: &[u8]) -> Result<(&BStr, u64), Reason> {
    match key.split_last_chunk::<8>() {
        Some(([name @ .., 0], update)) => {
            Ok((name.as_bstr(), u64::MAX - u64::from_be_bytes(*update)))
        }
        _ => Err("the key of a log record makes no sense"),
    }
}
