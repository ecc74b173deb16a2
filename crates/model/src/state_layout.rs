//! The layout of the state file, over bytes: `docs/state-file.md` describes it field by field.
//!
//! All numbers are little-endian and all structures multiples of 8 bytes. Nothing here is read before its place was
//! checked, and nothing is believed before its checksum was.

pub mod docket;
#[cfg(test)]
pub(crate) mod documented;
pub mod table;

use zerocopy::little_endian::U64;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// The version of the format that is written, and the only one that is read.
pub const FORMAT_VERSION: u32 = 1;

/// What blocks and their offsets are multiples of, in bytes.
pub const UNIT: u64 = 8;

/// The most bytes a data file may have: what the offsets in units reach.
pub const DATA_LEN_MAX: u64 = (1 << 32) * UNIT;

/// The checksum of blocks and dockets: XXH3, 64 bits, without a seed. It finds damage, not malice.
pub fn checksum(bytes: &[u8]) -> u64 {
    xxhash_rust::xxh3::xxh3_64(bytes)
}

/// How many bytes of the data file a block of `len` bytes takes: the next multiple of 8, and at least 8, so that no
/// two blocks are at the same place.
pub fn stored_len(len: u32) -> u64 {
    u64::from(len).max(1).next_multiple_of(UNIT)
}

/// The first bytes of a data file.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct DataHeader {
    /// [`DataHeader::MAGIC`].
    pub magic: [u8; 8],
    /// The id that the docket names.
    pub data_id: U64,
}

const _: () = assert!(size_of::<DataHeader>() == 16);

impl DataHeader {
    /// What a data file begins with.
    pub const MAGIC: [u8; 8] = *b"VIGILDAT";

    /// The length of the header, in bytes: where the first block is.
    pub const LEN: u64 = size_of::<Self>() as u64;

    /// The header of the data file `data_id`.
    pub fn new(data_id: u64) -> Self {
        Self {
            magic: Self::MAGIC,
            data_id: data_id.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::documented::{assert_documented, fields};
    use super::*;

    #[test]
    fn the_header_of_a_data_file_is_as_documented() {
        assert_documented("Header", &fields!(DataHeader { magic, data_id }));
    }

    #[test]
    fn a_block_takes_whole_units_and_at_least_one() {
        let cases = [(0, 8), (1, 8), (8, 8), (9, 16), (u32::MAX, 1 << 32)];
        for (len, stored) in cases {
            assert_eq!(stored_len(len), stored, "{len}");
        }
    }
}
