//! The list of files to be merged, as Mercurial keeps it (`merge/state2`).
//!
//! The file is a sequence of records: a letter, four bytes with the length of the payload, and the payload.

use std::collections::HashSet;
use std::path::PathBuf;

use bstr::BString;

use crate::abort::Abort;
use crate::fields::u32_at;
use crate::node::Node;
use crate::repository::Repository;
use crate::text_file;

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
    /// Reads the list of `repository`; returns `None` if there is none.
    ///
    /// # Errors
    /// The list cannot be read, is damaged or not understood, or is in an older format: exists only there, or differs there.
    pub fn read(repository: &Repository) -> Result<Option<Self>, Abort> {
        let refused = || Abort::unsupported("records of a merge that are not understood");
        let older = text_file::read_if_there(&repository.dot_hg.join("merge/state"))?;
        match text_file::read_if_there(&path(repository))? {
            Some(text)
                if older
                    .as_ref()
                    .is_some_and(|older| contradicts(older, &text)) =>
            {
                Err(refused())
            }
            Some(text) => Self::parse(&text).map(Some).ok_or_else(refused),
            // Without this file, the one in an older format counts.
            None if older.is_some() => Err(refused()),
            None => Ok(None),
        }
    }

    /// Counts the unresolved files in the list of `repository`. A missing list counts as 0, and a damaged one is read up to the
    /// damage.
    pub(super) fn count_unresolved(repository: &Repository) -> usize {
        let text = text_file::read(&path(repository)).unwrap_or_default();
        Self::parse_readable(&text).0.unresolved.len()
    }

    /// Parses a whole list; returns `None` if it is damaged or not understood.
    fn parse(text: &[u8]) -> Option<Self> {
        let (state, IsUnderstood(is_understood)) = Self::parse_readable(text);
        is_understood.then_some(state)
    }

    /// Parses a list up to the damage.
    fn parse_readable(text: &[u8]) -> (Self, IsUnderstood) {
        let mut state = Self::default();
        let mut is_understood = true;
        let mut rest = text;
        while let Some((kind, record, after)) = next(rest) {
            rest = after;
            let (kind, record) = match (kind, record.split_first()) {
                (OPTIONAL, Some((kind, record))) => (*kind, record),
                (OPTIONAL, None) => {
                    is_understood = false;
                    continue;
                }
                _ => (kind, record),
            };
            is_understood &= !kind.is_ascii_uppercase() || KNOWN.contains(&kind);
            match kind {
                b'L' | b'O' => {
                    state.is_active |= kind == b'L';
                    state.sides.extend(Node::from_hex(record));
                }
                // The payload begins with the file's name and state, each followed by a NUL.
                b'F' | b'C' | b'D' | b'P' => {
                    state.is_active = true;
                    let mut fields = record.split(|byte| *byte == 0);
                    let path = fields.next().unwrap_or_default();
                    // A path conflict has a state of two letters.
                    if matches!(fields.next(), Some(b"u" | b"pu")) {
                        state.unresolved.push(path.into());
                    }
                }
                _ => {}
            }
        }
        state.unresolved.sort_unstable();
        (state, IsUnderstood(is_understood && rest.is_empty()))
    }
}

/// Returns whether the list in the older format, which is written first, says something that `text` does not. Then Mercurial was
/// stopped before it wrote `text` anew, or is too old to do so, and the older format counts.
fn contradicts(older: &[u8], text: &[u8]) -> bool {
    let mut known: HashSet<(u8, Vec<u8>)> = HashSet::new();
    let mut rest = text;
    while let Some((kind, record, after)) = next(rest) {
        rest = after;
        let record = match kind {
            b'L' => record.to_vec(),
            b'F' => {
                // The older format lacks the last field but one.
                let mut fields: Vec<&[u8]> = record.split(|byte| *byte == 0).collect();
                let last = fields.pop();
                fields.pop();
                fields.extend(last);
                fields.join(&0)
            }
            _ => continue,
        };
        known.insert((kind, record));
    }
    let kinds = std::iter::once(b'L').chain(std::iter::repeat(b'F'));
    let mut lines = kinds.zip(older.split_inclusive(|byte| *byte == b'\n'));
    lines.any(|(kind, line)| {
        // The last byte is taken for the end of the line, whatever it is.
        let (_, line) = line.split_last().unwrap_or((&b'\n', b""));
        !known.contains(&(kind, line.to_vec()))
    })
}

/// Whether all of a list is understood.
struct IsUnderstood(bool);

fn path(repository: &Repository) -> PathBuf {
    repository.dot_hg.join("merge/state2")
}

/// The entry point of the fuzzer, which also checks that no record is counted twice.
#[cfg(feature = "fuzzing")]
pub(super) fn fuzz(bytes: &[u8]) {
    let (state, _) = MergeState::parse_readable(bytes);
    assert!(state.unresolved.len() <= bytes.len() / 5);
    assert!(state.is_active || state.unresolved.is_empty());
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
    fn a_list_in_the_older_format_counts_if_it_differs() {
        let [local, other] = [[b'a'; 40], [b'b'; 40]];
        let file = |state: &str| record(b'F', format!("f\0{state}\0h\0l\0a\0n\0o\0x").as_bytes());
        let list = |state| [record(b'L', &local), record(b'O', &other), file(state)].concat();
        let older = [&local[..], b"\nf\0u\0h\0l\0a\0n\0x\n"].concat();
        assert!(!contradicts(&older, &list("u")));
        assert!(contradicts(&older, &list("r")));
        assert!(contradicts(&older, b""));
        assert!(contradicts(&other, &list("u")));
        assert!(!contradicts(&older[..41], &list("u")));
        assert!(contradicts(&older[..40], &list("u")));
        assert!(!contradicts(b"", &list("u")));
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
        let count = |text: &[u8]| MergeState::parse_readable(text).0.unresolved.len();
        let whole = records.concat();
        assert_eq!(count(&whole), 3);
        for len in 0..whole.len() {
            assert!(count(&whole[..len]) < 3);
        }
        assert_eq!(count(&record(b'F', b"f\0u\0")), 1);
        assert_eq!(count(&[b'F', 0xff, 0xff, 0xff, 0xff, 1]), 0);
    }
}
