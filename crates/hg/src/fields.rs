//! Big-endian numbers in byte strings.

/// Returns the `LEN` bytes at `start`.
pub(crate) fn array<const LEN: usize>(bytes: &[u8], start: usize) -> Option<[u8; LEN]> {
    bytes
        .get(start..start.checked_add(LEN)?)?
        .first_chunk()
        .copied()
}

/// Returns the unsigned 32-bit number at `start`.
pub(crate) fn u32_at(bytes: &[u8], start: usize) -> Option<u32> {
    array(bytes, start).map(u32::from_be_bytes)
}

/// Returns the signed 32-bit number at `start`.
pub(crate) fn i32_at(bytes: &[u8], start: usize) -> Option<i32> {
    array(bytes, start).map(i32::from_be_bytes)
}

/// Returns the unsigned 16-bit number at `start`.
pub(crate) fn u16_at(bytes: &[u8], start: usize) -> Option<u16> {
    array(bytes, start).map(u16::from_be_bytes)
}

/// Returns the unsigned 64-bit number at `start`.
pub(crate) fn u64_at(bytes: &[u8], start: usize) -> Option<u64> {
    array(bytes, start).map(u64::from_be_bytes)
}
