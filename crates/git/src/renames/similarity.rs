//! The similarity of two files by git's own estimate, so that scores agree to the digit.
//!
//! A file is split into spans: lines, or pieces of 64 bytes if lines are longer. Each span is hashed into one of
//! about a hundred thousand classes, and the bytes of each class are counted. The common part of two files is
//! the sum of the lesser counts of each class.

use bstr::ByteSlice;

/// The maximum score: equal contents.
pub(super) const SCORE_MAX: u32 = 60_000;

/// The number of classes. It is git's value, and every score depends on it.
const CLASSES: u32 = 107_927;
const SPAN_LEN_MAX: u32 = 64;

/// How many bytes git searches for a NUL to tell binary contents from text.
const BINARY_PROBE_LEN: usize = 8000;

/// The byte counts of the classes that occur, sorted by class.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Spans(Vec<Span>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Span {
    class: u32,
    bytes: u32,
}

impl Spans {
    /// The memory in use, in bytes.
    pub(super) fn memory(&self) -> usize {
        self.0.capacity().saturating_mul(size_of::<Span>())
    }
}

/// The spans of one file, laid out for fast comparison with many others.
#[derive(Debug)]
pub(super) struct Layout {
    /// A bit for each class that occurs: most classes of another file do not, and the bits fit into the fastest cache.
    occurs: Vec<u64>,
    bytes_of_class: Vec<u32>,
    spans: Vec<Span>,
}

impl Layout {
    pub(super) fn new() -> Self {
        Self {
            occurs: vec![0; CLASSES.div_ceil(u64::BITS) as usize],
            bytes_of_class: vec![0; CLASSES as usize],
            spans: Vec::new(),
        }
    }

    /// Lays out `spans` in place of the previous ones.
    pub(super) fn lay_out(&mut self, spans: &Spans) {
        let old = std::mem::take(&mut self.spans);
        old.iter().for_each(|span| self.set(span.class, 0));
        spans
            .0
            .iter()
            .for_each(|span| self.set(span.class, span.bytes));
        self.spans = old;
        self.spans.clear();
        self.spans.extend_from_slice(&spans.0);
    }

    fn set(&mut self, class: u32, bytes: u32) {
        let bit = 1 << (class % u64::BITS);
        if let Some(bits) = self.occurs.get_mut((class / u64::BITS) as usize) {
            *bits = if bytes == 0 {
                *bits & !bit
            } else {
                *bits | bit
            };
        }
        if let Some(place) = self.bytes_of_class.get_mut(class as usize) {
            *place = bytes;
        }
    }

    /// Returns how many bytes `other` has in common with the spans that are laid out.
    pub(super) fn common(&self, other: &Spans) -> u64 {
        let occurs = |class: u32| {
            let bits = self.occurs.get((class / u64::BITS) as usize);
            bits.is_some_and(|bits| bits >> (class % u64::BITS) & 1 != 0)
        };
        let shared = other.0.iter().filter(|span| occurs(span.class));
        shared
            .filter_map(|span| {
                let own = self.bytes_of_class.get(span.class as usize)?;
                Some(u64::from(*own.min(&span.bytes)))
            })
            .sum()
    }
}

/// Counts spans, reusing its memory for each file.
#[derive(Debug)]
pub(super) struct Counter {
    bytes_of_class: Vec<u32>,
    seen: Vec<u32>,
}

impl Counter {
    pub(super) fn new() -> Self {
        Self {
            bytes_of_class: vec![0; CLASSES as usize],
            seen: Vec::new(),
        }
    }

    /// Counts the spans of `data`. In text, a carriage return before a line feed does not count.
    pub(super) fn count(&mut self, data: &[u8], is_binary: bool) -> Spans {
        let mut span = OpenSpan::default();
        let mut rest = data.iter();
        while let Some(&byte) = rest.next() {
            if !is_binary && byte == b'\r' && rest.as_slice().first() == Some(&b'\n') {
                continue;
            }
            span.push(byte);
            if span.len >= SPAN_LEN_MAX || byte == b'\n' {
                self.add(std::mem::take(&mut span));
            }
        }
        if span.len > 0 {
            self.add(span);
        }
        self.seen.sort_unstable();
        let bytes_of_class = &mut self.bytes_of_class;
        let spans = self.seen.drain(..).map(|class| Span {
            class,
            bytes: bytes_of_class
                .get_mut(class as usize)
                .map_or(0, std::mem::take),
        });
        Spans(spans.collect())
    }

