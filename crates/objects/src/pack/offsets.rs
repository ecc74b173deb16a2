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
    pub(crate) fn by_offset(&self, messages: &mut Vec<String>) -> &[u32] {
        let offsets = self.offsets(messages);
        offsets.map_or(&[], |offsets| &offsets.places)
    }

    /// Whether [`Self::by_offset`] has every position once, with ascending offsets.
    pub(crate) fn is_in_order(&self, messages: &mut Vec<String>) -> bool {
        let offsets = self.offsets(messages);
        offsets.is_some_and(ByOffset::is_sound)
    }

    /// Returns the positions with the offsets for searching them.
    fn offsets(&self, messages: &mut Vec<String>) -> Option<&ByOffset> {
        if let Some(offsets) = self.by_offset.get() {
            return Some(offsets);
        }
        let index = self.index(messages)?;
        let offsets = match self.reverse_index(index, messages) {
            Some(places) => {
                let offset_at = |place: &u32| index.offset(*place, &self.shown).ok();
                let offsets: Option<Vec<u64>> = places.iter().map(offset_at).collect();
                let ascending = offsets.filter(|offsets| self.ascend(offsets));
                ByOffset {
                    samples: ascending.map_or_else(Vec::new, |offsets| samples(&offsets)),
                    places,
                    git_offsets: Vec::new(),
                }
            }
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
        match self.ascend(&git_offsets) && git_offsets.iter().zip(&places).all(same) {
            true => ByOffset {
                places,
                samples: samples(&git_offsets),
                git_offsets: Vec::new(),
            },
            false => ByOffset {
                places,
                samples: Vec::new(),
                git_offsets,
            },
        }
    }

    /// Reads the positions in the index in the order of offsets from the file that git may have written beside the pack
    /// (gitformat-pack(5), "pack-*.rev files"). They are not checked. `None` if there is no such file, or it does not
    /// fit this index.
    fn reverse_index(&self, index: &Index, messages: &mut Vec<String>) -> Option<Vec<u32>> {
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
        let rows = bytes.get(REVERSE_HEADER_LEN..)?.get(..rows_len)?;
        rows.chunks_exact(4).map(|row| number(row, 0)).collect()
    }

    /// Returns the position in [`Self::by_offset`] of the object that begins at `offset`.
    fn position(&self, offset: u64, messages: &mut Vec<String>) -> Result<Option<usize>, Reason> {
        let offsets = self.offsets(messages);
        let (Some(offsets), Some(index)) = (offsets, self.index(messages)) else {
            return Ok(None);
        };
        let found = match offsets.is_sound() {
            true => offsets.find(offset, |place| {
                index.offset(place, &self.shown).unwrap_or_default()
            }),
            false => self.binary_search_as_git(offsets, index, offset)?,
        };
        if found.is_none() {
            messages.push("error: bad offset for revindex".into());
        }
        Ok(found)
    }

    /// Does git's binary search among offsets that need not ascend, so that the result is the same as git's.
    fn binary_search_as_git(
        &self,
        offsets: &ByOffset,
        index: &Index,
        offset: u64,
    ) -> Result<Option<usize>, Reason> {
        let (mut low, mut high) = (0, offsets.places.len() + 1);
        while low < high {
            let middle = low + (high - low) / 2;
            let got = self.offset_at(offsets, index, middle)?;
            match got.cast_signed().cmp(&offset.cast_signed()) {
                Ordering::Equal => return Ok(Some(middle)),
                Ordering::Greater => high = middle,
                Ordering::Less => low = middle + 1,
            }
        }
        Ok(None)
    }

    /// Returns the offset of the object at a position in [`Self::by_offset`].
    fn offset_at(&self, offsets: &ByOffset, index: &Index, position: usize) -> Result<u64, Reason> {
        let git_offsets = offsets.git_offsets.get(position);
        match (git_offsets, offsets.places.get(position)) {
            (Some(offset), _) => Ok(*offset),
            (None, Some(&place)) => index.offset(place, &self.shown),
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
        let place = self.by_offset(messages).get(position).copied();
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
    places: Vec<u32>,
    /// Every [`SAMPLED`]th offset, if all ascend: searching these does not touch the index.
    samples: Vec<u64>,
    /// All offsets, if those that git has in memory differ from the index, or do not ascend.
    git_offsets: Vec<u64>,
}

/// The distance between samples.
const SAMPLED: usize = 32;

impl ByOffset {
    /// Whether all offsets are those of the index, and ascend.
    fn is_sound(&self) -> bool {
        !self.samples.is_empty() || self.places.is_empty()
    }

    /// Returns which of the places has `offset`.
    fn find(&self, offset: u64, offset_at: impl Fn(u32) -> u64) -> Option<usize> {
        let behind = self.samples.partition_point(|sample| *sample <= offset);
        let start = behind.saturating_sub(1) * SAMPLED;
        let near = self.places.get(start..).unwrap_or_default();
        let near = near.get(..SAMPLED).unwrap_or(near);
        let found = near.binary_search_by_key(&offset, |place| offset_at(*place));
        found.ok().map(|at| start + at)
    }
}

/// Returns the samples of ascending offsets for [`ByOffset::samples`].
fn samples(offsets: &[u64]) -> Vec<u64> {
    offsets.iter().step_by(SAMPLED).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_offset_is_found_as_by_halving_all_of_them() {
        for count in [0, 1, 31, 32, 33, 64, 1000] {
            let offset_at = |place: u32| u64::from(place) * 7 + 12;
            let places: Vec<u32> = (0..count).collect();
            let offsets: Vec<u64> = places.iter().map(|place| offset_at(*place)).collect();
            let sampled = ByOffset {
                samples: samples(&offsets),
                git_offsets: Vec::new(),
                places,
            };
            assert_eq!(sampled.samples.len(), offsets.len().div_ceil(SAMPLED));
            for offset in 0..u64::from(count) * 7 + 30 {
                let found = offsets.binary_search(&offset).ok();
                assert_eq!(sampled.find(offset, offset_at), found, "{count} {offset}");
            }
        }
    }
}
