//! Split indexes: a shared index and the changes to it (extension `link`).

use std::cmp::Ordering;
use std::iter::{Peekable, Zip};
use std::{slice, vec};

use bstr::BStr;
use gix_hash::{Kind, ObjectId};

use super::entries::Index;
use super::entry::{Entry, compare};
use super::parse::{EntrySink, ParseError, SizeHint};

/// The changes that a split index makes to a shared index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// The checksum of the shared index, which is also in its file name: `sharedindex.<id>`.
    pub shared_id: ObjectId,
    deleted: Ewah,
    replaced: Ewah,
}

impl Link {
    /// Reads the contents of the extension. An error is the lines that git prints.
    pub(super) fn parse(data: &[u8], hash: Kind) -> Result<Self, Vec<String>> {
        let too_short = || vec!["corrupt link extension (too short)".to_owned()];
        let (id, mut data) = data
            .split_at_checked(hash.len_in_bytes())
            .ok_or_else(too_short)?;
        let shared_id = ObjectId::try_from(id).map_err(|_| too_short())?;
        if data.is_empty() {
            return Ok(Self {
                shared_id,
                deleted: Ewah::default(),
                replaced: Ewah::default(),
            });
        }
        let mut bitmap = |operation: &str| {
            Ewah::parse(&mut data).map_err(|line| {
                vec![
                    line,
                    format!("corrupt {operation} bitmap in link extension"),
                ]
            })
        };
        let deleted = bitmap("delete")?;
        let replaced = bitmap("replace")?;
        if !data.is_empty() {
            return Err(vec!["garbage at the end of link extension".to_owned()]);
        }
        Ok(Self {
            shared_id,
            deleted,
            replaced,
        })
    }
}

/// A compressed bitmap (EWAH, gitformat-bitmap(5)): runs of equal words and literal words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ewah {
    words: Vec<u64>,
}

impl Ewah {
    /// Takes a bitmap off `data`. An error is the line that git prints.
    pub(crate) fn parse(data: &mut &[u8]) -> Result<Self, String> {
        let eof = |place: &str| format!("corrupt ewah bitmap: eof {place}");
        let _bit_count = take_u32(data).ok_or_else(|| eof("before bit size"))?;
        let len = take_u32(data).ok_or_else(|| eof("before length"))?;
        let len = (len as usize).saturating_mul(8);
        let (words, rest) = data.split_at_checked(len).ok_or_else(|| {
            let short = len.saturating_sub(data.len());
            eof(&format!("in data ({short} bytes short)"))
        })?;
        *data = rest;
        let _last_run = take_u32(data).ok_or_else(|| eof("before rlw"))?;
        Ok(Self {
            words: words
                .as_chunks::<8>()
                .0
                .iter()
                .map(|word| u64::from_be_bytes(*word))
                .collect(),
        })
    }

    /// The positions of all set bits in ascending order, or the first position that is not below `limit`. A bitmap that
    /// ends in the middle of literal words ends there.
    pub(crate) fn positions(&self, limit: usize) -> Result<Vec<usize>, u64> {
        let mut found = Vec::new();
        let mut push = |at: u64| match usize::try_from(at) {
            Ok(at) if at < limit => {
                found.push(at);
                Ok(())
            }
            _ => Err(at),
        };
        let mut at = 0u64;
        let mut words = self.words.iter();
        while let Some(&run) = words.next() {
            let run_bits = ((run >> 1) & 0xffff_ffff).saturating_mul(64);
            let literal_words = run >> 33;
            let run_end = at.saturating_add(run_bits);
            if run & 1 != 0 {
                (at..run_end).try_for_each(&mut push)?;
            }
            at = run_end;
            for _ in 0..literal_words {
                let Some(&word) = words.next() else { break };
                let mut left = word;
                while left != 0 {
                    push(at.saturating_add(u64::from(left.trailing_zeros())))?;
                    left &= left.wrapping_sub(1);
                }
                at = at.saturating_add(64);
            }
        }
        Ok(found)
    }
}

fn take_u32(data: &mut &[u8]) -> Option<u32> {
    let (word, rest) = data.split_first_chunk::<4>()?;
    *data = rest;
    Some(u32::from_be_bytes(*word))
}

/// Merges a shared index with the split index that refers to it: it takes the entries of the shared index, and passes them
/// on with the changes as they come.
///
/// The first entries of the split index have no path: they replace the shared entries that the link names. All others are
/// added. An added entry replaces a shared one with its path and stage, and a merged one replaces all stages of its path.
pub struct Join<'a, T> {
    split: &'a Index,
    changes: Result<Changes<'a>, ParseError>,
    /// The number of entries taken from the shared index.
    taken: usize,
    /// The length of all paths passed on, each with a NUL.
    paths_len: usize,
    sink: T,
}

/// The changes to a shared index that have not been applied yet.
struct Changes<'a> {
    /// By position in the shared index, ascending.
    replaced: Peekable<Zip<vec::IntoIter<usize>, slice::Iter<'a, Entry>>>,
    deleted: Peekable<vec::IntoIter<usize>>,
    /// In git's order.
    added: Peekable<vec::IntoIter<&'a Entry>>,
    /// The path of the merged entry that was added last; no other stage of it is passed on.
    merged: Option<&'a BStr>,
}

