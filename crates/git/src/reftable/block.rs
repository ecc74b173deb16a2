//! Blocks of a reftable: records with compressed keys, bounds-checked throughout.

use bstr::{BStr, ByteSlice};

/// Why a block is invalid.
pub(super) type Reason = &'static str;

/// Bytes that are read from front to back.
#[derive(Clone, Copy, Debug)]
pub(super) struct RecordReader<'a>(pub(super) &'a [u8]);

impl<'a> RecordReader<'a> {
    pub(super) fn take(&mut self, length: usize) -> Result<&'a [u8], Reason> {
        let (taken, rest) = self
            .0
            .split_at_checked(length)
            .ok_or("a record is cut off")?;
        self.0 = rest;
        Ok(taken)
    }

    pub(super) fn byte(&mut self) -> Result<u8, Reason> {
        let (byte, rest) = self.0.split_first().ok_or("a record is cut off")?;
        self.0 = rest;
        Ok(*byte)
    }

    /// Reads a big-endian number of `length` bytes, at most 8.
    pub(super) fn number(&mut self, length: usize) -> Result<u64, Reason> {
        Ok(self
            .take(length)?
            .iter()
            .fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    /// Reads a number in the variable-length encoding of pack files' offset deltas.
    pub(super) fn varint(&mut self) -> Result<u64, Reason> {
        let mut byte = self.byte()?;
        let mut value = u64::from(byte & 0x7f);
        while byte & 0x80 != 0 {
            byte = self.byte()?;
            value = value
                .checked_add(1)
                .and_then(|value| value.checked_mul(128))
                .ok_or("a number is too large")?
                | u64::from(byte & 0x7f);
        }
        Ok(value)
    }

    pub(super) fn length(&mut self) -> Result<usize, Reason> {
        usize::try_from(self.varint()?).map_err(|_| "a length is too large")
    }
}

/// The records of one block. Whoever reads a value must consume exactly the bytes of its record.
#[derive(Debug)]
pub(super) struct Records<'a> {
    pub(super) values: RecordReader<'a>,
    key: Vec<u8>,
}

impl<'a> Records<'a> {
    /// Creates a reader of the records in `block`: its bytes after the 4-byte header, up to and including the restart table.
    pub(super) fn new(block: &'a [u8]) -> Result<Self, Reason> {
        let (rest, count) = block
            .split_last_chunk::<2>()
            .ok_or("a block is too short")?;
        let restarts = 3 * usize::from(u16::from_be_bytes(*count));
        let records = rest
            .len()
            .checked_sub(restarts)
            .and_then(|length| rest.get(..length))
            .ok_or("a restart table is too long")?;
        Ok(Self {
            values: RecordReader(records),
            key: Vec::new(),
        })
    }

    /// Creates a reader of the records that follow one whose key is `key`, in the same block.
    pub(super) fn resume(records: &'a [u8], key: Vec<u8>) -> Self {
        Self {
            values: RecordReader(records),
            key,
        }
    }

    /// The key of the current record, to resume after it.
    pub(super) fn into_key(self) -> Vec<u8> {
        self.key
    }

    /// The key of the current record.
    pub(super) fn key(&self) -> &BStr {
        self.key.as_bstr()
    }

    /// Moves to the next record: returns its key and the three bits of its type. Its value is next in `values`.
    pub(super) fn next_key(&mut self) -> Result<Option<(&[u8], u8)>, Reason> {
        if self.values.0.is_empty() {
            return Ok(None);
        }
        let shared = self.values.length()?;
        let suffix = self.values.varint()?;
        let kind = (suffix & 7) as u8;
        let suffix = usize::try_from(suffix >> 3).map_err(|_| "a length is too large")?;
        if shared > self.key.len() {
            return Err("a key shares more than its predecessor has");
        }
        self.key.truncate(shared);
        self.key.extend_from_slice(self.values.take(suffix)?);
        Ok(Some((&self.key, kind)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_variable_length() {
        let read = |bytes: &[u8]| RecordReader(bytes).varint();
        assert_eq!(read(&[0x7f]), Ok(127));
        assert_eq!(read(&[0x80, 0]), Ok(128));
        assert_eq!(read(&[0x80, 0x7f]), Ok(255));
        assert_eq!(read(&[0x81, 0]), Ok(256));
        assert!(read(&[0x80]).is_err());
        assert!(read(&[0xff; 11]).is_err());
    }
}
