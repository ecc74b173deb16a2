//! The common part of pack indexes and multi-pack-indexes: sorted ids, with a fanout table that counts them by their
//! first byte.

use std::cmp::Ordering;

use gix_hash::{ObjectId, oid};

/// The length of the fanout table, in bytes.
pub(super) const FANOUT_LEN: usize = 256 * 4;

/// Ids in ascending order.
pub(super) trait SortedIds {
    /// Their numbers by first byte.
    fn fanout(&self) -> &Fanout;

    /// Returns the bytes of the id at `position`.
    fn row(&self, position: u32) -> Option<&[u8]>;

    /// The number of ids.
    fn count(&self) -> u32 {
        self.fanout().count()
    }

    /// Returns the id at `position`.
    fn id(&self, position: u32) -> Option<ObjectId> {
        id_of(self.row(position)?)
    }

    /// Returns the position of `id`, or the position where it would be as an error.
    fn lower_bound(&self, id: &oid) -> Result<u32, u32> {
        let row = |position| self.row(position);
        self.fanout().search(id.as_bytes(), row)
    }
}

/// For each byte, the number of ids whose first byte is at most that.
#[derive(Debug)]
pub(super) struct Fanout(Box<[u32; 256]>);

/// Two neighbouring counts in a [`Fanout`] that are out of order.
#[derive(Debug)]
pub(super) struct Disorder {
    /// The position of the first of the two.
    pub(super) place: usize,
    /// Their counts.
    pub(super) counts: [u32; 2],
}

impl Fanout {
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, Disorder> {
        let mut counts = Box::new([0; 256]);
        let (numbers, _) = bytes.as_chunks::<4>();
        let mut before = 0;
        for (place, (count, bytes)) in counts.iter_mut().zip(numbers).enumerate() {
            *count = u32::from_be_bytes(*bytes);
            if *count < before {
                return Err(Disorder {
                    place: place.saturating_sub(1),
                    counts: [before, *count],
                });
            }
            before = *count;
        }
        Ok(Self(counts))
    }

    pub(super) fn count(&self) -> u32 {
        self.0.last().copied().unwrap_or_default()
    }

    /// Finds `id` among the rows that `row` returns. The error is the position where it would be.
    pub(super) fn search<'a>(
        &self,
        id: &[u8],
        row: impl Fn(u32) -> Option<&'a [u8]>,
    ) -> Result<u32, u32> {
        let byte = usize::from(id.first().copied().unwrap_or_default());
        let mut end = self.0.get(byte).copied().unwrap_or_default();
        let mut start = match byte.checked_sub(1) {
            Some(before) => self.0.get(before).copied().unwrap_or_default(),
            None => 0,
        };
        // The first eight bytes are compared as numbers, without a call.
        let id_first = wide_number(id, 0);
        while start < end {
            let middle = start + (end - start) / 2;
            let at = row(middle).unwrap_or_default();
            match wide_number(at, 0).cmp(&id_first).then_with(|| at.cmp(id)) {
                Ordering::Equal => return Ok(middle),
                Ordering::Greater => end = middle,
                Ordering::Less => start = middle + 1,
            }
        }
        Err(start)
    }
}

/// Returns the first `len` bytes of the row at `position` of a table that begins at `start` and has rows of
/// `row_len` bytes.
pub(super) fn row(
    bytes: &[u8],
    start: usize,
    row_len: usize,
    position: u32,
    len: usize,
) -> Option<&[u8]> {
    let at = start.checked_add(row_len.checked_mul(position as usize)?)?;
    bytes.get(at..at.checked_add(len)?)
}

pub(super) fn id_of(bytes: &[u8]) -> Option<ObjectId> {
    oid::try_from_bytes(bytes).ok().map(ToOwned::to_owned)
}

pub(super) fn number(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

pub(super) fn wide_number(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}
