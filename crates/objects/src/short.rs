//! Inflating what is short: the heads of deltas, commits, small trees.
//!
//! A library makes tables that pay on long streams; for a few hundred bytes, making them takes longer than all else. Here
//! only the codes that a block has are looked at, and what is made of them is small. What comes out was right (RFC 1950,
//! RFC 1951); anything that is not, and codes that zlib never makes, are left to the library, which says what is wrong.

use std::sync::LazyLock;

use libdeflater::Adler32;

/// How many bits the table of a block's own codes is looked up by. Longer codes are rare, and found bit by bit.
const TABLE_BITS: u32 = 9;

/// Up to how many bytes no table is made: a few symbols are found bit by bit in less time.
const BY_BITS_MAX: usize = 64;

/// How many checksums are made byte by byte before the library is asked: to find out what the processor can, it takes as long
/// as for a hundred of them.
const FEW: u32 = 128;

/// How many bytes are copied at once.
const CHUNK_LEN: usize = 16;

/// The longest code, in bits; of those for lengths of codes.
const CODE_LEN_MAX: usize = 15;
const LENGTH_LEN_MAX: u32 = 7;

/// How many symbols for literals and lengths there may be, and how many a block may tell of; and of distances.
const SYMBOLS_MAX: usize = 288;
const LITERALS_MAX: u16 = 286;
const DISTANCES_MAX: u16 = 30;

/// How many symbols are told of at most: the last run may tell of too many.
const TOLD_MAX: usize = 320 + 6;

/// The symbol behind the last of a block.
const END: u16 = 256;

/// In which order a block tells the lengths of the codes for lengths of codes.
const ORDER: [u16; 19] = [
    16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15,
];

/// For each symbol from 257 on the shortest length that it stands for, and how many bits tell how much longer it is.
const LENGTHS: [(u16, u16); 29] = [
    (3, 0),
    (4, 0),
    (5, 0),
    (6, 0),
    (7, 0),
    (8, 0),
    (9, 0),
    (10, 0),
    (11, 1),
    (13, 1),
    (15, 1),
    (17, 1),
    (19, 2),
    (23, 2),
    (27, 2),
    (31, 2),
    (35, 3),
    (43, 3),
    (51, 3),
    (59, 3),
    (67, 4),
    (83, 4),
    (99, 4),
    (115, 4),
    (131, 5),
    (163, 5),
    (195, 5),
    (227, 5),
    (258, 0),
];

/// The same for distances.
const DISTANCES: [(u16, u16); DISTANCES_MAX as usize] = [
    (1, 0),
    (2, 0),
    (3, 0),
    (4, 0),
    (5, 1),
    (7, 1),
    (9, 2),
    (13, 2),
    (17, 3),
    (25, 3),
    (33, 4),
    (49, 4),
    (65, 5),
    (97, 5),
    (129, 6),
    (193, 6),
    (257, 7),
    (385, 7),
    (513, 8),
    (769, 8),
    (1025, 9),
    (1537, 9),
    (2049, 10),
    (3073, 10),
    (4097, 11),
    (6145, 11),
    (8193, 12),
    (12289, 12),
    (16385, 13),
    (24577, 13),
];

/// The codes that RFC 1951 sets.
static FIXED: LazyLock<Codes> = LazyLock::new(|| {
    let len_of = |symbol| match symbol {
        0..144 => 8,
        144..256 => 9,
        256..280 => 7,
        _ => 8,
    };
    let lens = (0..288).map(|symbol| (symbol, len_of(symbol)));
    Codes::of(lens, Entry::literal_or_length)
});
static FIXED_DISTANCES: LazyLock<Codes> =
    LazyLock::new(|| Codes::of((0..32).map(|symbol| (symbol, 5)), Entry::distance));

/// Inflates one short stream after the other.
#[derive(Debug, Default)]
pub struct Short {
    literals: Codes,
    distances: Codes,
    /// The codes for lengths of codes.
    lengths: Codes,
    told: Told,
    /// How many whole streams there were, up to [`FEW`].
    whole: u32,
}

fn checksum_by_bytes(text: &[u8]) -> u32 {
    /// No sum of bytes is this.
    const MODULUS: u64 = 65521;
    /// Of as many bytes the sums have room in 64 bits.
    const ROOM: usize = 1 << 20;
    let (mut sum, mut sum_of_sums) = (1, 0);
    for chunk in text.chunks(ROOM) {
        for byte in chunk {
            sum += u64::from(*byte);
            sum_of_sums += sum;
        }
        sum %= MODULUS;
        sum_of_sums %= MODULUS;
    }
    // Both are below 2¹⁶.
    u32::try_from(sum_of_sums << 16 | sum).unwrap_or_default()
}

