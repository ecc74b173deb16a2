//! The docket: the small file of a newer revlog that names the files of records, chunks and sidedata, and says how much of each
//! is valid (`hg help internals.revlogs`, "Revlog V2" and "Changelog V2"; the offsets are those of Mercurial's own reader).
//!
//! After the header of a revlog come, in big-endian order:
//!
//! - three pairs of bytes, for records, chunks and sidedata: the length of the file's id, and the number of older files;
//! - three pairs of lengths, in the same order: the valid length, and the one once a transaction is published. Each has eight
//!   bytes, or four before Mercurial 7;
//! - the mark of the default compression of chunks;
//! - for each of the three files its id, then for each older file the length of its id and of the file, then the ids of those.

use bstr::BString;

use crate::fields::{array, u32_at, u64_at};

/// The length of the version and the flags.
const HEADER_LEN: usize = 4;
const FILES: usize = 3;
const LENGTHS: usize = 6;
/// The length of the record of an older file: the length of its id, and its own.
const OLDER_LEN: usize = 5;

/// The contents of a docket.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Docket {
    /// The id of the file with the records.
    pub(super) index_id: BString,
    /// The id of the file with the chunks.
    pub(super) data_id: BString,
    /// The id of the file with the sidedata.
    pub(super) sidedata_id: BString,
    /// The valid length of the records in bytes.
    pub(super) index_len: u64,
    /// The valid length of the sidedata in bytes.
    pub(super) sidedata_len: u64,
    /// The first byte of chunks in the default compression.
    pub(super) compression: u8,
}

/// Why a docket could not be read.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum DocketError {
    /// It has fewer bytes than it describes.
    TooShort {
        /// The least length it should have.
        expected: usize,
    },
    /// An id is invalid.
    InvalidId,
}

impl Docket {
    /// Parses a docket of either version.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, DocketError> {
        const WIDE: usize = 8;
        const NARROW: usize = 4;
        // Nothing in the docket says how wide lengths are, but the right width leaves no byte over.
        let is_whole = |(docket, end): &(Self, usize)| *end == bytes.len() && docket.has_ids();
        let wide = Self::of_width(bytes, WIDE);
        let narrow = match wide.as_ref().is_ok_and(is_whole) {
            true => None,
            false => Self::of_width(bytes, NARROW).ok().filter(is_whole),
        };
        match narrow {
            Some((docket, _)) => Ok(docket),
            None => wide.and_then(|(docket, _)| match docket.has_ids() {
                true => Ok(docket),
                false => Err(DocketError::InvalidId),
            }),
        }
    }

    /// Returns whether the ids are valid: they become file names, and Mercurial makes them of hexadecimal digits.
    fn has_ids(&self) -> bool {
        let is_id =
            |id: &BString| !id.is_empty() && id.iter().all(|letter| letter.is_ascii_alphanumeric());
        [&self.index_id, &self.data_id, &self.sidedata_id]
            .into_iter()
            .all(is_id)
    }

    /// Parses a docket whose lengths have `width` bytes; also returns where it ends.
    fn of_width(bytes: &[u8], width: usize) -> Result<(Self, usize), DocketError> {
        let lengths_start = HEADER_LEN + 2 * FILES;
        let compression_at = lengths_start.saturating_add(LENGTHS.saturating_mul(width));
        let mut at = compression_at.saturating_add(1);
        let short = |expected: usize| DocketError::TooShort { expected };
        let length = |number: usize| {
            let place = lengths_start.saturating_add(number.saturating_mul(width));
            match width {
                4 => u32_at(bytes, place).map(u64::from),
                _ => u64_at(bytes, place),
            }
        };
        let counts: [u8; 2 * FILES] = array(bytes, HEADER_LEN).ok_or(short(at))?;
        let [compression] = array(bytes, compression_at).ok_or(short(at))?;
        let (counts, _) = counts.as_chunks::<2>();
        let mut take = |len: usize| {
            let end = at.saturating_add(len);
            let taken = bytes.get(at..end).ok_or(short(end))?;
            at = end;
            Ok(taken)
        };
        let mut ids = Vec::with_capacity(FILES);
        for [id_len, older] in counts {
            ids.push(BString::from(take(usize::from(*id_len))?));
            let mut older_ids_len = 0usize;
            for _ in 0..*older {
                let [len] = array(take(OLDER_LEN)?, 0).unwrap_or_default();
                older_ids_len = older_ids_len.saturating_add(usize::from(len));
            }
            take(older_ids_len)?;
        }
        let mut ids = ids.into_iter();
        let mut id = || ids.next().unwrap_or_default();
        let docket = Self {
            index_id: id(),
            data_id: id(),
            sidedata_id: id(),
            index_len: length(0).ok_or(short(at))?,
            sidedata_len: length(4).ok_or(short(at))?,
            compression,
        };
        Ok((docket, at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A docket whose lengths have `width` bytes, with these older files of records.
    fn docket(width: usize, older: &[&str]) -> Vec<u8> {
        let mut bytes = vec![0, 0, 0xde, 0xad, 8, older.len() as u8, 8, 0, 8, 0];
        for length in [96u64, 192, 30, 40, 7, 9] {
            bytes.extend(&length.to_be_bytes()[8 - width..]);
        }
        bytes.extend(b"(0123abcd");
        for id in older {
            bytes.extend([id.len() as u8, 0, 0, 0, 1]);
        }
        bytes.extend(older.concat().bytes());
        bytes.extend(b"4567abcd89abcdef");
        bytes
    }

    #[test]
    fn both_widths_are_read() {
        for width in [4, 8] {
            for older in [&[][..], &["00000000"], &["0", "", "111111111111"]] {
                let bytes = docket(width, older);
                let read = Docket::parse(&bytes).unwrap();
                let expected = Docket {
                    index_id: "0123abcd".into(),
                    data_id: "4567abcd".into(),
                    sidedata_id: "89abcdef".into(),
                    index_len: 96,
                    sidedata_len: 7,
                    compression: b'(',
                };
                assert_eq!(read, expected, "{width} {older:?}");
                for len in 0..bytes.len() {
                    let cut = Docket::parse(&bytes[..len]);
                    assert!(
                        matches!(cut, Err(DocketError::TooShort { expected }) if expected > len),
                        "{width} {older:?} {len}: {cut:?}"
                    );
                }
            }
        }
        let longer = [docket(8, &[]), b"more".to_vec()].concat();
        assert_eq!(Docket::parse(&longer).unwrap().index_len, 96);
    }

    #[test]
    fn an_id_is_no_path() {
        for id in [b"0123/bcd", b"../abcd\n", b"0123abc\0", b"\xff123abcd"] {
            let mut bytes = docket(8, &[]);
            bytes[59..67].copy_from_slice(id);
            assert_eq!(Docket::parse(&bytes), Err(DocketError::InvalidId));
        }
        let mut bytes = docket(8, &[]);
        bytes[4] = 0;
        bytes.drain(59..67);
        assert_eq!(Docket::parse(&bytes), Err(DocketError::InvalidId));
    }
}
