//! The order of a listing: names compared as unsigned bytes, as `strcmp(3)` and git do.
//!
//! Names are sorted by slots. A slot holds the first eight bytes of a name as one big-endian number, above the
//! location of the name. Slots compare as single integers, and only names that share eight bytes are compared
//! again by the next eight.

use super::kernel::Record;
use super::ranks;

/// The number of slots from which a radix sort is faster than comparisons. Smaller code matters below it: each
/// system call leaves the caches cold.
const RADIX_MIN: usize = 160;
/// The greatest number of slots for which a position fits in 16 bits.
const RADIX_MAX: usize = 1 << 16;
/// The number of moves per slot after which it is clear that the digits did not distinguish the names.
const SETTLE_MOVES_MAX: usize = 4;
/// Names with a longer common prefix are compared as a whole, which bounds the recursion.
const DEPTH_BYTES_MAX: usize = 256;

/// From the most significant bit down: eight bytes of name, 40 bits of offset, 16 of length, 8 of type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Slot(u128);

impl Slot {
    /// The slot for a record.
    #[inline]
    pub(super) fn new(record: Record) -> Self {
        let rest = (record.name_at as u64) << 24
            | (record.name_len as u64 & 0xFFFF) << 8
            | u64::from(record.d_type);
        let prefix = masked(record.prefix, record.name_len);
        Self(u128::from(prefix) << 64 | u128::from(rest))
    }

    /// The first eight bytes of the name, or the later eight by which it is being sorted.
    #[inline]
    pub(super) fn prefix(self) -> u64 {
        (self.0 >> 64) as u64
    }

    /// The offset of the name.
    #[inline]
    pub(super) fn name_at(self) -> usize {
        (self.0 as u64 >> 24) as usize
    }

    /// The length of the name.
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

    /// The type as the kernel reported it (readdir(3)).
    #[inline]
    pub(super) fn d_type(self) -> u8 {
        self.0 as u8
    }

    /// Replaces the type.
    pub(super) fn set_d_type(&mut self, d_type: u8) {
        self.0 = self.0 & !0xFF | u128::from(d_type);
    }

    /// Replaces the prefix with the eight bytes of the name from `depth` on.
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

/// `prefix` with all bytes after the first `len` set to zero, since memory after a name may hold anything.
#[inline]
fn masked(prefix: u64, len: usize) -> u64 {
    // Two shifts, because a shift by the full width of the number is not allowed.
    let half = 4 * 8_usize.saturating_sub(len);
    prefix & (u64::MAX << half << half)
}

/// Memory for sorting, reused from one directory to the next.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    slots: Vec<Slot>,
    keys: [Vec<u32>; 2],
}

impl Scratch {
    /// The number of slots that would fit in the memory.
    #[cfg(test)]
    pub(super) fn slots_max(&self) -> usize {
        let [keys, others] = &self.keys;
        self.slots.capacity() + (keys.capacity() + others.capacity()) / 4
    }
}

/// Sorts `slots` by the names in `bytes`.
pub(super) fn sort(slots: &mut [Slot], bytes: &[u8], scratch: &mut Scratch) {
    sort_from(slots, bytes, scratch, 0);
}

/// Sorts slots whose names agree in the bytes before `depth`, and whose prefixes start at `depth`.
fn sort_from(slots: &mut [Slot], bytes: &[u8], scratch: &mut Scratch, depth: usize) {
    let ties = match slots.len() {
        RADIX_MIN..=RADIX_MAX => {
            if let Some(digit) = Digit::of_unsorted(slots) {
                sort_by_digit(slots, digit, scratch);
            }
            settle(slots)
        }
        ..=ranks::KEYS_MAX if sort_by_rank(slots, &mut scratch.slots) => false,
        _ => {
            slots.sort_unstable();
            let mut pairs = slots.iter().zip(slots.iter().skip(1));
            pairs.any(|(a, b)| a.prefix() == b.prefix())
        }
    };
    if ties {
        resolve_ties(slots, bytes, scratch, depth);
    }
}

/// Sorts slots whose prefixes all differ. Returns `false` if they do not, or if this method is not available.
fn sort_by_rank(slots: &mut [Slot], copy: &mut Vec<Slot>) -> bool {
    copy.clear();
    copy.extend_from_slice(slots);
    ranks::rank(copy.iter().map(|slot| slot.prefix()), |at, place| {
        if let (Some(slot), Some(place)) = (copy.get(at), slots.get_mut(place)) {
            *place = *slot;
        }
    })
}

/// Sorts slots of which few are out of order. Returns whether any prefix occurs more than once.
fn settle(slots: &mut [Slot]) -> bool {
    let mut moves_left = slots.len() * SETTLE_MOVES_MAX;
    let mut ties = false;
    let mut at = 1;
    while let Some(ahead) = next_misplaced(slots, at) {
        at += ahead;
        let Some([sorted @ .., last]) = slots.get_mut(..=at) else {
            break;
        };
        let slot = *last;
        let mut hole = last;
        for other in sorted.iter_mut().rev() {
            if other.prefix() < slot.prefix() {
                break;
            }
            ties |= other.prefix() == slot.prefix();
            if *other < slot {
                break;
            }
            *hole = *other;
            hole = other;
            moves_left = moves_left.saturating_sub(1);
        }
        *hole = slot;
        if moves_left == 0 {
            slots.sort_unstable();
            return true;
        }
        at += 1;
    }
    ties
}