/// What was inflated.
#[derive(Debug, PartialEq, Eq)]
pub enum Extent {
    /// A whole stream of so many bytes, and its checksum is right.
    Whole(usize),
    /// As much as there was room for. More follows, and what is told of it up to where it needs room is right.
    Part,
}

impl Short {
    /// Inflates the stream that `input` begins with into `out`, as far as that goes. `None` where something is not right, or
    /// is for the library to judge.
    pub fn inflate(&mut self, input: &[u8], out: &mut [u8]) -> Option<Extent> {
        let (&[method, flags], _) = input.split_first_chunk()?;
        let is_zlib = method & 15 == 8 && method >> 4 < 8 && flags & 0x20 == 0;
        if !is_zlib || !u16::from_be_bytes([method, flags]).is_multiple_of(31) {
            return None;
        }
        let mut bits = Bits {
            input,
            next: 2,
            held: 0,
            held_len: 0,
        };
        let table_bits = if out.len() > BY_BITS_MAX {
            TABLE_BITS
        } else {
            0
        };
        let mut len = 0;
        loop {
            bits.refill()?;
            let is_last = bits.take(1) == 1;
            let is_end = match bits.take(2) {
                0 => bits.copy(out, &mut len)?,
                1 => block(&mut bits, &FIXED, &FIXED_DISTANCES, out, &mut len)?,
                2 => {
                    self.read_codes(&mut bits, table_bits)?;
                    block(&mut bits, &self.literals, &self.distances, out, &mut len)?
                }
                _ => return None,
            };
            bits.check()?;
            if !is_end {
                return Some(Extent::Part);
            }
            if is_last {
                break;
            }
        }
        let told = bits.rest().first_chunk()?;
        let sum = self.checksum(out.get(..len)?);
        (u32::from_be_bytes(*told) == sum).then_some(Extent::Whole(len))
    }

    /// The checksum of all that a stream held (RFC 1950, Adler-32).
    fn checksum(&mut self, text: &[u8]) -> u32 {
        if self.whole == FEW {
            let mut sum = Adler32::new();
            sum.update(text);
            return sum.sum();
        }
        self.whole += 1;
        checksum_by_bytes(text)
    }

    /// Reads the codes of a block that has its own.
    fn read_codes(&mut self, bits: &mut Bits<'_>, table_bits: u32) -> Option<()> {
        let literals = bits.take(5) + 257;
        let distances = bits.take(5) + 1;
        if literals > LITERALS_MAX || distances > DISTANCES_MAX {
            return None;
        }
        let count = usize::from(bits.take(4)) + 4;
        let mut lens = [0; ORDER.len()];
        for symbol in ORDER.iter().take(count) {
            bits.refill()?;
            *lens.get_mut(usize::from(*symbol))? = bits.take(3) as u8;
        }
        self.told.clear();
        for (symbol, len) in (0..).zip(lens) {
            self.told.add(symbol, len);
        }
        let told = self.told.all();
        self.lengths.make(told, 0, LENGTH_LEN_MAX, Entry::run)?;
        self.told.clear();
        let (mut at, mut before) = (0, None);
        while at < literals + distances {
            bits.refill()?;
            let (run, held) = self.lengths.next(bits)?;
            let len = match run.kind() {
                REPEATED => before?,
                len => len,
            };
            before = Some(len);
            let end = at + run.number(held);
            self.told.add(at, len);
            if run.kind() == REPEATED {
                (at + 1..end).for_each(|place| self.told.add(place, len));
            }
            at = end;
        }
        let told = self.told.all();
        let split = told.partition_point(|(place, _)| *place < literals);
        let (of_literals, of_distances) = told.split_at_checked(split)?;
        let has_end = of_literals.iter().rev().any(|(symbol, _)| *symbol == END);
        if at > literals + distances || !has_end {
            return None;
        }
        self.literals
            .make(of_literals, 0, table_bits, Entry::literal_or_length)?;
        self.distances
            .make(of_distances, literals, table_bits, Entry::distance)
    }
}

/// The symbols that have a code, in their order, each with its length.
#[derive(Debug)]
struct Told {
    lens: [(u16, u8); TOLD_MAX],
    count: usize,
}

impl Default for Told {
    fn default() -> Self {
        Self {
            lens: [(0, 0); TOLD_MAX],
            count: 0,
        }
    }
}

