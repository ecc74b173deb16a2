//! A sequence of values in a block: little-endian numbers, and byte strings preceded by their length.

use bstr::BString;
use gix_hash::ObjectId;

/// Appends values to a buffer.
#[derive(Default)]
pub struct ByteWriter(pub Vec<u8>);

impl ByteWriter {
    /// Writes four bytes.
    pub fn u32(&mut self, value: u32) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    /// Writes eight bytes.
    pub fn i64(&mut self, value: i64) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    /// Writes bytes without their length, which the reader knows.
    pub fn array<const N: usize>(&mut self, value: &[u8; N]) {
        self.0.extend_from_slice(value);
    }

    /// Writes bytes preceded by their length, which must be below 2^32.
    pub fn bytes(&mut self, value: &[u8]) {
        self.u32(u32::try_from(value.len()).unwrap_or(u32::MAX));
        self.0.extend_from_slice(value);
    }

    /// Writes a value that may be absent.
    pub fn optional<T>(&mut self, value: Option<T>, write: impl FnOnce(&mut Self, T)) {
        self.u32(u32::from(value.is_some()));
        if let Some(value) = value {
            write(self, value);
        }
    }
}

/// Reads values. Each method returns `None` where too few bytes are left.
pub struct ByteReader<'b>(pub &'b [u8]);

impl<'b> ByteReader<'b> {
    /// Reads four bytes.
    pub fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    /// Reads eight bytes.
    pub fn i64(&mut self) -> Option<i64> {
        self.array().map(i64::from_le_bytes)
    }

    /// Reads `N` bytes.
    pub fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (value, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*value)
    }

    /// Reads bytes preceded by their length.
    pub fn bytes(&mut self) -> Option<BString> {
        self.slice().map(BString::from)
    }

    /// Reads the same as [`Self::bytes`], without a copy.
    pub fn slice(&mut self) -> Option<&'b [u8]> {
        let len = self.u32()? as usize;
        self.take(len)
    }

    /// Reads the next `len` bytes.
    pub fn take(&mut self, len: usize) -> Option<&'b [u8]> {
        let (value, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(value)
    }

    /// Reads an object id preceded by its length.
    pub fn id(&mut self) -> Option<ObjectId> {
        ObjectId::try_from(self.slice()?).ok()
    }

    /// Reads a value that may be absent.
    pub fn optional<T>(&mut self, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<Option<T>> {
        match self.u32()? {
            0 => Some(None),
            _ => read(self).map(Some),
        }
    }
}
