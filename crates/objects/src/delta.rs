//! Deltas: an object as a sequence of copies from another one and of literal bytes
//! (gitformat-pack(5)).

use super::inflate::make_room;

/// The shortest delta that git accepts, in bytes.
const LEN_MIN: usize = 4;

/// The length of a copy command that specifies none.
const COPY_LEN_DEFAULT: usize = 0x10000;

/// The most bytes that are reserved at once for a result. More is allocated only as the delta
/// produces it.
const RESERVE_MAX: usize = 64 << 20;

/// A delta whose header was parsed.
#[derive(Debug)]
pub(super) struct Delta<'a> {
    /// The size of the base, in bytes.
    pub(super) base_size: u64,
    /// The size of the result, in bytes.
    pub(super) size: u64,
    commands: &'a [u8],
}

/// git's message about a delta that cannot be applied.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum DeltaError {
    /// No specific message.
    Unexplained,
    /// A specific message, without "error: ".
    Explained(&'static str),
    /// There is too little memory for a result of this many bytes.
    NoMemory(usize),
}

const WILD: DeltaError = DeltaError::Explained("delta replay has gone wild");

impl<'a> Delta<'a> {
    pub(super) fn parse(bytes: &'a [u8]) -> Option<Self> {
        if bytes.len() < LEN_MIN {
            return None;
        }
        let (base_size, rest) = size(bytes)?;
        let (size, commands) = size(rest)?;
        Some(Self {
            base_size,
            size,
            commands,
        })
    }

    /// Appends the result to `out`. On an error, `out` is unchanged.
    pub(super) fn apply(&self, base: &[u8], out: &mut Vec<u8>) -> Result<(), DeltaError> {
        let start = out.len();
        let result = self.apply_onto(base, out);
        if result.is_err() {
            out.truncate(start);
        }
        result
    }

    fn apply_onto(&self, base: &[u8], out: &mut Vec<u8>) -> Result<(), DeltaError> {
        if self.base_size != base.len() as u64 {
            return Err(DeltaError::Unexplained);
        }
        let size = usize::try_from(self.size).map_err(|_| WILD)?;
        let mut left = size;
        let no_memory = |_| DeltaError::NoMemory(size);
        out.try_reserve(left.min(RESERVE_MAX)).map_err(no_memory)?;
        let mut commands = self.commands;
        while let Some((&command, rest)) = commands.split_first() {
            commands = rest;
            let bytes = if command & 0x80 != 0 {
                let (offset, len) = copy(command, &mut commands).ok_or(WILD)?;
                let end = offset.checked_add(len).ok_or(WILD)?;
                base.get(offset..end).ok_or(WILD)?
            } else if command != 0 {
                let (bytes, rest) = commands.split_at_checked(command.into()).ok_or(WILD)?;
                commands = rest;
                bytes
            } else {
                return Err(DeltaError::Explained("unexpected delta opcode 0"));
            };
            make_room(out, bytes.len(), left).map_err(no_memory)?;
            left = left.checked_sub(bytes.len()).ok_or(WILD)?;
            out.extend_from_slice(bytes);
        }
        if left == 0 { Ok(()) } else { Err(WILD) }
    }
}

/// Returns the size of the result of the delta that begins with `bytes`, which may be cut off after
/// its header.
pub(super) fn result_size(bytes: &[u8]) -> Option<u64> {
    let (_, rest) = size(bytes)?;
    Some(size(rest)?.0)
}

/// Returns the offset in the base and the length of a copy. Takes their bytes from `rest`.
#[inline]
fn copy(command: u8, rest: &mut &[u8]) -> Option<(usize, usize)> {
    let mut field = |bits: std::ops::Range<u32>| {
        let mut value = 0;
        for (shift, bit) in bits.enumerate() {
            if command & (1 << bit) != 0 {
                let (&byte, after) = rest.split_first()?;
                value |= usize::from(byte) << (8 * shift);
                *rest = after;
            }
        }
        Some(value)
    };
    let offset = field(0..4)?;
    let len = field(4..7)?;
    Some((offset, if len == 0 { COPY_LEN_DEFAULT } else { len }))
}

/// Reads a number in groups of seven bits, the lowest first.
fn size(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut value = 0u64;
    for (place, &byte) in bytes.iter().enumerate() {
        let shift = u32::try_from(place).ok()? * 7;
        let bits = u64::from(byte & 0x7f);
        let shifted = bits.checked_shl(shift)?;
        if shifted >> shift != bits {
            return None;
        }
        value |= shifted;
        if byte & 0x80 == 0 {
            return Some((value, bytes.get(place + 1..)?));
        }
    }
    None
}