impl Told {
    fn clear(&mut self) {
        self.count = 0;
    }

    /// A length of zero says that there is no code.
    #[inline(always)]
    fn add(&mut self, symbol: u16, len: u8) {
        if let Some(place) = self.lens.get_mut(self.count) {
            *place = (symbol, len);
            self.count += usize::from(len > 0);
        }
    }

    fn all(&self) -> &[(u16, u8)] {
        self.lens.get(..self.count).unwrap_or_default()
    }
}

/// Inflates a block, from `len` on; whether its end was reached, and not that of `out`.
fn block(
    bits: &mut Bits<'_>,
    literals: &Codes,
    distances: &Codes,
    out: &mut [u8],
    len: &mut usize,
) -> Option<bool> {
    let mut at = *len;
    loop {
        bits.refill()?;
        let (mut entry, mut held) = literals.next(bits)?;
        if entry.kind() == LITERAL {
            // Three codes are held, but no more.
            for _ in 0..2 {
                let Some(place) = out.get_mut(at) else {
                    return Some(false);
                };
                *place = entry.value() as u8;
                at += 1;
                (entry, held) = literals.next(bits)?;
                if entry.kind() != LITERAL {
                    break;
                }
            }
            if entry.kind() == LITERAL {
                let Some(place) = out.get_mut(at) else {
                    return Some(false);
                };
                *place = entry.value() as u8;
                at += 1;
                continue;
            }
            bits.refill()?;
        }
        if entry.kind() != LENGTH {
            *len = at;
            return (entry.kind() == LAST).then_some(true);
        }
        let length = usize::from(entry.number(held));
        let (entry, held) = distances.next(bits)?;
        let distance = usize::from(entry.number(held));
        if entry.kind() == INVALID {
            return None;
        }
        let from = at.checked_sub(distance)?;
        let is_apart = length <= CHUNK_LEN && distance >= CHUNK_LEN;
        match out.get_mut(from..) {
            Some(part) if is_apart && part.len() >= distance + CHUNK_LEN => {
                let (before, behind) = part.split_at_mut_checked(distance)?;
                *behind.first_chunk_mut::<CHUNK_LEN>()? = *before.first_chunk()?;
            }
            _ => {
                if !copy(out, from, at, at + length) {
                    return Some(false);
                }
            }
        }
        at += length;
    }
}

/// Copies what is at `from` to what is from `at` to `end`; whether there is room for all of it.
fn copy(out: &mut [u8], from: usize, at: usize, end: usize) -> bool {
    let (fits, end) = (end <= out.len(), end.min(out.len()));
    // What is copied may begin with what this copy makes.
    let mut made = at;
    while made < end {
        let part = (made - from).min(end - made);
        out.copy_within(from..from + part, made);
        made += part;
    }
    fits
}

/// What a code stands for: from the lowest bit on, how many bits it takes with those behind it that tell more in 6, how many
/// without them in 4, its kind in 6, and a value in 16. Nothing but zeros is none.
#[derive(Clone, Copy, Debug, Default)]
struct Entry(u32);

/// The kinds of literals and lengths.
const LENGTH: u8 = 0;
const LITERAL: u8 = 1;
const LAST: u8 = 2;
const INVALID: u8 = 3;

/// The kind of a run of the length before. Other runs are of the kind that is their length.
const REPEATED: u8 = 16;

impl Entry {
    fn new(kind: u8, (value, more): (u16, u16)) -> Self {
        Self(u32::from(value) << 16 | u32::from(kind) << 10 | u32::from(more))
    }

    /// The same for a code of `len` bits.
    fn with_len(self, len: u8) -> Self {
        Self(self.0 + (u32::from(len) << 6 | u32::from(len)))
    }

    fn literal_or_length(symbol: u16) -> Self {
        match symbol.checked_sub(END) {
            None => Self::new(LITERAL, (symbol, 0)),
            Some(0) => Self::new(LAST, (0, 0)),
            Some(place) => match LENGTHS.get(usize::from(place) - 1) {
                Some(length) => Self::new(LENGTH, *length),
                None => Self::new(INVALID, (0, 0)),
            },
        }
    }

    fn distance(symbol: u16) -> Self {
        match DISTANCES.get(usize::from(symbol)) {
            Some(distance) => Self::new(LENGTH, *distance),
            None => Self::new(INVALID, (0, 0)),
        }
    }

