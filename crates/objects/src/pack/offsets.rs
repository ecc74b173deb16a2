//! The objects of a pack in the order of their offsets, by its reverse index or by sorting (gitformat-pack(5)).

use std::cmp::Ordering;

use gix_hash::ObjectId;
use vigil_linux::map::Map;
use vigil_stamp::file;

use super::super::error::{CopyError, Reason};
use super::super::index::Index;
use super::super::table::{SortedIds, number};
use super::{Pack, with_extension};

/// The signature of a reverse index.
const REVERSE_MAGIC: &[u8] = b"RIDX";

/// The length of its header, in bytes: the signature, the version, and a number for the hash function.
const REVERSE_HEADER_LEN: usize = 12;

impl Pack {
    /// Returns the positions in the index, in the order of the objects in the pack.
    pub(crate) fn by_offset(&self, messages: &mut Vec<String>) -> &Places {
        let offsets = self.offsets(messages);
        offsets.map_or(&NO_PLACES, |offsets| &offsets.places)
    }

    /// Returns [`Self::by_offset`] with the offset of each object. `None` unless that has every position once, with ascending
    /// offsets.
    pub(crate) fn in_order(&self, messages: &mut Vec<String>) -> Option<(&Places, Vec<u64>)> {
        let (offsets, index) = (self.offsets(messages)?, self.index(messages)?);
        if !offsets.git_offsets.is_empty() {
            return None;
        }
        let all = offsets.places.iter();
        let all = all.map(|place| index.offset(place, &self.shown).ok());
        let all: Vec<u64> = all.collect::<Option<_>>()?;
        self.ascend(&all).then_some((&offsets.places, all))
    }

    fn offsets(&self, messages: &mut Vec<String>) -> Option<&ByOffset> {
        if let Some(offsets) = self.by_offset.get() {
            return Some(offsets);
        }
        let index = self.index(messages)?;
        let offsets = match self.reverse_index(index, messages) {
            Some(places) => ByOffset {
                places,
                git_offsets: Vec::new(),
            },
            None => self.sort_offsets(index),
        };
        Some(self.by_offset.get_or_init(|| offsets))
    }

    /// Returns the offset after the last object.
    fn end(&self) -> u64 {
        self.size.saturating_sub(self.hash.len_in_bytes() as u64)
    }

    /// Whether `offsets` are strictly ascending and within the pack. If there are as many as objects, they are then
    /// complete.
    fn ascend(&self, offsets: &[u64]) -> bool {
        offsets.is_sorted_by(|one, next| one < next)
            && offsets.last().is_none_or(|last| *last < self.end())
    }

    /// Sorts the positions in the index by offset, as git does: by as many 16-bit digits as the size of the pack has,
    /// so that offsets outside of the pack may end up anywhere.
    fn sort_offsets(&self, index: &Index) -> ByOffset {
        let mut offsets: Vec<(u64, u32)> = index.counted_offsets().into_iter().zip(0..).collect();
        let bits = (u64::BITS - self.size.leading_zeros()).next_multiple_of(16);
        let counted = u64::MAX.checked_shr(u64::BITS - bits).unwrap_or(0);
        offsets.sort_by_key(|(offset, _)| offset & counted);
        let (git_offsets, places): (Vec<u64>, Vec<u32>) = offsets.into_iter().unzip();
        let same = |(offset, place): (&u64, &u32)| {
            index.offset(*place, &self.shown).ok().as_ref() == Some(offset)
        };
        let is_sound = self.ascend(&git_offsets) && git_offsets.iter().zip(&places).all(same);
        ByOffset {
            places: Places::Sorted(places),
            git_offsets: match is_sound {
                true => Vec::new(),
                false => git_offsets,
            },
        }
    }

    /// Opens the file with the positions that git may have written beside the pack (gitformat-pack(5), "pack-*.rev
    /// files"). They are not checked. `None` if there is no such file, or it does not fit this index.
    fn reverse_index(&self, index: &Index, messages: &mut Vec<String>) -> Option<Places> {
        let file = file::open(&self.path.with_extension("rev")).ok()?;
        let len = usize::try_from(file.metadata().ok()?.len()).ok()?;
        let shown = with_extension(&self.shown, "rev");
        let mut refuse = |what: &str| {
            messages.push(format!("error: reverse-index file {shown} {what}"));
            None
        };
        let checksums = 2 * self.hash.len_in_bytes();
        let Some(rows_len) = len.checked_sub(REVERSE_HEADER_LEN + checksums) else {
            return refuse("is too small");
        };
        if rows_len as u64 != u64::from(index.count()) * 4 {
            return refuse("is corrupt");
        }
        let bytes = Map::read_only(&file, len).ok()?;
        if !bytes.starts_with(REVERSE_MAGIC) {
            return refuse("has unknown signature");
        }
        let version = number(&bytes, 4)?;
        if version != 1 {
            return refuse(&format!("has unsupported version {version}"));
        }
        let hash = number(&bytes, 8)?;
        if !matches!(hash, 1 | 2) {
            return refuse(&format!("has unsupported hash id {hash}"));
        }
        Some(Places::File {
            bytes,
            count: index.count(),
        })
    }