    fn add(&mut self, span: OpenSpan) {
        let class = span.class();
        if let Some(bytes) = self.bytes_of_class.get_mut(class as usize) {
            if *bytes == 0 {
                self.seen.push(class);
            }
            *bytes = bytes.saturating_add(span.len);
        }
    }
}

/// An unfinished span: its length, and git's two rolling sums.
#[derive(Default)]
struct OpenSpan {
    len: u32,
    low: u32,
    high: u32,
}

impl OpenSpan {
    fn push(&mut self, byte: u8) {
        let low = self.low;
        self.low = ((low << 7) ^ (self.high >> 25)).wrapping_add(u32::from(byte));
        self.high = (self.high << 7) ^ (low >> 25);
        self.len = self.len.saturating_add(1);
    }

    fn class(&self) -> u32 {
        self.low.wrapping_add(self.high.wrapping_mul(0x61)) % CLASSES
    }
}

/// Whether git considers contents binary if no attribute decides.
pub(super) fn looks_binary(data: &[u8]) -> bool {
    data.get(..BINARY_PROBE_LEN)
        .unwrap_or(data)
        .find_byte(0)
        .is_some()
}

/// Whether the sizes alone rule out a score of `min_score` or more.
pub(super) fn sizes_differ_too_much(a: u64, b: u64, min_score: u32) -> bool {
    let (max, min) = (u128::from(a.max(b)), u128::from(a.min(b)));
    let allowed = max * u128::from(SCORE_MAX.saturating_sub(min_score));
    allowed < (max - min) * u128::from(SCORE_MAX)
}

/// Returns the score of two files of the sizes `a` and `b` with `common` bytes in common.
pub(super) fn score(common: u64, a: u64, b: u64) -> u32 {
    let scaled = u128::from(common) * u128::from(SCORE_MAX);
    let score = scaled.checked_div(u128::from(a.max(b))).unwrap_or(0);
    u32::try_from(score).unwrap_or(SCORE_MAX).min(SCORE_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(data: &[u8], is_binary: bool) -> Vec<u32> {
        let mut bytes: Vec<u32> = Counter::new()
            .count(data, is_binary)
            .0
            .iter()
            .map(|span| span.bytes)
            .collect();
        bytes.sort_unstable();
        bytes
    }

    #[test]
    fn spans_end_at_lines_or_after_64_bytes() {
        assert_eq!(counted(b"a\nbb\nccc", false), [2, 3, 3]);
        assert_eq!(counted(b"a\na\nb", false), [1, 4]);
        assert_eq!(counted(&[b'x'; 130], false), [2, 128]);
        assert_eq!(counted(b"", false), [0; 0]);
    }

    #[test]
    fn carriage_returns_at_line_ends_count_in_binary_contents_only() {
        assert_eq!(counted(b"ab\r\nc\rd\r", false), [3, 4]);
        assert_eq!(counted(b"ab\r\nc\rd\r", true), [4, 4]);
    }

    #[test]
    fn a_counter_forgets_the_file_before() {
        let mut counter = Counter::new();
        let first = counter.count(b"a\nb\n", false);
        counter.count(b"b\nc\n", false);
        assert_eq!(counter.count(b"a\nb\n", false), first);
    }

    #[test]
    fn the_common_part_is_the_lesser_count_of_each_class() {
        let mut counter = Counter::new();
        let a = counter.count(b"same\nsame\nonly a\n", false);
        let b = counter.count(b"same\nonly b, long\n", false);
        let mut layout = Layout::new();
        layout.lay_out(&a);
        assert_eq!(layout.common(&b), 5);
        assert_eq!(layout.common(&a), 17);
        layout.lay_out(&b);
        assert_eq!(layout.common(&a), 5);
        layout.lay_out(&Spans::default());
        assert_eq!(layout.common(&a), 0);
    }

    #[test]
    fn sizes_rule_out_at_the_same_edge_as_git() {
        assert!(!sizes_differ_too_much(100, 50, 30_000));
        assert!(sizes_differ_too_much(100, 49, 30_000));
        assert!(sizes_differ_too_much(1, 0, 1));
        assert!(!sizes_differ_too_much(0, 0, 30_000));
        assert_eq!(score(50, 100, 60), 30_000);
        assert_eq!(score(0, 0, 0), 0);
    }
}