impl<'a, T: EntrySink> Join<'a, T> {
    /// Starts to join `split`, which has `link`, with a shared index of the size `hint`. `make_sink` is told the size of the
    /// result.
    pub fn new(
        split: &'a Index,
        link: &Link,
        hint: SizeHint,
        make_sink: impl FnOnce(SizeHint) -> T,
    ) -> Self {
        Self {
            split,
            changes: Changes::of(split, link, hint.entries),
            taken: 0,
            paths_len: 0,
            sink: make_sink(SizeHint {
                entries: hint.entries.saturating_add(split.entries.len()),
                paths_len: hint.paths_len.saturating_add(split.paths.len()),
            }),
        }
    }

    /// Passes on the remaining entries, after all of the shared index was taken.
    ///
    /// # Errors
    /// The two indexes do not fit together.
    pub fn finish(mut self) -> Result<T, ParseError> {
        while let Some(next) = self.changes.as_mut().ok().and_then(|it| it.added.next()) {
            self.add(next);
        }
        self.changes.map(|_| self.sink)
    }

    fn add(&mut self, entry: &'a Entry) {
        let path = self.split.path(entry);
        if let Ok(changes) = &mut self.changes {
            changes.merged = (entry.flags.stage() == 0).then_some(path);
        }
        self.give(path, entry);
    }

    fn give(&mut self, path: &BStr, entry: &Entry) {
        let path_len = path.len().saturating_add(1);
        self.paths_len = self.paths_len.saturating_add(path_len);
        if u32::try_from(self.paths_len).is_err() {
            self.changes = Err(ParseError::Corrupt);
            return;
        }
        self.sink.accept(path, entry);
    }
}

impl<T: EntrySink> EntrySink for Join<'_, T> {
    fn accept(&mut self, path: &BStr, shared: &Entry) {
        let at = self.taken;
        self.taken = at.saturating_add(1);
        let split = self.split;
        let Ok(changes) = &mut self.changes else {
            return;
        };
        let replacement = changes.replaced.next_if(|(replaced, _)| *replaced == at);
        let entry = replacement.map_or(shared, |(_, replacement)| replacement);
        if changes.deleted.next_if_eq(&at).is_some() {
            return;
        }
        while let Ok(changes) = &mut self.changes
            && let Some(next) = changes.added.peek()
        {
            match compare(key(split, next), (path, entry.flags.stage())) {
                Ordering::Less => {}
                Ordering::Equal => return,
                Ordering::Greater => break,
            }
            if let Some(next) = changes.added.next() {
                self.add(next);
            }
        }
        match &self.changes {
            Ok(changes) if changes.merged != Some(path) => self.give(path, entry),
            _ => {}
        }
    }
}

impl<'a> Changes<'a> {
    /// The changes that `split` and its `link` make to a shared index of `shared_len` entries.
    fn of(split: &'a Index, link: &Link, shared_len: usize) -> Result<Self, ParseError> {
        let out_of_range = |operation: &str, at: u64| {
            ParseError::Unmergeable(format!(
                "position for {operation} {} exceeds base index size {shared_len}",
                at as u32 as i32
            ))
        };
        let replaced = link.replaced.positions(shared_len);
        let replaced = replaced.map_err(|at| out_of_range("replacement", at))?;
        let deleted = link.deleted.positions(shared_len);
        let deleted = deleted.map_err(|at| out_of_range("delete", at))?;

        let split_len = split.entries.len();
        let Some((replacements, added)) = split.entries.split_at_checked(replaced.len()) else {
            return Err(ParseError::Unmergeable(format!(
                "too many replacements ({split_len} vs {split_len})"
            )));
        };
        let wrong_name = |at: usize, should: &str| {
            ParseError::Unmergeable(format!(
                "corrupt link extension, entry {at} should have {should} length name"
            ))
        };
        let mut named = replaced.iter().zip(replacements);
        if let Some((at, _)) = named.find(|(_, replacement)| replacement.path_len != 0) {
            return Err(wrong_name(*at, "zero"));
        }
        if let Some(at) = added.iter().position(|entry| entry.path_len == 0) {
            return Err(wrong_name(replaced.len().saturating_add(at), "non-zero"));
        }
        Ok(Self {
            replaced: replaced.into_iter().zip(replacements).peekable(),
            deleted: deleted.into_iter().peekable(),
            added: in_order(split, added).into_iter().peekable(),
            merged: None,
        })
    }
}

/// The entries to add, in git's order. Of several with the same path and stage only the last remains, and of a path with a
/// merged entry only that.
fn in_order<'a>(split: &Index, added: &'a [Entry]) -> Vec<&'a Entry> {
    let mut sorted: Vec<&Entry> = added.iter().collect();
    sorted.sort_by(|a, b| compare(key(split, a), key(split, b)));
    let mut kept: Vec<&Entry> = Vec::with_capacity(sorted.len());
    for entry in sorted {
        let (path, stage) = key(split, entry);
        match kept.last().map(|last| key(split, last)) {
            Some(last) if last == (path, stage) => drop(kept.pop()),
            Some((last_path, 0)) if last_path == path => continue,
            _ => {}
        }
        kept.push(entry);
    }
    kept
}

fn key<'i>(index: &'i Index, entry: &Entry) -> (&'i BStr, u8) {
    (index.path(entry), entry.flags.stage())
}
