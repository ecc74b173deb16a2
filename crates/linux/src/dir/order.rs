//! The order of a listing: names compared as unsigned bytes, as `strcmp(3)` and git do.
//!
//! A name is sorted by a slot: its first eight bytes as one big-endian number, above where the rest is. Slots
//! compare as one integer, and only those that share eight bytes are looked at again, by the next eight.

use super::EntryKind;
use super::kernel::Record;

/// Fewer slots than this are left to the comparison sort of the standard library.
const RADIX_SLOTS_MIN: usize = 128;
/// Names that agree for longer than this are compared whole, so that the recursion is bounded.
const DEPTH_BYTES_MAX: usize = 256;

/// From the highest bit down: eight bytes of name, 40 bits of offset, 16 of length, 8 of kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Slot(u128);

impl Slot {
    /// The slot for a record in `bytes`; an unknown kind is left for [`Slot::set_kind`].
    #[inline]
    pub(super) fn new(bytes: &[u8], record: Record, kind: Option<EntryKind>) -> Self {
        let prefix = match bytes.get(record.name_at..).and_then(<[u8]>::first_chunk) {
            Some(first) => masked(u64::from_be_bytes(*first), record.name_len),
            None => 0,
        };
        let rest = (record.name_at as u64) << 24
            | (record.name_len as u64 & 0xFFFF) << 8
            | kind.map_or(UNKNOWN, kind_bits);
        Self(u128::from(prefix) << 64 | u128::from(rest))
    }

    /// The first eight bytes of the name, or the later eight by which it was sorted.
    #[inline]
    pub(super) fn prefix(self) -> u64 {
        (self.0 >> 64) as u64
    }

    /// Offset of the name.
    #[inline]
    pub(super) fn name_at(self) -> usize {
        (self.0 as u64 >> 24) as usize
    }

    /// Length of the name.
    #[inline]
    pub(super) fn name_len(self) -> usize {
        (self.0 as u64 >> 8) as usize & 0xFFFF
    }

    /// The bytes of the name.
    #[inline]
    fn name(self, bytes: &[u8]) -> &[u8] {
        bytes
            .get(self.name_at()..self.name_at() + self.name_len())
            .unwrap_or_default()
    }

    /// The kind, or nothing where it is not known yet.
    #[inline]
    pub(super) fn kind(self) -> Option<EntryKind> {
        match self.0 as u64 & 0xFF {
            0 => Some(EntryKind::File),
            1 => Some(EntryKind::Dir),
            2 => Some(EntryKind::Symlink),
            UNKNOWN => None,
            _ => Some(EntryKind::Other),
        }
    }

    /// Replaces the kind.
    pub(super) fn set_kind(&mut self, kind: EntryKind) {
        self.0 = self.0 & !0xFF | u128::from(kind_bits(kind));
    }

    /// Replaces the prefix by the eight bytes of the name from `depth`.
    fn set_prefix(&mut self, bytes: &[u8], depth: usize) {
        let left = self.name_len().saturating_sub(depth);
        let prefix = match bytes
            .get(self.name_at() + depth..)
            .and_then(<[u8]>::first_chunk)
        {
            Some(next) => masked(u64::from_be_bytes(*next), left),
            None => 0,
        };
        self.0 = u128::from(prefix) << 64 | u128::from(self.0 as u64);
    }
}

const UNKNOWN: u64 = 0xFF;

#[inline]
fn kind_bits(kind: EntryKind) -> u64 {
    match kind {
        EntryKind::File => 0,
        EntryKind::Dir => 1,
        EntryKind::Symlink => 2,
        EntryKind::Other => 3,
    }
}

/// `prefix` with the bytes after the first `len` set to zero: memory behind a name holds anything.
#[inline]
fn masked(prefix: u64, len: usize) -> u64 {
    match len {
        0 => 0,
        len => prefix & u64::MAX << (8 * 8_usize.saturating_sub(len)),
    }
}

/// Sorts `slots` by the names in `bytes`. `scratch` is memory for reuse.
pub(super) fn sort(slots: &mut [Slot], bytes: &[u8], scratch: &mut Vec<Slot>) {
    sort_from(slots, bytes, scratch, 0);
}

