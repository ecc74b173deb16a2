//! Pack indexes, versions 1 and 2 (gitformat-pack(5)): the objects of a pack in the order of their ids.

use gix_hash::Kind;
use vigil_linux::map::Map;

use super::error::Reason;
use super::table::{FANOUT_LEN, Fanout, SortedIds, number, row, wide_number};

const MAGIC: &[u8] = b"\xfftOc";
const HEADER_LEN: usize = 8;
const OFFSET_LEN: usize = 4;
const CRC_LEN: usize = 4;
/// A flag in an offset: the other bits are a position in the table of wide offsets.
const WIDE: u32 = 1 << 31;

/// The length of the shortest index, in bytes: version 1 without objects.
pub(super) fn len_min(hash: Kind) -> usize {
    FANOUT_LEN + 2 * hash.len_in_bytes()
}

/// git's message about a shorter one, without "error: ".
pub(super) fn too_small(shown: &str) -> String {
    format!("index file {shown} is too small")
}

/// The index of one pack. All tables are within `bytes`, as [`Index::parse`] has checked.
#[derive(Debug)]
pub(super) struct Index<B = Map> {
    bytes: B,
    hash: Kind,
    fanout: Fanout,
    /// The start of the rows with ids, and the length of each. In version 1, an offset comes before each id.
    ids: usize,
    row_len: usize,
    is_version_1: bool,
}

impl<B: std::ops::Deref<Target = [u8]>> Index<B> {
    /// Parses the bytes of the file that messages call `shown`. The error is git's text, without "error: ".
    pub(super) fn parse(bytes: B, hash: Kind, shown: &str) -> Result<Self, String> {
        let id_len = hash.len_in_bytes();
        if bytes.len() < len_min(hash) {
            return Err(too_small(shown));
        }
        let is_version_1 = !bytes.starts_with(MAGIC);
        if !is_version_1 {
            let version = number(&bytes, 4).unwrap_or_default();
            if version != 2 {
                return Err(format!(
                    "index file {shown} is version {version} and is not supported by this binary \
                     (try upgrading GIT to a newer version)"
                ));
            }
        }
        let start = if is_version_1 { 0 } else { HEADER_LEN };
        let wrong_size = |version| Err(format!("wrong index v{version} file size in {shown}"));
        let Some(table) = bytes.get(start..start + FANOUT_LEN) else {
            return wrong_size(2);
        };
        let fanout = Fanout::parse(table).map_err(|_| format!("non-monotonic index {shown}"))?;
        let ids = start + FANOUT_LEN;
        let count = u64::from(fanout.count());
        // In 64 bits, which hold the length that any count asks for.
        let len = bytes.len() as u64;
        let len_of_rows_of = |row_len: usize| (ids + 2 * id_len) as u64 + count * row_len as u64;
        if is_version_1 {
            if len != len_of_rows_of(id_len + OFFSET_LEN) {
                return wrong_size(1);
            }
        } else {
            let least = len_of_rows_of(id_len + CRC_LEN + OFFSET_LEN);
            if len < least || len > least + count.saturating_sub(1) * 8 {
                return wrong_size(2);
            }
        }
        Ok(Self {
            bytes,
            hash,
            fanout,
            ids,
            row_len: if is_version_1 {
                id_len + OFFSET_LEN
            } else {
                id_len
            },
            is_version_1,
        })
    }

    /// Returns the checksum of the pack that this index was made for.
    pub(super) fn pack_checksum(&self) -> &[u8] {
        let id_len = self.hash.len_in_bytes();
        let end = self.bytes.len().saturating_sub(id_len);
        self.bytes
            .get(end.saturating_sub(id_len)..end)
            .unwrap_or_default()
    }

    /// Returns the offsets of all objects in the pack, in the order of ids, as git reads them in order to sort them: it
    /// takes wide offsets one after the other, ignoring the positions that the entries give.
    pub(super) fn counted_offsets(&self) -> Vec<u64> {
        let count = self.fanout.count() as usize;
        let (start, step) = match self.is_version_1 {
            true => (self.ids, self.row_len),
            false => (self.ids + count * (self.row_len + CRC_LEN), OFFSET_LEN),
        };
        let mut wide = start + count * OFFSET_LEN;
        let offset = |place: usize| {
            let offset = number(&self.bytes, start + place * step).unwrap_or_default();
            if self.is_version_1 || offset & WIDE == 0 {
                return offset.into();
            }
            wide += 8;
            wide_number(&self.bytes, wide - 8).unwrap_or_default()
        };
        (0..count).map(offset).collect()
    }

    /// Returns the offset of the object at `position` in the pack.
    pub(super) fn offset(&self, position: u32, pack: &str) -> Result<u64, Reason> {
        let place = position as usize;
        if self.is_version_1 {
            let offset = number(&self.bytes, self.ids + place * self.row_len);
            return Ok(offset.unwrap_or_default().into());
        }
        let count = self.fanout.count() as usize;
        let offsets = self.ids + count * (self.row_len + CRC_LEN);
        let offset = number(&self.bytes, offsets + place * OFFSET_LEN).unwrap_or_default();
        if offset & WIDE == 0 {
            return Ok(offset.into());
        }
        let wide_offsets = offsets + count * OFFSET_LEN;
        let place = (offset & !WIDE) as usize;
        if place >= self.bytes.len().saturating_sub(wide_offsets + 1) / 8 {
            return Err(Reason::BeyondIndex { pack: pack.into() });
        }
        Ok(wide_number(&self.bytes, wide_offsets + place * 8).unwrap_or_default())
    }
}

impl<B: std::ops::Deref<Target = [u8]>> SortedIds for Index<B> {
    fn fanout(&self) -> &Fanout {
        &self.fanout
    }

    fn row(&self, position: u32) -> Option<&[u8]> {
        if position >= self.count() {
            return None;
        }
        let ids = self.ids + if self.is_version_1 { OFFSET_LEN } else { 0 };
        row(
            &self.bytes,
            ids,
            self.row_len,
            position,
            self.hash.len_in_bytes(),
        )
    }
}
