//! The docket: the small file that says which data file is current, and how much of it counts.

use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::table::Slot;
use super::{DATA_LEN_MAX, DataHeader, FORMAT_VERSION, UNIT, checksum};

/// A docket as it is on disk.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct Docket {
    /// [`Docket::MAGIC`].
    pub magic: [u8; 8],
    /// [`FORMAT_VERSION`].
    pub version: U32,
    /// The length of the docket, in bytes.
    pub docket_len: U32,
    /// Identifies the working copy. The caller defines what the bytes mean.
    pub identity: [u8; 32],
    /// The number of data files so far, this one included.
    pub generation: U64,
    /// The random number in the data file's name and header.
    pub data_id: U64,
    /// How many bytes of the data file count. Bytes after these mean nothing.
    pub used_len: U64,
    /// How many of these bytes nothing refers to any more.
    pub dead_len: U64,
    /// The root block.
    pub root: Slot,
    /// The clock reading for which the contents hold, in the caller's encoding.
    pub clock: [u8; 48],
    /// The checksum of all bytes before this field.
    pub checksum: U64,
}

const _: () =
    assert!(Docket::LEN == 152 && Docket::LEN.is_multiple_of(8) && Docket::LEN <= Docket::LEN_MAX);

/// Why bytes are not a docket of this format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DocketError {
    /// The docket has another format version.
    #[error("format version {0}")]
    Version(u32),
    /// Bytes are missing, wrong or superfluous.
    #[error("{0}")]
    Damaged(&'static str),
}

impl Docket {
    /// The first bytes of a docket, in every version.
    pub const MAGIC: [u8; 8] = *b"VIGILDKT";

    /// The length of a docket, in bytes.
    pub const LEN: usize = size_of::<Self>();

    /// The greatest length of any version's docket, in bytes.
    pub const LEN_MAX: usize = 256;

    /// Reads a whole docket file.
    ///
    /// # Errors
    /// Another version, or bytes that no writer of this version produces.
    pub fn parse(bytes: &[u8]) -> Result<Self, DocketError> {
        let damaged = |what| Err(DocketError::Damaged(what));
        if !bytes.starts_with(&Self::MAGIC) {
            return damaged("it does not begin as a docket does");
        }
        // The version has the same offset in every version of the format; the rest need not.
        let version = bytes
            .split_at_checked(Self::MAGIC.len())
            .and_then(|(_, rest)| U32::ref_from_prefix(rest).ok());
        match version {
            Some((version, _)) if version.get() == FORMAT_VERSION => {}
            Some((version, _)) => return Err(DocketError::Version(version.get())),
            None => return damaged("it is cut off"),
        }
        let Ok(docket) = Self::read_from_bytes(bytes) else {
            return damaged("its length is wrong");
        };
        if docket.docket_len.get() as usize != Self::LEN {
            return damaged("it tells a wrong length");
        }
        if docket.checksum.get() != docket.computed_checksum() {
            return damaged("its checksum is wrong");
        }
        let used = docket.used_len.get();
        if !(DataHeader::LEN..=DATA_LEN_MAX).contains(&used) || !used.is_multiple_of(UNIT) {
            return damaged("its used length is impossible");
        }
        if docket.dead_len.get() > used {
            return damaged("its dead length is impossible");
        }
        Ok(docket)
    }

    /// Returns the docket with its magic, version, length and checksum filled in.
    #[must_use]
    pub fn sealed(mut self) -> Self {
        self.magic = Self::MAGIC;
        self.version = FORMAT_VERSION.into();
        self.docket_len = (Self::LEN as u32).into();
        self.checksum = self.computed_checksum().into();
        self
    }

    fn computed_checksum(&self) -> u64 {
        let len = Self::LEN.saturating_sub(size_of::<U64>());
        self.as_bytes().get(..len).map_or(0, checksum)
    }
}

#[cfg(test)]
mod tests {
    use super::super::documented::{assert_documented, fields};
    use super::*;
    use zerocopy::FromZeros;

    fn docket() -> Docket {
        let docket = Docket {
            generation: 3.into(),
            used_len: 4096.into(),
            dead_len: 16.into(),
            clock: [7; 48],
            ..Docket::new_zeroed()
        };
        docket.sealed()
    }

    #[test]
    fn the_docket_is_as_documented() {
        let fields = fields!(Docket {
            magic,
            version,
            docket_len,
            identity,
            generation,
            data_id,
            used_len,
            dead_len,
            root,
            clock,
            checksum
        });
        assert_documented("Docket", &fields);
    }

    #[test]
    fn a_docket_is_read_as_it_was_written_and_no_flipped_bit_goes_unseen() {
        let docket = docket();
        assert_eq!(Docket::parse(docket.as_bytes()), Ok(docket));
        for bit in 0..Docket::LEN * 8 {
            let mut bytes = docket.as_bytes().to_vec();
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(Docket::parse(&bytes).is_err(), "bit {bit}");
        }
    }

    #[test]
    fn every_length_but_one_is_wrong() {
        let bytes = [docket().as_bytes(), &[0; 8]].concat();
        for len in 0..bytes.len() {
            let parsed = Docket::parse(&bytes[..len]);
            assert_eq!(parsed.is_ok(), len == Docket::LEN, "{len}");
        }
    }

    #[test]
    fn another_version_is_told_whatever_follows() {
        let bytes = [b"VIGILDKT".as_slice(), &9u32.to_le_bytes()].concat();
        assert_eq!(Docket::parse(&bytes), Err(DocketError::Version(9)));
    }

    #[test]
    fn lengths_that_no_file_can_have_are_refused() {
        for (used, dead) in [(8, 0), (20, 0), (DATA_LEN_MAX + 8, 0), (64, 72)] {
            let mut docket = docket();
            docket.used_len = used.into();
            docket.dead_len = dead.into();
            let parsed = Docket::parse(docket.sealed().as_bytes());
            assert!(
                matches!(parsed, Err(DocketError::Damaged(_))),
                "{used} {dead}"
            );
        }
    }
}
