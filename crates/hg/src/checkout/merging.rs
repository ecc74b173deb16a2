//! The list of files to be merged, as Mercurial keeps it (`merge/state2`).
//!
//! The file is a sequence of records: a letter, four bytes with the length of the payload, and the payload.

use std::path::Path;

use bstr::BString;

use crate::fields::u32_at;
use crate::node::Node;
use crate::text_file;

/// The letters of records about one file each. The payload begins with the file's name and state, each followed by a NUL.
const FILE_RECORDS: [u8; 3] = *b"FCD";
/// A record that may be skipped by readers that do not know its kind. The real letter is the first byte of the payload.
const OPTIONAL: u8 = b't';

/// The letters of records that are understood here or say nothing about files. If a list has any other capital letter,
/// it cannot be understood.
const KNOWN: &[u8] = b"LOFCDPR";

/// The contents of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MergeState {
    /// Whether a merge is in progress.
    pub is_active: bool,
    /// The files with unresolved conflicts, in order.
    pub unresolved: Vec<BString>,
    /// The changesets that are being merged.
    pub sides: Vec<Node>,
}

impl MergeState {
    /// Parses a whole list; returns `None` if it is damaged or not understood.
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

/// Counts the unresolved files of the list at `path`. A missing list counts as 0, and a damaged one is read up to the damage.
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
        // A path conflict has a state of two letters.
        let is_open = matches!(state, Some(b"u" | b"pu"));
        if (FILE_RECORDS.contains(&kind) || kind == b'P') && is_open {
            count = count.saturating_add(1);
        }
    }
    count
}

/// The entry point of the fuzzer, which also checks that no record is counted twice.
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
