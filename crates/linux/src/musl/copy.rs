//! `memcpy(3)`, `memmove(3)`, `memset(3)` and `memcmp(3)` in the vectors that every x86-64 processor has.
//!
//! The loops are in assembly, since the compiler makes calls of these very functions out of loops like them.

use std::arch::asm;
use std::arch::x86_64::{
    __m128i, _mm_cmpeq_epi8, _mm_loadu_si128, _mm_movemask_epi8, _mm_set1_epi8,
};

/// The bytes of a vector.
const VECTOR: usize = size_of::<__m128i>();

/// What one round of a loop does.
const ROUND: usize = 4 * VECTOR;

/// From how many bytes on the processor's own loop (`rep movsb`, `rep stosb`) is faster than one of vectors: its start
/// costs as much as 10 rounds.
const LONG: usize = 2048;

/// Reads a value from anywhere.
///
/// # Safety
/// `at` must be valid for reading a `T`, which must be valid in any bits.
#[inline(always)]
unsafe fn load<T>(at: *const u8) -> T {
    // SAFETY: the caller's.
    unsafe { at.cast::<T>().read_unaligned() }
}

/// Writes a value anywhere.
///
/// # Safety
/// `at` must be valid for writing a `T`.
#[inline(always)]
unsafe fn store<T>(at: *mut u8, value: T) {
    // SAFETY: the caller's.
    unsafe { at.cast::<T>().write_unaligned(value) }
}

/// Copies the `len` bytes, `size_of::<T>()` to twice that, as the first and the last `T`, which may overlap.
///
/// # Safety
/// As for [`copy`].
#[inline(always)]
unsafe fn copy_ends<T>(to: *mut u8, from: *const u8, len: usize) {
    // SAFETY: both ends lie within the `len` bytes, and both are read before one is written.
    unsafe {
        let last = len.wrapping_sub(size_of::<T>());
        let (head, tail): (T, T) = (load(from), load(from.add(last)));
        store(to, head);
        store(to.add(last), tail);
    }
}

/// Copies `len` bytes, as if through memory of its own: the two may overlap.
///
/// # Safety
/// `from` must be valid for reading `len` bytes, `to` for writing them.
#[inline(always)]
pub(super) unsafe fn copy(to: *mut u8, from: *const u8, len: usize) {
    // SAFETY: each arm reads and writes within the `len` bytes, and reads before it writes.
    unsafe {
        match len {
            0 => {}
            1 => store(to, load::<u8>(from)),
            2..4 => copy_ends::<u16>(to, from, len),
            4..8 => copy_ends::<u32>(to, from, len),
            8..16 => copy_ends::<u64>(to, from, len),
            16..=32 => copy_ends::<__m128i>(to, from, len),
            33..=64 => copy_ends::<[__m128i; 2]>(to, from, len),
            65..=128 => copy_ends::<[__m128i; 4]>(to, from, len),
            // Only what begins within what is to be written can be overwritten before it is read.
            _ if to.addr().wrapping_sub(from.addr()) < len => copy_backward(to, from, len),
            LONG.. if from.addr().wrapping_sub(to.addr()) >= len => copy_apart(to, from, len),
            _ => copy_forward(to, from, len),
        }
    }
}

/// [`copy`] of many bytes that do not overlap.
///
/// # Safety
/// As for [`copy`].
unsafe fn copy_apart(to: *mut u8, from: *const u8, len: usize) {
    // SAFETY: the first round is within the `len` bytes; behind its part that the loop leaves out, so are all others.
    unsafe {
        // The loop likes to write whole lines of the cache.
        let head: [__m128i; 4] = load(from);
        store(to, head);
        let skipped = ROUND.wrapping_sub(to.addr() % ROUND);
        asm!(
            "rep movsb",
            inout("rcx") len.wrapping_sub(skipped) => _,
            inout("rdi") to.add(skipped) => _,
            inout("rsi") from.add(skipped) => _,
            options(nostack, preserves_flags),
        );
    }
}

/// [`copy`] of more than 128 bytes that begin at or after `to`, or end before it.
///
/// # Safety
/// As for [`copy`].
unsafe fn copy_forward(to: *mut u8, from: *const u8, len: usize) {
    // SAFETY: the loop ends before the last round, which was read before; the head, which it may overwrite, too. A round is
    // read before it is written, and what it overwrites of `from` lies before what is read next.
    unsafe {
        let head: __m128i = load(from);
        let last = len.wrapping_sub(ROUND);
        let tail: [__m128i; 4] = load(from.add(last));
        let skipped = VECTOR.wrapping_sub(to.addr() % VECTOR);
        let end = to.add(last);
        asm!(
            "2:",
            "movups {a}, [{from}]",
            "movups {b}, [{from} + 16]",
            "movups {c}, [{from} + 32]",
            "movups {d}, [{from} + 48]",
            "movaps [{to}], {a}",
            "movaps [{to} + 16], {b}",
            "movaps [{to} + 32], {c}",
            "movaps [{to} + 48], {d}",
            "add {from}, 64",
            "add {to}, 64",
            "cmp {to}, {end}",
            "jb 2b",
            from = inout(reg) from.add(skipped) => _,
            to = inout(reg) to.add(skipped) => _,
            end = in(reg) end,
            a = out(xmm_reg) _, b = out(xmm_reg) _, c = out(xmm_reg) _, d = out(xmm_reg) _,
            options(nostack),
        );
        store(end, tail);
        store(to, head);
    }
}