/// The distance from `at` to the next slot whose prefix is not greater than the previous one's.
fn next_misplaced(slots: &[Slot], at: usize) -> Option<usize> {
    let before = slots.get(at - 1..)?;
    let mut pairs = before.iter().zip(before.get(1..)?);
    pairs.position(|(before, slot)| before.prefix() >= slot.prefix())
}

/// Sorts each run of equal prefixes by the bytes that follow.
fn resolve_ties(slots: &mut [Slot], bytes: &[u8], scratch: &mut Scratch, depth: usize) {
    let ties = slots.chunk_by_mut(|a, b| a.prefix() == b.prefix());
    for tie in ties.filter(|tie| tie.len() > 1) {
        // The names end within the prefix and are equal: there is nothing left to compare.
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

/// Sorts slots by their digits, in two counting passes.
#[inline(never)]
fn sort_by_digit(slots: &mut [Slot], digit: Digit, scratch: &mut Scratch) {
    let [keys, keys_by_low] = &mut scratch.keys;
    let mut low = [0_u32; 256];
    let mut high = [0_u32; 256];
    keys.clear();
    keys.extend(slots.iter().zip(0_u32..).map(|(slot, at)| {
        let digit = digit.of(*slot);
        count(&mut low, digit as u8);
        count(&mut high, (digit >> 8) as u8);
        at << 16 | u32::from(digit)
    }));
    keys_by_low.resize(keys.len(), 0);
    scratch.slots.clear();
    scratch.slots.extend_from_slice(slots);
    to_places(&mut low);
    to_places(&mut high);
    for key in keys.iter() {
        if let Some(place) = keys_by_low.get_mut(count(&mut low, *key as u8)) {
            *place = *key;
        }
    }
    for key in keys_by_low.iter() {
        let place = slots.get_mut(count(&mut high, (*key >> 8) as u8));
        if let (Some(place), Some(slot)) = (place, scratch.slots.get((*key >> 16) as usize)) {
            *place = *slot;
        }
    }
}

/// Increments the count for `byte` and returns its previous value.
#[inline]
fn count(numbers: &mut [u32; 256], byte: u8) -> usize {
    match numbers.get_mut(usize::from(byte)) {
        Some(number) => {
            *number += 1;
            *number as usize - 1
        }
        None => 0,
    }
}

/// Turns the count of each byte value into the position of its first slot.
fn to_places(numbers: &mut [u32; 256]) {
    let mut sum = 0;
    for number in numbers {
        sum += std::mem::replace(number, sum);
    }
}

/// The 16 bits of a prefix by which to sort: from each of the first three bytes that vary, the bits from the
/// highest one that varies downwards.
#[derive(Clone, Copy, Debug, Default)]
struct Digit {
    parts: [DigitPart; 3],
}

/// Some bits of a prefix, and the rotation that brings them to their place in the digit.
#[derive(Clone, Copy, Debug, Default)]
struct DigitPart {
    turn: u32,
    mask: u64,
}

impl Digit {
    /// The digit that distinguishes these slots. `None` if they are sorted already.
    fn of_unsorted(slots: &[Slot]) -> Option<Self> {
        let first = slots.first()?.prefix();
        let mut previous = first;
        let mut varying = 0;
        let mut sorted = true;
        for prefix in slots.iter().map(|slot| slot.prefix()) {
            varying |= prefix ^ first;
            sorted &= previous <= prefix;
            previous = prefix;
        }
        (!sorted).then(|| Self::new(varying))
    }

    fn new(varying: u64) -> Self {
        let mut digit = Self::default();
        let mut free = 16;
        let bytes = varying.to_be_bytes().into_iter().zip((0..8_u32).rev());
        let bytes = bytes.filter(|(bits, _)| *bits != 0);
        for (part, (bits, byte)) in digit.parts.iter_mut().zip(bytes) {
            // `top` and `free` are the ends of the part in the prefix and in the digit: one more than the
            // position of its highest bit.
            let top = byte * 8 + 8 - bits.leading_zeros();
            let width = (8 - bits.leading_zeros()).min(free);
            *part = DigitPart {
                turn: (64 + free - top) % 64,
                mask: ((1 << width) - 1) << (free - width),
            };
            free -= width;
        }
        digit
    }

    #[inline]
    fn of(&self, slot: Slot) -> u16 {
        let prefix = slot.prefix();
        let value = self.parts.iter().fold(0, |value, part| {
            value | prefix.rotate_left(part.turn) & part.mask
        });
        value as u16
    }
}
