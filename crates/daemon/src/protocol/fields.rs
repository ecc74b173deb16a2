//! Fields with keys. Readers skip unknown keys, so that fields can be added later.

use vigil_model::bytes::{ByteReader, ByteWriter};

/// Calls `take` with the key and the value of each remaining field in `body`.
pub(super) fn each_field(
    body: &mut ByteReader<'_>,
    mut take: impl FnMut(u32, &[u8]) -> Option<()>,
) -> Option<()> {
    while !body.0.is_empty() {
        let key = body.u32()?;
        take(key, body.slice()?)?;
    }
    Some(())
}

pub(super) fn number(value: &[u8]) -> Option<u64> {
    value.try_into().ok().map(u64::from_le_bytes)
}

/// Writes fields.
pub(super) struct Fields<'a>(pub(super) &'a mut ByteWriter);

impl Fields<'_> {
    pub(super) fn text(&mut self, key: u32, value: &[u8]) {
        self.0.u32(key);
        self.0.bytes(value);
    }

    pub(super) fn number(&mut self, key: u32, value: u64) {
        self.text(key, &value.to_le_bytes());
    }

    pub(super) fn nested(&mut self, key: u32, write: impl FnOnce(&mut Fields<'_>)) {
        let mut inner = ByteWriter::default();
        write(&mut Fields(&mut inner));
        self.text(key, &inner.0);
    }
}