    fn run(symbol: u16) -> Self {
        match symbol {
            len @ 0..16 => Self::new(len as u8, (1, 0)),
            16 => Self::new(REPEATED, (3, 2)),
            17 => Self::new(0, (3, 3)),
            _ => Self::new(0, (11, 7)),
        }
    }

    /// How many bits are taken.
    fn bits(self) -> u32 {
        self.0 & 63
    }

    fn kind(self) -> u8 {
        (self.0 >> 10 & 63) as u8
    }

    fn value(self) -> u16 {
        (self.0 >> 16) as u16
    }

    /// The value with what the bits tell that it was found by.
    fn number(self, held: u64) -> u16 {
        let len = self.0 >> 6 & 15;
        let more = (held >> len) as u16 & ((1 << (self.bits() - len)) - 1);
        self.value() + more
    }
}

/// What there are codes for.
#[derive(Debug)]
struct Codes {
    /// How many codes there are of each length.
    counts: [u16; CODE_LEN_MAX + 1],
    /// By the next bits, if there is a code that short.
    table: [Entry; 1 << TABLE_BITS],
    table_bits: u32,
    /// All of them, shorter codes first.
    sorted: [Entry; SYMBOLS_MAX],
}

impl Default for Codes {
    fn default() -> Self {
        Self {
            counts: [0; CODE_LEN_MAX + 1],
            table: [Entry::default(); 1 << TABLE_BITS],
            table_bits: 0,
            sorted: [Entry::default(); SYMBOLS_MAX],
        }
    }
}

impl Codes {
    /// The codes of so many symbols.
    fn of(lens: impl Iterator<Item = (u16, u8)>, entry_of: impl Fn(u16) -> Entry) -> Self {
        let mut codes = Self::default();
        let lens: Vec<_> = lens.collect();
        codes.make(&lens, 0, TABLE_BITS, entry_of);
        codes
    }

    /// Makes what they are found by, of symbols and the lengths of their codes; symbols are counted from `first` on. `None`
    /// where some bits would be no code, or several. There may be no codes at all.
    fn make(
        &mut self,
        lens: &[(u16, u8)],
        first: u16,
        table_bits: u32,
        entry_of: impl Fn(u16) -> Entry,
    ) -> Option<()> {
        self.counts = [0; CODE_LEN_MAX + 1];
        for (_, len) in lens {
            *self.counts.get_mut(usize::from(*len))? += 1;
        }
        let mut left = 1i32;
        let (mut code, mut place) = (0u16, 0u16);
        // The first code of each length, and where in `sorted` the next of that length belongs.
        let mut nexts = [(0u16, 0u16); CODE_LEN_MAX + 1];
        for (next, count) in nexts.iter_mut().zip(self.counts).skip(1) {
            left = left * 2 - i32::from(count);
            code <<= 1;
            *next = (code, place);
            code = code.wrapping_add(count);
            place += count;
            if left < 0 {
                return None;
            }
        }
        if left != 0 && !lens.is_empty() {
            return None;
        }
        for &(symbol, len) in lens {
            let (_, place) = nexts.get_mut(usize::from(len))?;
            let entry = entry_of(symbol - first).with_len(len);
            *self.sorted.get_mut(usize::from(*place))? = entry;
            *place += 1;
        }
        self.table_bits = table_bits;
        let shortest = lens.iter().map(|(_, len)| u32::from(*len)).min();
        let shortest = shortest.unwrap_or(table_bits).min(table_bits);
        let table = self.table.get_mut(..1 << table_bits)?;
        table.get_mut(..1 << shortest)?.fill(Entry::default());
        let mut sorted = self.sorted.iter();
        let codes = (0..).zip(self.counts.into_iter().zip(nexts));
        for (len, (count, (first, _))) in
            codes.take(table_bits as usize + 1).skip(shortest as usize)
        {
            if len > shortest {
                // The bits behind a code may be any: what is there for those before them is there with one more as well.
                let half = 1 << (len - 1);
                let (known, same) = table.get_mut(..2 * half)?.split_at_mut_checked(half)?;
                same.copy_from_slice(known);
            }
            for (code, entry) in (first..).zip(sorted.by_ref().take(usize::from(count))) {
                // Codes are sent with their first bit first.
                let index = usize::from(code.reverse_bits() >> (16 - len));
                *table.get_mut(index)? = *entry;
            }
        }
        Some(())
    }

    /// The next of them, and the bits that it was found by.
    #[inline(always)]
    fn next(&self, bits: &mut Bits<'_>) -> Option<(Entry, u64)> {
        let held = bits.held;
        let index = held as usize & ((1 << self.table_bits) - 1);
        let mut entry = *self.table.get(index)?;
        if entry.bits() == 0 {
            entry = self.by_bits(held)?;
        }
        bits.drop(entry.bits());
        Some((entry, held))
    }

