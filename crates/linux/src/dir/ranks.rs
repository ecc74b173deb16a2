//! Sorts a few keys by counting, for each, how many are less. That takes more comparisons than any sort, but they are
//! uniform and independent, so that a processor makes several at once.

#![cfg_attr(
    target_arch = "x86_64",
    expect(unsafe_code, reason = "instructions that not every processor has")
)]

/// The greatest number of keys that are ranked. For more, sorts with fewer comparisons are faster.
pub(super) const KEYS_MAX: usize = 128;
/// The number of keys that are ranked at a time: as many as fit in registers.
const BLOCK: usize = 16;

/// Calls `place` with each position in `keys` and the key's position in sorted order. Returns `false`, without a call,
/// if two keys are equal, if there are more than [`KEYS_MAX`], or if the processor lacks the instructions.
#[inline]
pub(super) fn rank(
    keys: impl ExactSizeIterator<Item = u64>,
    mut place: impl FnMut(usize, usize),
) -> bool {
    let len = keys.len();
    if len > KEYS_MAX || !has_wide_comparisons() {
        return false;
    }
    let mut signed = [0; KEYS_MAX];
    for (signed, key) in signed.iter_mut().zip(keys) {
        *signed = (key ^ 1 << 63).cast_signed();
    }
    let mut ranks = [0; KEYS_MAX];
    count_lesser(&signed, len, &mut ranks);
    let Some(ranks) = ranks.get(..len) else {
        return false;
    };
    // Distinct keys have distinct ranks. Equal keys share the least of theirs, which lowers the sum.
    let sum: usize = ranks.iter().map(|rank| usize::from(*rank)).sum();
    if sum * 2 != len * len.saturating_sub(1) {
        return false;
    }
    for (at, rank) in ranks.iter().enumerate() {
        place(at, usize::from(*rank));
    }
    true
}

#[cfg(target_arch = "x86_64")]
fn has_wide_comparisons() -> bool {
    std::is_x86_feature_detected!("avx2")
}

#[cfg(not(target_arch = "x86_64"))]
fn has_wide_comparisons() -> bool {
    false
}

/// Sets each of the first `len` of `ranks` to the number of the first `len` keys that are less than the key there.
fn count_lesser(keys: &[i64; KEYS_MAX], len: usize, ranks: &mut [u8; KEYS_MAX]) {
    #[cfg(target_arch = "x86_64")]
    if has_wide_comparisons() {
        // SAFETY: the processor was just asked whether it has these instructions.
        unsafe { count_lesser_wide(keys, len, ranks) };
        return;
    }
    count_lesser_portable(keys, len, ranks);
}

/// Same as [`count_lesser_portable`], for which the compiler emits twice as many instructions.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn count_lesser_wide(keys: &[i64; KEYS_MAX], len: usize, ranks: &mut [u8; KEYS_MAX]) {
    use std::arch::x86_64::{
        _mm256_cmpgt_epi64, _mm256_set_epi64x, _mm256_set1_epi64x, _mm256_setzero_si256,
        _mm256_storeu_si256, _mm256_sub_epi64,
    };
    let (blocks, _) = keys.as_chunks::<BLOCK>();
    let (ranks, _) = ranks.as_chunks_mut::<BLOCK>();
    for (block, ranks) in blocks.iter().zip(ranks).take(len.div_ceil(BLOCK)) {
        let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = *block;
        let block = [
            _mm256_set_epi64x(d, c, b, a),
            _mm256_set_epi64x(h, g, f, e),
            _mm256_set_epi64x(l, k, j, i),
            _mm256_set_epi64x(p, o, n, m),
        ];
        let mut lesser = [_mm256_setzero_si256(); BLOCK / 4];
        for other in keys.iter().take(len) {
            let other = _mm256_set1_epi64x(*other);
            for (count, keys) in lesser.iter_mut().zip(block) {
                // A true comparison is -1.
                *count = _mm256_sub_epi64(*count, _mm256_cmpgt_epi64(keys, other));
            }
        }
        for (ranks, counts) in ranks.as_chunks_mut::<4>().0.iter_mut().zip(lesser) {
            let mut four = [0_i64; 4];
            // SAFETY: there is room for 32 bytes, and the instruction needs no alignment.
            unsafe { _mm256_storeu_si256(four.as_mut_ptr().cast(), counts) };
            *ranks = four.map(|count| count as u8);
        }
    }
}

/// Same as [`count_lesser_wide`], with instructions that every processor has.
fn count_lesser_portable(keys: &[i64; KEYS_MAX], len: usize, ranks: &mut [u8; KEYS_MAX]) {
    let (blocks, _) = keys.as_chunks::<BLOCK>();
    let (ranks, _) = ranks.as_chunks_mut::<BLOCK>();
    for (block, ranks) in blocks.iter().zip(ranks).take(len.div_ceil(BLOCK)) {
        let mut lesser = [0_i64; BLOCK];
        for other in keys.iter().take(len) {
            for (count, key) in lesser.iter_mut().zip(block) {
                *count += i64::from(other < key);
            }
        }
        for (rank, count) in ranks.iter_mut().zip(lesser) {
            *rank = count as u8;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_get_their_places_unless_two_are_equal() {
        let mut state = 7_u64;
        let mut next = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1);
            state
        };
        for len in 0..=KEYS_MAX {
            let mut keys: Vec<u64> = (0..len).map(|_| next()).collect();
            if len > 2 {
                (keys[0], keys[1]) = (u64::MAX, 0);
            }
            let mut sorted = vec![0; len];
            let is_ranked = rank(keys.iter().copied(), |at, place| sorted[place] = keys[at]);
            assert_eq!(is_ranked, has_wide_comparisons());
            if is_ranked {
                keys.sort_unstable();
                assert_eq!(sorted, keys);
            }
            if let Some(&first) = keys.first() {
                keys.push(first);
                assert!(!rank(keys.into_iter(), |_, _| panic!("two are equal")));
            }
        }
    }

    #[test]
    fn counting_is_the_same_with_and_without_wide_comparisons() {
        let mut keys = [0; KEYS_MAX];
        keys[..8].copy_from_slice(&[5, -3, i64::MIN, 9, 9, 0, 1, i64::MAX]);
        let (mut wide, mut plain) = ([0; KEYS_MAX], [0; KEYS_MAX]);
        count_lesser(&keys, 8, &mut wide);
        count_lesser_portable(&keys, 8, &mut plain);
        assert_eq!(wide, plain);
        assert_eq!(wide[..8], [4, 1, 0, 5, 5, 2, 3, 7]);
    }
}