/// Sorts slots whose names agree in the bytes before `depth`, and whose prefixes are those at `depth`.
fn sort_from(slots: &mut [Slot], bytes: &[u8], scratch: &mut Vec<Slot>, depth: usize) {
    if slots.len() < RADIX_SLOTS_MIN {
        slots.sort_unstable();
    } else {
        sort_by_radix(slots, scratch);
    }
    let ties = slots.chunk_by_mut(|a, b| a.prefix() == b.prefix());
    for tie in ties.filter(|tie| tie.len() > 1) {
        // A name that ended within the prefix would be there twice: nothing is left to compare.
        if tie.first().is_some_and(|slot| slot.prefix() & 0xFF == 0) {
            continue;
        }
        if depth >= DEPTH_BYTES_MAX {
            tie.sort_unstable_by(|a, b| a.name(bytes).cmp(b.name(bytes)));
            continue;
        }
        for slot in tie.iter_mut() {
            slot.set_prefix(bytes, depth + 8);
        }
        sort_from(tie, bytes, scratch, depth + 8);
    }
}

/// Sorts by as many of the highest varying bits as two passes of counting can, then compares within what is
/// still equal.
#[inline(never)]
fn sort_by_radix(slots: &mut [Slot], scratch: &mut Vec<Slot>) {
    let Some(first) = slots.first().map(|slot| slot.prefix()) else {
        return;
    };
    let mut varying = 0;
    let mut previous = first;
    let mut sorted = true;
    for slot in slots.iter() {
        varying |= slot.prefix() ^ first;
        sorted &= previous <= slot.prefix();
        previous = slot.prefix();
    }
    if sorted {
        return;
    }
    let digit = Digit::new(varying);
    scratch.clear();
    scratch.resize(slots.len(), Slot::default());
    scatter(slots, scratch, |slot| digit.of(slot) as u8);
    scatter(scratch, slots, |slot| (digit.of(slot) >> 8) as u8);
    let same = slots.chunk_by_mut(|a, b| digit.of(*a) == digit.of(*b));
    for group in same.filter(|group| group.len() > 1) {
        group.sort_unstable();
    }
}

/// One pass of a counting sort by a byte, which keeps the order of equals.
#[inline]
fn scatter(from: &[Slot], to: &mut [Slot], byte: impl Fn(Slot) -> u8) {
    let mut places = [0_u32; 256];
    for slot in from {
        if let Some(count) = places.get_mut(usize::from(byte(*slot))) {
            *count += 1;
        }
    }
    let mut sum = 0;
    for place in &mut places {
        sum += std::mem::replace(place, sum);
    }
    for slot in from {
        if let Some(place) = places.get_mut(usize::from(byte(*slot))) {
            if let Some(target) = to.get_mut(*place as usize) {
                *target = *slot;
            }
            *place += 1;
        }
    }
}

/// Which 16 bits of a prefix to sort by: the low bits, down from the highest that varies, of each of the
/// first three bytes that vary.
#[derive(Clone, Copy, Debug, Default)]
struct Digit {
    parts: [DigitPart; 3],
}

#[derive(Clone, Copy, Debug, Default)]
struct DigitPart {
    shift: u32,
    mask: u64,
    width: u32,
}

impl Digit {
    fn new(varying: u64) -> Self {
        let mut digit = Self::default();
        let mut left = 16;
        let bytes = varying.to_be_bytes().into_iter().zip((0..8_u32).rev());
        for (part, (bits, byte)) in digit
            .parts
            .iter_mut()
            .zip(bytes.filter(|(bits, _)| *bits != 0))
        {
            let width = (8 - bits.leading_zeros()).min(left);
            let cut = 8 - bits.leading_zeros() - width;
            left -= width;
            *part = DigitPart {
                shift: byte * 8 + cut,
                mask: (1 << width) - 1,
                width,
            };
        }
        digit
    }

    #[inline]
    fn of(&self, slot: Slot) -> u16 {
        let prefix = slot.prefix();
        let value = self.parts.iter().fold(0, |value, part| {
            value << part.width | prefix >> part.shift & part.mask
        });
        value as u16
    }
}