    /// The one that `held` begins with, of however many bits.
    #[inline(never)]
    fn by_bits(&self, mut held: u64) -> Option<Entry> {
        let (mut code, mut first, mut place) = (0, 0, 0);
        for count in self.counts.into_iter().skip(1) {
            let count = usize::from(count);
            code |= held as usize & 1;
            held >>= 1;
            // The codes of one length follow each other.
            if code < first + count {
                return self.sorted.get(place + code - first).copied();
            }
            place += count;
            first = (first + count) << 1;
            code <<= 1;
        }
        None
    }
}

/// The bits of a stream, the lowest of each byte first. Where it ends too early zeros are taken, until [`Self::check`].
struct Bits<'a> {
    input: &'a [u8],
    /// The first byte that is not among those held. Bits of it may be there already.
    next: usize,
    held: u64,
    held_len: u32,
}

impl<'a> Bits<'a> {
    /// Holds at least 56 bits, or all there are.
    #[inline(always)]
    fn refill(&mut self) -> Option<()> {
        self.check()?;
        let rest = self.input.get(self.next..)?;
        if let Some(bytes) = rest.first_chunk() {
            self.held |= u64::from_le_bytes(*bytes) << self.held_len;
            self.next += (63 - self.held_len as usize) >> 3;
            self.held_len |= 56;
        } else {
            self.refill_slowly();
        }
        Some(())
    }

    #[inline(never)]
    fn refill_slowly(&mut self) {
        for byte in self.input.get(self.next..).unwrap_or_default() {
            if self.held_len > 55 {
                break;
            }
            self.held |= u64::from(*byte) << self.held_len;
            self.held_len += 8;
            self.next += 1;
        }
    }

    /// Whether all that was taken was there.
    #[inline(always)]
    fn check(&self) -> Option<()> {
        (self.held_len < u64::BITS).then_some(())
    }

    #[inline(always)]
    fn take(&mut self, count: u32) -> u16 {
        let taken = self.held as u16 & ((1 << count) - 1);
        self.drop(count);
        taken
    }

    #[inline(always)]
    fn drop(&mut self, count: u32) {
        self.held >>= count;
        self.held_len = self.held_len.wrapping_sub(count);
    }

    /// What comes from the next whole byte on.
    fn rest(&self) -> &'a [u8] {
        let held = self.held_len as usize / 8;
        self.input.get(self.next - held..).unwrap_or_default()
    }

    /// Copies a block that is not compressed; whether all of it was.
    fn copy(&mut self, out: &mut [u8], len: &mut usize) -> Option<bool> {
        self.check()?;
        let (&[a, b, c, d], rest) = self.rest().split_first_chunk()?;
        let size = u16::from_le_bytes([a, b]);
        if size != !u16::from_le_bytes([c, d]) {
            return None;
        }
        let size = usize::from(size);
        let space = out.get_mut(*len..)?;
        let fits = space.len() >= size;
        let (space, _) = space.split_at_mut_checked(space.len().min(size))?;
        space.copy_from_slice(rest.get(..space.len())?);
        *len += space.len();
        self.next = self.input.len() - rest.len() + space.len();
        self.held = 0;
        self.held_len = 0;
        Some(fits)
    }
}

