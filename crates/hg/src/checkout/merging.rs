//! The files that wait to be merged, by the list that Mercurial keeps of them.
//!
//! The file is a row of records: a letter, the length of what follows in four bytes, and that.

use std::path::Path;

use vigil_stamp::file;

use crate::fields::u32_at;

/// The letters of records of one file each, which begin with its name and its state, a NUL behind each.
const OF_FILES: [u8; 3] = *b"FCD";
/// A record of a kind that whoever does not know it may pass over: the letter is its first byte.
const OPTIONAL: u8 = b't';

/// How many files are unresolved by the list at `path`; none where there is no list, or it is damaged from there on.
pub(super) fn unresolved(path: &Path) -> usize {
    file::read(path).map_or(0, |bytes| count(&bytes))
}

fn count(bytes: &[u8]) -> usize {
    let mut count = 0usize;
    let mut rest = bytes;
    while let Some((kind, record, after)) = next(rest) {
        rest = after;
        let (kind, record) = match (kind, record.split_first()) {
            (OPTIONAL, Some((kind, record))) => (*kind, record),
            _ => (kind, record),
        };
        let mut fields = record.split(|byte| *byte == 0);
        let state = fields.nth(1);
        // A conflict of paths is written with two letters.
        let is_open = matches!(state, Some(b"u" | b"pu"));
        if (OF_FILES.contains(&kind) || kind == b'P') && is_open {
            count = count.saturating_add(1);
        }
    }
    count
}

/// What is done with bytes from a fuzzer: no record is counted twice.
#[cfg(feature = "fuzzing")]
pub(super) fn fuzz(bytes: &[u8]) {
    assert!(count(bytes) <= bytes.len() / 5);
}

fn next(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let kind = *bytes.first()?;
    let len = u32_at(bytes, 1)? as usize;
    let (record, rest) = bytes.get(5..)?.split_at_checked(len)?;
    Some((kind, record, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(kind: u8, text: &[u8]) -> Vec<u8> {
        let len = u32::try_from(text.len()).unwrap().to_be_bytes();
        [&[kind], &len[..], text].concat()
    }

    #[test]
    fn open_files_are_counted_and_damage_ends_the_list() {
        let records = [
            record(b'L', &[b'a'; 40]),
            record(b'F', b"f\0u\0hash"),
            record(b'F', b"g\0r\0hash"),
            record(b'C', b"u\0u\0"),
            record(b'f', b"f\0u\0extra"),
            record(OPTIONAL, b"Pq\0pu\0"),
        ];
        let whole = records.concat();
        assert_eq!(count(&whole), 3);
        for len in 0..whole.len() {
            assert!(count(&whole[..len]) < 3);
        }
        assert_eq!(count(&record(b'F', b"f\0u\0")), 1);
        assert_eq!(count(&[b'F', 0xff, 0xff, 0xff, 0xff, 1]), 0);
    }
}
