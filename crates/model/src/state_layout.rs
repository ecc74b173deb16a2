//! The layout of the state file, as bytes: `docs/state-file.md` describes it field by field.
//!
//! All numbers are little-endian, and the length of every structure is a multiple of 8 bytes. No structure is read
//! before its bounds are checked, and none is trusted before its checksum is.

pub mod docket;
#[cfg(test)]
pub(crate) mod documented;
pub mod table;

use zerocopy::little_endian::U64;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// The version of the format: the one that is written, and the only one that is read.
pub const FORMAT_VERSION: u32 = 1;

/// The alignment of blocks: their offsets and stored lengths are multiples of this many bytes.
pub const UNIT: u64 = 8;

/// The greatest length of a data file, in bytes: as far as 32-bit offsets in units reach.
pub const DATA_LEN_MAX: u64 = (1 << 32) * UNIT;

/// The checksum of a block or docket: XXH3, 64 bits, without a seed. It detects damage, not malice.
pub fn checksum(bytes: &[u8]) -> u64 {
    xxhash_rust::xxh3::xxh3_64(bytes)
}

/// The number of bytes that a block of `len` bytes takes in the data file: the next multiple of 8, and at least 8,
/// so that no two blocks share an offset.
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
    /// The id by which the docket names the file.
    pub data_id: U64,
}

const _: () = assert!(size_of::<DataHeader>() == 16);

impl DataHeader {
    /// The first bytes of every data file.
    pub const MAGIC: [u8; 8] = *b"VIGILDAT";

    /// The length of the header in bytes, and so the offset of the first block.
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