/// [`copy`] of more than 128 bytes that begin at or before `to`.
///
/// # Safety
/// As for [`copy`].
unsafe fn copy_backward(to: *mut u8, from: *const u8, len: usize) {
    // SAFETY: the loop ends within the first round, which was read before; the tail, which it may overwrite, too. A round is
    // read before it is written, and what it overwrites of `from` lies behind what is read next.
    unsafe {
        let head: [__m128i; 4] = load(from);
        let last = len.wrapping_sub(VECTOR);
        let tail: __m128i = load(from.add(last));
        // Between the head's round and the end, which is aligned.
        let kept = len.wrapping_sub(to.addr().wrapping_add(len) % VECTOR);
        asm!(
            "2:",
            "sub {from}, 64",
            "sub {to}, 64",
            "movups {a}, [{from}]",
            "movups {b}, [{from} + 16]",
            "movups {c}, [{from} + 32]",
            "movups {d}, [{from} + 48]",
            "movaps [{to}], {a}",
            "movaps [{to} + 16], {b}",
            "movaps [{to} + 32], {c}",
            "movaps [{to} + 48], {d}",
            "cmp {to}, {end}",
            "ja 2b",
            from = inout(reg) from.add(kept) => _,
            to = inout(reg) to.add(kept) => _,
            end = in(reg) to.add(ROUND),
            a = out(xmm_reg) _, b = out(xmm_reg) _, c = out(xmm_reg) _, d = out(xmm_reg) _,
            options(nostack),
        );
        store(to, head);
        store(to.add(last), tail);
    }
}

/// Writes the `len` bytes, `size_of::<T>()` to twice that, as two `T`, which may overlap.
///
/// # Safety
/// As for [`fill`].
#[inline(always)]
unsafe fn fill_ends<T: Copy>(to: *mut u8, value: T, len: usize) {
    // SAFETY: both ends lie within the `len` bytes.
    unsafe {
        store(to, value);
        store(to.add(len.wrapping_sub(size_of::<T>())), value);
    }
}

/// Makes `len` bytes all `byte`.
///
/// # Safety
/// `to` must be valid for writing `len` bytes.
#[inline(always)]
pub(super) unsafe fn fill(to: *mut u8, byte: u8, len: usize) {
    let word = u64::from_ne_bytes([byte; 8]);
    // SAFETY: each arm writes within the `len` bytes.
    unsafe {
        let vector = _mm_set1_epi8(byte.cast_signed());
        match len {
            0 => {}
            1 => store(to, byte),
            2..4 => fill_ends(to, word as u16, len),
            4..8 => fill_ends(to, word as u32, len),
            8..16 => fill_ends(to, word, len),
            16..=32 => fill_ends(to, vector, len),
            33..=64 => fill_ends(to, [vector; 2], len),
            65..=128 => fill_ends(to, [vector; 4], len),
            LONG.. => fill_long(to, byte, vector, len),
            _ => fill_rounds(to, vector, len),
        }
    }
}

/// [`fill`] of many bytes.
///
/// # Safety
/// As for [`fill`].
unsafe fn fill_long(to: *mut u8, byte: u8, vector: __m128i, len: usize) {
    // SAFETY: the first round is within the `len` bytes; behind its part that the loop leaves out, so are all others.
    unsafe {
        store(to, [vector; 4]);
        let skipped = ROUND.wrapping_sub(to.addr() % ROUND);
        asm!(
            "rep stosb",
            inout("rcx") len.wrapping_sub(skipped) => _,
            inout("rdi") to.add(skipped) => _,
            in("al") byte,
            options(nostack, preserves_flags),
        );
    }
}

/// [`fill`] of more than 128 bytes.
///
/// # Safety
/// As for [`fill`].
unsafe fn fill_rounds(to: *mut u8, vector: __m128i, len: usize) {
    // SAFETY: the loop ends before the last round, and begins within the first vector.
    unsafe {
        let end = to.add(len.wrapping_sub(ROUND));
        store(to, vector);
        asm!(
            "2:",
            "movaps [{to}], {vector}",
            "movaps [{to} + 16], {vector}",
            "movaps [{to} + 32], {vector}",
            "movaps [{to} + 48], {vector}",
            "add {to}, 64",
            "cmp {to}, {end}",
            "jb 2b",
            to = inout(reg) to.add(VECTOR.wrapping_sub(to.addr() % VECTOR)) => _,
            end = in(reg) end,
            vector = in(xmm_reg) vector,
            options(nostack),
        );
        store(end, [vector; 4]);
    }
}

