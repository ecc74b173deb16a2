//! Split indexes: a shared index and the changes to it (extension `link`).

use gix_hash::{Kind, ObjectId};

use super::parse::ParseError;
use super::{Entry, Index, compare};

/// How an index changes a shared one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// The checksum of the shared index, which is also in its name: `sharedindex.<id>`.
    pub shared_id: ObjectId,
    deleted: Ewah,
    replaced: Ewah,
}

impl Link {
    /// Reads the contents of the extension. Errors: the lines that git prints.
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
        let mut bitmap = |deed: &str| {
            Ewah::parse(&mut data)
                .map_err(|line| vec![line, format!("corrupt {deed} bitmap in link extension")])
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
    /// Takes a bitmap off `data`. Error: the line that git prints.
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

    /// The positions of all set bits below `limit`, ascending, or the first that is not below it. Bitmaps that
    /// end in the middle of literal words end there.
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

impl Index {
    /// Joins the shared index `base` with the changes that `split` and its `link` hold.
    ///
    /// The first entries of `split` have no path: they replace those of `base` which the link names. All others
    /// are added: one of the same path and stage is replaced, and a merged entry takes the place of all stages.
    /// Cache-tree and marks are those of `split`.
    pub fn merge_split(base: Self, split: Self, link: &Link) -> Result<Self, ParseError> {
        let base_len = base.entries.len();
        let out_of_range = |deed: &str, at: u64| {
            ParseError::Unmergeable(format!(
                "position for {deed} {} exceeds base index size {base_len}",
                at as u32 as i32
            ))
        };
        let replaced = link.replaced.positions(base_len);
        let replaced = replaced.map_err(|at| out_of_range("replacement", at))?;
        let deleted = link.deleted.positions(base_len);
        let deleted = deleted.map_err(|at| out_of_range("delete", at))?;

        let mut kept = base.entries;
        let split_len = split.entries.len();
        let Some((replacements, added)) = split.entries.split_at_checked(replaced.len()) else {
            return Err(ParseError::Unmergeable(format!(
                "too many replacements ({split_len} vs {split_len})"
            )));
        };
        for (&at, replacement) in replaced.iter().zip(replacements) {
            if replacement.path_len != 0 {
                return Err(ParseError::Unmergeable(format!(
                    "corrupt link extension, entry {at} should have zero length name"
                )));
            }
            if let Some(entry) = kept.get_mut(at) {
                *entry = Entry {
                    path_start: entry.path_start,
                    path_len: entry.path_len,
                    ..*replacement
                };
            }
        }
        if let Some(at) = added.iter().position(|entry| entry.path_len == 0) {
            return Err(ParseError::Unmergeable(format!(
                "corrupt link extension, entry {} should have non-zero length name",
                replaced.len().saturating_add(at)
            )));
        }
        remove_positions(&mut kept, &deleted);

        let shift = base.paths.len();
        let mut paths = base.paths;
        paths.extend_from_slice(&split.paths);
        if u32::try_from(paths.len()).is_err() {
            return Err(ParseError::Corrupt);
        }
        let added = added.iter().map(|entry| Entry {
            path_start: entry.path_start.saturating_add(shift as u32),
            ..*entry
        });
        let mut joined = Self {
            hash: split.hash,
            entries: Vec::new(),
            paths,
            cache_tree: split.cache_tree,
            is_sparse: split.is_sparse,
            is_expanded: false,
        };
        let added: Vec<Entry> = added.collect();
        joined.entries = joined.merge_entries(kept, added);
        Ok(joined)
    }

    fn merge_entries(&self, kept: Vec<Entry>, mut added: Vec<Entry>) -> Vec<Entry> {
        if added.is_empty() {
            return kept;
        }
        let key = |entry: &Entry| (self.path(entry), entry.flags.stage());
        added.sort_by(|a, b| compare(key(a), key(b)));
        let mut merged: Vec<Entry> = Vec::with_capacity(kept.len().saturating_add(added.len()));
        let mut added = added.into_iter().peekable();
        let mut put = |entry: Entry, is_added: bool, replacing: &mut bool| {
            let last = merged.last().map(key);
            let (path, stage) = key(&entry);
            if last == Some((path, stage)) {
                if is_added {
                    merged.pop();
                }
            } else if *replacing && last.is_some_and(|(last_path, _)| last_path == path) {
                return;
            }
            *replacing = is_added && stage == 0;
            merged.push(entry);
        };
        let mut replacing = false;
        for entry in kept {
            while let Some(next) = added.next_if(|next| compare(key(next), key(&entry)).is_lt()) {
                put(next, true, &mut replacing);
            }
            put(entry, false, &mut replacing);
        }
        for entry in added {
            put(entry, true, &mut replacing);
        }
        merged
    }
}

/// Removes the elements at the ascending `positions`.
fn remove_positions(entries: &mut Vec<Entry>, positions: &[usize]) {
    let mut positions = positions.iter().copied().peekable();
    let mut at = 0usize;
    entries.retain(|_| {
        let remove = positions.next_if_eq(&at).is_some();
        at = at.saturating_add(1);
        !remove
    });
}