#[cfg(test)]
mod tests {
    use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};
    use proptest::prelude::*;

    use super::*;

    fn deflated(contents: &[u8], level: u32) -> Vec<u8> {
        let mut compress = Compress::new(Compression::new(level), true);
        let mut stream = Vec::with_capacity(contents.len() + 1000);
        let status = compress.compress_vec(contents, &mut stream, FlushCompress::Finish);
        assert_eq!(status.ok(), Some(Status::StreamEnd));
        stream
    }

    /// What the library makes of it in the same room, if it is content.
    fn by_library(stream: &[u8], room: usize) -> Option<(Extent, Vec<u8>)> {
        let mut library = Decompress::new(true);
        let mut out = vec![0; room];
        let status = library.decompress(stream, &mut out, FlushDecompress::None);
        let len = library.total_out() as usize;
        out.truncate(len);
        match status {
            Ok(Status::StreamEnd) => Some((Extent::Whole(len), out)),
            Ok(_) if len == room => Some((Extent::Part, out)),
            _ => None,
        }
    }

    #[test]
    fn checksums_by_bytes_are_those_of_the_library() {
        let bytes: Vec<u8> = (0..3u32 << 20)
            .map(|at| ((at * 7) >> 3) as u8 | 0x80)
            .collect();
        for len in [
            0,
            1,
            2,
            255,
            5552,
            5553,
            65521,
            1 << 20,
            (1 << 20) + 1,
            3 << 20,
        ] {
            let mut sum = Adler32::new();
            sum.update(&bytes[..len]);
            assert_eq!(checksum_by_bytes(&bytes[..len]), sum.sum(), "{len}");
        }
    }

    fn inflated(short: &mut Short, stream: &[u8], room: usize) -> Option<(Extent, Vec<u8>)> {
        let mut out = vec![0; room];
        let extent = short.inflate(stream, &mut out)?;
        if let Extent::Whole(len) = extent {
            out.truncate(len);
        }
        Some((extent, out))
    }

    /// A commit of about `lines` lines, with ids as bits have it.
    fn commit(lines: usize) -> Vec<u8> {
        let mut text = String::from("author A U Thor <author@example.com> 1700000000 +0100\n\n");
        for line in 0..lines {
            let id = (line as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            text += &format!("parent {id:016x}{:016x}\n", id.rotate_left(17) ^ id);
        }
        text.into_bytes()
    }

    /// Contents that come to blocks of each type.
    fn contents() -> Vec<Vec<u8>> {
        let mut all: Vec<_> = [0, 1, 5, 30].map(commit).into();
        let texts: [&[u8]; 6] = [
            b"",
            b"a",
            b"twenty bytes of text",
            &[0; 300],
            b"abcabcabcabcabcabd",
            &[7; 20],
        ];
        all.extend(texts.map(<[u8]>::to_vec));
        all.push((0..=255).collect());
        all.push((0..=255).rev().cycle().take(2000).collect());
        all
    }

    #[test]
    fn what_is_compressed_comes_out_whole_and_in_part() {
        let mut short = Short::default();
        for contents in contents() {
            for level in 0..=9 {
                let mut stream = deflated(&contents, level);
                stream.extend_from_slice(b"what follows");
                for room in (0..=contents.len()).chain([contents.len() + 1, contents.len() + 400]) {
                    let expected = by_library(&stream, room);
                    assert!(expected.is_some());
                    assert_eq!(
                        inflated(&mut short, &stream, room),
                        expected,
                        "{room} of {contents:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_stream_that_ends_too_early_is_left_to_the_library() {
        let mut short = Short::default();
        for contents in contents() {
            for level in [0, 1, 9] {
                let stream = deflated(&contents, level);
                for len in 0..stream.len() {
                    let part = stream.get(..len).unwrap_or_default();
                    let found = inflated(&mut short, part, contents.len());
                    assert!(
                        found.is_none_or(|found| found.0 == Extent::Part && found.1 == contents)
                    );
                    assert_eq!(inflated(&mut short, part, contents.len() + 1), None);
                }
            }
        }
    }

    #[test]
    fn codes_that_are_none_are_left_to_the_library() {
        let mut short = Short::default();
        // Blocks of the fixed codes: literals that there are not, a distance that there is not, one before all contents.
        let streams: [&[u8]; 4] = [
            &[0x78, 0x9c, 0b011, 0b0110_0011, 0, 0, 0, 0, 0, 0],
            &[0x78, 0x9c, 0b1100_0011, 0b0110_0011, 0, 0, 0, 0, 0, 0],
            &[0x78, 0x9c, 0b0100_0011, 0b0111_1100, 0, 0, 0, 0, 0, 0],
            &[0x78, 0x9c, 0b111, 0, 0, 0, 0, 0, 0, 0],
        ];
        for stream in streams {
            assert_eq!(inflated(&mut short, stream, 100), None);
            assert_eq!(by_library(stream, 100), None);
        }
    }

    proptest! {
        #[test]
        fn what_is_said_of_changed_streams_is_what_the_library_says(
            which in any::<prop::sample::Index>(),
            level in 0u32..=9,
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
            room in any::<prop::sample::Index>(),
        ) {
            let contents = contents().swap_remove(which.index(contents().len()));
            let mut stream = deflated(&contents, level);
            for (place, byte) in changes {
                let place = place.index(stream.len());
                stream[place] = byte;
            }
            let room = room.index(contents.len() + 20);
            let found = inflated(&mut Short::default(), &stream, room);
            prop_assert!(found.is_none() || found == by_library(&stream, room));
        }
    }
}