/// How `len` bytes at `one` compare with as many at `other`: below, above or equal to 0, as the first two that differ do.
///
/// # Safety
/// Both must be valid for reading `len` bytes.
#[inline(always)]
pub(super) unsafe fn compare(one: *const u8, other: *const u8, len: usize) -> i32 {
    // SAFETY: each arm reads within the `len` bytes.
    unsafe {
        match len {
            0 => 0,
            1..4 => {
                // The first, the one in the middle and the last are all there are, in their order.
                let word = |at: *const u8| {
                    let byte = |index: usize| u32::from(load::<u8>(at.add(index)));
                    byte(0) << 16 | byte(len / 2) << 8 | byte(len.wrapping_sub(1))
                };
                order(&word(one), &word(other))
            }
            4..8 => {
                let last = len.wrapping_sub(4);
                let word = |at: *const u8| {
                    let half = |index: usize| u64::from(load::<u32>(at.add(index)).to_be());
                    half(0) << 32 | half(last)
                };
                order(&word(one), &word(other))
            }
            8..16 => {
                let last = len.wrapping_sub(8);
                let word = |at: *const u8| {
                    let half = |index: usize| u128::from(load::<u64>(at.add(index)).to_be());
                    half(0) << 64 | half(last)
                };
                order(&word(one), &word(other))
            }
            _ => compare_long(one, other, len),
        }
    }
}

/// [`compare`] of 16 bytes and more.
///
/// # Safety
/// As for [`compare`].
unsafe fn compare_long(one: *const u8, other: *const u8, len: usize) -> i32 {
    let last = len.wrapping_sub(VECTOR);
    let mut at = 0;
    loop {
        // SAFETY: no vector begins behind the last that fits, and the byte that differs is within the vector.
        unsafe {
            let same = _mm_cmpeq_epi8(
                _mm_loadu_si128(one.add(at).cast()),
                _mm_loadu_si128(other.add(at).cast()),
            );
            let differing = _mm_movemask_epi8(same) ^ 0xffff;
            if differing != 0 {
                let at = at.wrapping_add(differing.trailing_zeros() as usize);
                return i32::from(load::<u8>(one.add(at))) - i32::from(load::<u8>(other.add(at)));
            }
        }
        if at == last {
            return 0;
        }
        at = at.wrapping_add(VECTOR).min(last);
    }
}

/// -1, 0 or 1.
#[inline(always)]
fn order<T: Ord>(one: &T, other: &T) -> i32 {
    one.cmp(other) as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes that are all alike nowhere nearby.
    fn sample(len: usize) -> Vec<u8> {
        (0..len).map(|at| (at * 7 + at / 251) as u8).collect()
    }

    /// Of each way there is.
    fn lengths() -> impl Iterator<Item = usize> {
        (0..420).chain(LONG - 2..LONG + 70)
    }

    #[test]
    fn bytes_are_copied_and_none_beside_them() {
        let from = sample(2500);
        for len in lengths() {
            for (at, start) in (0..17).map(|at| (at, at * 5 % 17)) {
                let mut to = vec![255; 2500];
                let mut expected = to.clone();
                expected[at..at + len].copy_from_slice(&from[start..start + len]);
                // SAFETY: both ranges lie within their vectors.
                unsafe { copy(to.as_mut_ptr().add(at), from.as_ptr().add(start), len) };
                assert!(to == expected, "{len} bytes from {start} to {at}");
            }
        }
    }

    #[test]
    fn what_overlaps_is_copied_as_through_other_memory() {
        let bytes = sample(4600);
        for len in lengths() {
            for to in [
                0, 1, 3, 15, 16, 17, 40, 63, 64, 65, 100, 129, 200, 333, 400, 2317,
            ] {
                let from = 200;
                let (mut copied, mut expected) = (bytes.clone(), bytes.clone());
                expected.copy_within(from..from + len, to);
                let start = copied.as_mut_ptr();
                // SAFETY: both ranges lie within the vector.
                unsafe { copy(start.add(to), start.add(from), len) };
                assert!(copied == expected, "{len} bytes from {from} to {to}");
            }
        }
    }

    #[test]
    fn bytes_are_filled_and_none_beside_them() {
        for len in lengths() {
            for at in 0..17 {
                let mut to = vec![255; 2500];
                let mut expected = to.clone();
                expected[at..at + len].fill(0xa5);
                // SAFETY: the range lies within the vector.
                unsafe { fill(to.as_mut_ptr().add(at), 0xa5, len) };
                assert!(to == expected, "{len} bytes at {at}");
            }
        }
    }

    #[test]
    fn bytes_compare_as_their_first_difference() {
        // SAFETY: both slices are of one length.
        let compared = |one: &[u8], other: &[u8]| unsafe {
            compare(one.as_ptr(), other.as_ptr(), one.len()).signum()
        };
        for len in 0..100 {
            let one = &sample(500)[3..3 + len];
            assert_eq!(compared(one, one), 0);
            for at in 0..len {
                let mut other = one.to_vec();
                // What follows the first difference says the opposite.
                other[at..].fill(0);
                other[at] = one[at].wrapping_add(128);
                let expected = one.cmp(&other) as i32;
                assert_eq!(compared(one, &other), expected, "{at} of {len}");
                assert_eq!(compared(&other, one), -expected, "{at} of {len}");
            }
        }
    }
}
