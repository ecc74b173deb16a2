//! Values one after another in a block: little-endian numbers, and bytes with their length before them.

use bstr::BString;
use gix_hash::ObjectId;

/// Writes values.
#[derive(Default)]
pub(crate) struct Writer(pub(crate) Vec<u8>);

impl Writer {
    pub(crate) fn u32(&mut self, value: u32) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    pub(crate) fn i64(&mut self, value: i64) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    pub(crate) fn array<const N: usize>(&mut self, value: &[u8; N]) {
        self.0.extend_from_slice(value);
    }

    pub(crate) fn bytes(&mut self, value: &[u8]) {
        self.u32(u32::try_from(value.len()).unwrap_or(u32::MAX));
        self.0.extend_from_slice(value);
    }

    /// A value that may be missing.
    pub(crate) fn optional<T>(&mut self, value: Option<T>, write: impl FnOnce(&mut Self, T)) {
        self.u32(u32::from(value.is_some()));
        if let Some(value) = value {
            write(self, value);
        }
    }
}

/// Reads values; `None` where there are no more bytes.
pub(crate) struct Reader<'b>(pub(crate) &'b [u8]);

impl<'b> Reader<'b> {
    pub(crate) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub(crate) fn i64(&mut self) -> Option<i64> {
        self.array().map(i64::from_le_bytes)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (value, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*value)
    }

    pub(crate) fn bytes(&mut self) -> Option<BString> {
        self.slice().map(BString::from)
    }

    /// As [`Self::bytes`], where they lie.
    pub(crate) fn slice(&mut self) -> Option<&'b [u8]> {
        let len = self.u32()? as usize;
        self.take(len)
    }

    /// The next `len` bytes.
    pub(crate) fn take(&mut self, len: usize) -> Option<&'b [u8]> {
        let (value, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(value)
    }

    pub(crate) fn id(&mut self) -> Option<ObjectId> {
        ObjectId::try_from(self.slice()?).ok()
    }

    pub(crate) fn optional<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Option<T>,
    ) -> Option<Option<T>> {
        match self.u32()? {
            0 => Some(None),
            _ => read(self).map(Some),
        }
    }
}
