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

/// Passes as much of `piece` to `sink` as can be written, whatever follows; all of it at the end. Removes that from `piece`.
///
/// # Errors
/// Those of the sink.
pub(super) fn hand_on<E>(
    piece: &mut Vec<u8>,
    is_end: bool,
    info: Info,
    sink: Sink<'_, E>,
) -> Result<(), E> {
    let ready = match is_end {
        true => piece.len(),
        false => whole_parts(piece),
    };
    if ready > 0 {
        sink(info, piece.get(..ready).unwrap_or_default())?;
    }
    piece.drain(..ready);
    Ok(())
}

/// Returns how much of `piece` can be written, whatever follows.
fn whole_parts(piece: &[u8]) -> usize {
    piece.len().saturating_sub(1) / PART_LEN * PART_LEN
}
