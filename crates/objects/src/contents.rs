//! How contents are handed to the caller: all at once, or piece by piece.

use super::facts::Info;

/// The largest object that is put together in memory, in bytes. A size in a damaged file must not exhaust memory.
pub(super) const SIZE_MAX: u64 = 4 << 30;

/// Takes contents piece by piece.
pub(super) type Sink<'a, E> = &'a mut dyn FnMut(Info, &[u8]) -> Result<(), E>;

/// Sees the type and size of an object before its contents are appended, and returns whether they are wanted.
pub(super) type BeforeContents<'a> = &'a mut dyn FnMut(Info, &mut Vec<u8>) -> bool;

/// How much git inflates and writes at a time when it streams, in bytes. It writes nothing of a part in which it fails,
/// or right after which it fails.
const PART_LEN: usize = 16 << 10;

/// Returns how much of `piece` can be written, whatever follows.
pub(super) fn whole_parts(piece: &[u8]) -> usize {
    piece.len().saturating_sub(1) / PART_LEN * PART_LEN
}
