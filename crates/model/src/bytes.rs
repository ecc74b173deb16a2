//! Values one after another in a block: little-endian numbers, and bytes with their length before them.

use bstr::BString;
use gix_hash::ObjectId;

/// Writes values.
#[derive(Default)]
pub struct Writer(pub Vec<u8>);

impl Writer {
    /// Four bytes.
    pub fn u32(&mut self, value: u32) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    /// Eight bytes.
    pub fn i64(&mut self, value: i64) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    /// Bytes whose number the reader knows.
    pub fn array<const N: usize>(&mut self, value: &[u8; N]) {
        self.0.extend_from_slice(value);
    }

    /// Bytes with their number before them, which is below 2^32.
    pub fn bytes(&mut self, value: &[u8]) {
        self.u32(u32::try_from(value.len()).unwrap_or(u32::MAX));
        self.0.extend_from_slice(value);
    }

    /// A value that may be missing.
    pub fn optional<T>(&mut self, value: Option<T>, write: impl FnOnce(&mut Self, T)) {
        self.u32(u32::from(value.is_some()));
        if let Some(value) = value {
            write(self, value);
        }
    }
}

/// Reads values; `None` where there are no more bytes.
pub struct Reader<'b>(pub &'b [u8]);

impl<'b> Reader<'b> {
    /// Four bytes.
    pub fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    /// Eight bytes.
    pub fn i64(&mut self) -> Option<i64> {
        self.array().map(i64::from_le_bytes)
    }

    /// So many bytes.
    pub fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (value, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*value)
    }

    /// Bytes with their number before them.
    pub fn bytes(&mut self) -> Option<BString> {
        self.slice().map(BString::from)
    }

    /// As [`Self::bytes`], where they lie.
    pub fn slice(&mut self) -> Option<&'b [u8]> {
        let len = self.u32()? as usize;
        self.take(len)
    }

    /// The next `len` bytes.
    pub fn take(&mut self, len: usize) -> Option<&'b [u8]> {
        let (value, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(value)
    }

    /// The id of an object, with its length before it.
    pub fn id(&mut self) -> Option<ObjectId> {
        ObjectId::try_from(self.slice()?).ok()
    }

    /// A value that may be missing.
    pub fn optional<T>(&mut self, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<Option<T>> {
        match self.u32()? {
            0 => Some(None),
            _ => read(self).map(Some),
        }
    }
}