    /// Returns the position in [`Self::by_offset`] of the object that begins at `offset`. This is git's binary search,
    /// so that the result is also the same where offsets do not ascend.
    fn position(&self, offset: u64, messages: &mut Vec<String>) -> Result<Option<usize>, Reason> {
        let offsets = self.offsets(messages);
        let (Some(offsets), Some(index)) = (offsets, self.index(messages)) else {
            return Ok(None);
        };
        let (mut low, mut high) = (0, offsets.places.count() + 1);
        while low < high {
            let middle = low + (high - low) / 2;
            let got = self.offset_at(offsets, index, middle)?;
            match got.cast_signed().cmp(&offset.cast_signed()) {
                Ordering::Equal => return Ok(Some(middle)),
                Ordering::Greater => high = middle,
                Ordering::Less => low = middle + 1,
            }
        }
        messages.push("error: bad offset for revindex".into());
        Ok(None)
    }

    /// Returns the offset of the object at a position in [`Self::by_offset`].
    fn offset_at(&self, offsets: &ByOffset, index: &Index, position: usize) -> Result<u64, Reason> {
        let git_offsets = offsets.git_offsets.get(position);
        match (git_offsets, offsets.places.get(position)) {
            (Some(offset), _) => Ok(*offset),
            (None, Some(place)) => index.offset(place, &self.shown),
            (None, None) => Ok(self.end()),
        }
    }

    /// Returns the id of the object that begins at `offset`.
    pub(crate) fn id_at(
        &self,
        offset: u64,
        messages: &mut Vec<String>,
    ) -> Result<Option<ObjectId>, Reason> {
        let Some(position) = self.position(offset, messages)? else {
            return Ok(None);
        };
        let place = self.by_offset(messages).get(position);
        let index = self.index(messages);
        Ok(index.zip(place).and_then(|(index, place)| index.id(place)))
    }

    /// Returns how many bytes the object that begins at `offset` takes in the pack.
    pub(crate) fn len_at(&self, offset: u64, messages: &mut Vec<String>) -> Result<u64, CopyError> {
        let Some(position) = self.position(offset, messages)? else {
            messages.push(format!(
                "error: could not find object at offset {offset} in pack {}",
                self.shown
            ));
            return Err(CopyError::Damaged);
        };
        let end = match (self.offsets(messages), self.index(messages)) {
            (Some(offsets), Some(index)) => self.offset_at(offsets, index, position + 1)?,
            _ => self.end(),
        };
        Ok(end.wrapping_sub(offset))
    }
}

/// The positions in the index, in the order of the objects in the pack.
#[derive(Debug)]
pub(super) struct ByOffset {
    places: Places,
    /// All offsets, if those that git has in memory differ from the index, or do not ascend.
    git_offsets: Vec<u64>,
}

/// Positions in the index.
#[derive(Debug)]
pub(crate) enum Places {
    /// In a reverse index, of which no more is read than is asked for.
    File {
        bytes: Map,
        count: u32,
    },
    Sorted(Vec<u32>),
}

static NO_PLACES: Places = Places::Sorted(Vec::new());

impl Places {
    fn count(&self) -> usize {
        match self {
            Self::File { count, .. } => *count as usize,
            Self::Sorted(all) => all.len(),
        }
    }

    pub(crate) fn get(&self, position: usize) -> Option<u32> {
        match self {
            Self::File { bytes, count } => {
                let row = position.checked_mul(4)?.checked_add(REVERSE_HEADER_LEN)?;
                (position < *count as usize)
                    .then(|| number(bytes, row))
                    .flatten()
            }
            Self::Sorted(all) => all.get(position).copied(),
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = u32> {
        (0..self.count()).filter_map(|position| self.get(position))
    }
}
