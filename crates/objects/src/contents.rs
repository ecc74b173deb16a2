//! How contents are handed on: all at once, or piece by piece.

use super::facts::Info;

/// The largest object that is put together in memory, in bytes: a size in a damaged file must not take all of it.
pub(super) const SIZE_MAX: u64 = 4 << 30;

/// Takes contents piece by piece.
pub(super) type Sink<'a, E> = &'a mut dyn FnMut(Info, &[u8]) -> Result<(), E>;

/// Sees what contents are before they are added.
pub(super) type Begin<'a> = &'a mut dyn FnMut(Info, &mut Vec<u8>) -> bool;

/// How much git inflates and writes at a time of what it streams, in bytes. It writes nothing of a part in which it fails,
/// nor of one right behind which it does.
const PART_LEN: usize = 16 << 10;

/// How much of `piece` can be written, whatever follows.
pub(super) fn whole_parts(piece: &[u8]) -> usize {
    piece.len().saturating_sub(1) / PART_LEN * PART_LEN
}
