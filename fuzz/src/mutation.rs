//! Random mutations of bytes, reproducible by their seed.

/// A small random number generator (xorshift64*).
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// Creates a generator whose numbers depend only on `seed`.
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// The next number, below `limit` (at least 1).
    pub fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16) as usize % limit
    }
}

/// Values at which counts, lengths and offsets tend to go wrong.
const INTEGERS: [u64; 12] = [
    0,
    1,
    0x7f,
    0x80,
    0xff,
    0x7fff,
    0xffff,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    u64::MAX >> 1,
    u64::MAX,
];

/// Mutates `data` in one to four places, with bytes of `other` as material. It grows only slightly beyond `len_max`.
pub fn mutate(data: &mut Vec<u8>, other: &[u8], random: &mut Random, len_max: usize) {
    for _ in 0..=random.below(4) {
        let at = random.below(data.len() + 1);
        match random.below(9) {
            0 | 1 if at < data.len() => data[at] ^= 1 << random.below(8),
            2 if at < data.len() => data[at] = random.below(256) as u8,
            3 => data.truncate(at),
            4 => {
                let end = (at + 1 + random.below(16)).min(data.len());
                data.drain(at..end);
            }
            5 => {
                let integer = INTEGERS[random.below(INTEGERS.len())].to_be_bytes();
                let len = 1 << random.below(4);
                let end = (at + len).min(data.len());
                data.splice(at..end, integer[8 - len..].iter().copied());
            }
            6 if data.len() < len_max => {
                let start = random.below(other.len() + 1);
                let end = (start + 1 + random.below(64)).min(other.len());
                data.splice(at..at, other[start..end].iter().copied());
            }
            7 if data.len() < len_max => {
                let end = (at + 1 + random.below(32)).min(data.len());
                let again = data[at..end].repeat(1 + random.below(3));
                data.splice(at..at, again);
            }
            _ => {
                const DELIMITERS: &[u8] = b"/*\n\0 \xff.[]\\\"'=!#:-^?a";
                data.insert(at, DELIMITERS[random.below(DELIMITERS.len())]);
            }
        }
    }
}
