//! The files that wait to be merged, by the list that Mercurial keeps of them.
//!
//! The file is a row of records: a letter, the length of what follows in four bytes, and that.

use std::path::Path;

use bstr::BString;

use crate::fields::u32_at;
use crate::node::Node;
use crate::text_file;

/// The letters of records of one file each, which begin with its name and its state, a NUL behind each.
const OF_FILES: [u8; 3] = *b"FCD";
/// A record of a kind that whoever does not know it may pass over: the letter is its first byte.
const OPTIONAL: u8 = b't';

/// The letters of records that are understood, or say nothing of files; whoever does not know another capital one understands
/// nothing of the list.
const KNOWN: &[u8] = b"LOFCDPR";

/// What a list says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MergeState {
    /// Whether anything is merged.
    pub is_active: bool,
    /// The files whose conflicts are not resolved, in order.
    pub unresolved: Vec<BString>,
    /// The changesets that are merged.
    pub sides: Vec<Node>,
}

impl MergeState {
    /// Reads all of a list; `None` where it is damaged, or not understood.
    pub fn parse(text: &[u8]) -> Option<Self> {
        let mut state = Self::default();
        let mut rest = text;
        while !rest.is_empty() {
            let (kind, record, after) = next(rest)?;
            rest = after;
            let (kind, record) = match kind {
                OPTIONAL => record.split_first().map(|(kind, record)| (*kind, record))?,
                kind => (kind, record),
            };
            if kind.is_ascii_uppercase() && !KNOWN.contains(&kind) {
                return None;
            }
            match kind {
                b'L' | b'O' => {
                    state.is_active |= kind == b'L';
                    state.sides.extend(Node::from_hex(record));
                }
                b'F' | b'C' | b'D' | b'P' => {
                    state.is_active = true;
                    let mut fields = record.split(|byte| *byte == 0);
                    let path = fields.next().unwrap_or_default();
                    if matches!(fields.next(), Some(b"u" | b"pu")) {
                        state.unresolved.push(path.into());
                    }
                }
                _ => {}
            }
        }
        state.unresolved.sort_unstable();
        Some(state)
    }
}

/// How many files are unresolved by the list at `path`; none where there is no list, or it is damaged from there on.
pub(super) fn unresolved(path: &Path) -> usize {
    text_file::read(path).map_or(0, |bytes| count(&bytes))
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
    if let Some(state) = MergeState::parse(bytes) {
        assert_eq!(state.unresolved.len(), count(bytes));
        assert!(state.is_active || state.unresolved.is_empty());
    }
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
