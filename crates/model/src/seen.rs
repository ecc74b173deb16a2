//! What a scan saw in one directory, as a block of bytes (docs/state-file.md).
//!
//! A directory may have been listed for several questions, which differ in the untracked and ignored files they
//! want. Each listing stands by itself, with the stamp that says whether it still holds.

use bstr::{BStr, ByteSlice};
use zerocopy::little_endian::{U32, U64, U128};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::tracked::DirNumber;

/// The length of a stamp, in bytes.
pub const STAMP_LEN: usize = 48;

/// The encoded stamp of a file or directory: its identity and times.
pub(crate) type StampBytes = [u8; STAMP_LEN];

/// The first bytes of a block.
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct Header {
    /// The number of listings.
    pub listings: U32,
    /// The number of records of compared contents that follow.
    pub compared: U32,
}

const _: () = assert!(size_of::<Header>() == 8);

/// A file whose contents were compared with the recorded ones.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct ComparedRecord {
    /// The stamp of the file.
    pub stamp: StampBytes,
    /// The caller's number for how the contents were converted.
    pub conversion: U64,
    /// The position of the file among the files of its directory.
    pub at: U32,
    /// [`Self::IS_UNCHANGED`], [`Self::HAS_CONVERSION`].
    pub flags: U32,
}

const _: () = assert!(size_of::<ComparedRecord>() == 64);

impl ComparedRecord {
    /// The contents are as recorded.
    pub const IS_UNCHANGED: u32 = 1;
    /// [`Self::conversion`] is meaningful. It always is, except for symbolic links in older states.
    pub const HAS_CONVERSION: u32 = 2;
}

/// The fixed part of a listing.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct ListingRecord {
    /// The stamp of the directory.
    pub stamp: StampBytes,
    /// The stamp of the directory's own ignore file, if it has one.
    pub rules_file: StampBytes,
    /// The digest of the ignore rules that apply above the directory.
    pub rules_above: U128,
    /// The digest of the ignore rules that apply in it.
    pub rules: U128,
    /// The question that was asked, as the caller numbers it.
    pub question: U32,
    /// [`Self::IS_EXCLUDED`], [`Self::HAS_RULES_FILE`].
    pub flags: U32,
    /// The length of the names of untracked paths, each with a NUL, in bytes.
    pub untracked_len: U32,
    /// The length of the names of ignored paths, each with a NUL, in bytes.
    pub ignored_len: U32,
    /// The length of the paths of witnesses, each with a NUL, in bytes.
    pub witnesses_len: U32,
    /// The number of witnesses.
    pub witnesses: U32,
    /// The number of subdirectories with tracked files that are excluded.
    pub excluded: U32,
    /// Always 0.
    pub reserved: U32,
}

const _: () = assert!(size_of::<ListingRecord>() == 160);

impl ListingRecord {
    /// An ignore rule matches the directory or one above it.
    pub const IS_EXCLUDED: u32 = 1;
    /// The directory has an ignore file.
    pub const HAS_RULES_FILE: u32 = 2;

    /// A record of nothing. The lengths and counts of others are those of this one, until [`write()`] fills them in.
    pub const EMPTY: Self = Self {
        stamp: [0; STAMP_LEN],
        rules_file: [0; STAMP_LEN],
        rules_above: U128::ZERO,
        rules: U128::ZERO,
        question: U32::ZERO,
        flags: U32::ZERO,
        untracked_len: U32::ZERO,
        ignored_len: U32::ZERO,
        witnesses_len: U32::ZERO,
        witnesses: U32::ZERO,
        excluded: U32::ZERO,
        reserved: U32::ZERO,
    };
}

/// A parsed block: everything seen in one directory.
#[derive(Clone, Copy, Debug)]
pub struct SeenBlock<'b> {
    compared: &'b [ComparedRecord],
    listings: usize,
    rest: &'b [u8],
}

impl<'b> SeenBlock<'b> {
    /// Reads a block. `None` if its parts exceed it.
    pub fn parse(bytes: &'b [u8]) -> Option<Self> {
        let (header, rest) = Header::ref_from_prefix(bytes).ok()?;
        let count = header.compared.get() as usize;
        let (compared, rest) = <[ComparedRecord]>::ref_from_prefix_with_elems(rest, count).ok()?;
        Some(Self {
            compared,
            listings: header.listings.get() as usize,
            rest,
        })
    }

    /// The files whose contents were compared, in the order of the directory's files.
    pub fn compared(&self) -> &'b [ComparedRecord] {
        self.compared
    }

    /// Whether all listings are there, and nothing else.
    pub fn is_whole(&self) -> bool {
        let mut rest = self.rest;
        (0..self.listings).all(|_| SeenListing::take(&mut rest).is_some()) && rest.is_empty()
    }

    /// The listings.
    pub fn listings(&self) -> impl Iterator<Item = SeenListing<'b>> + use<'b> {
        let mut rest = self.rest;
        (0..self.listings).map_while(move |_| SeenListing::take(&mut rest))
    }
}

/// One listing of a directory: its untracked and ignored paths.
#[derive(Clone, Copy, Debug)]
pub struct SeenListing<'b> {
    /// The listing itself.
    pub record: &'b ListingRecord,
    witnesses: &'b [StampBytes],
    excluded: &'b [U32],
    untracked: &'b [u8],
    ignored: &'b [u8],
    witness_paths: &'b [u8],
}

impl<'b> SeenListing<'b> {
    fn take(bytes: &mut &'b [u8]) -> Option<Self> {
        let (record, rest) = ListingRecord::ref_from_prefix(bytes).ok()?;
        let count = |n: U32| n.get() as usize;
        let (witnesses, rest) =
            <[StampBytes]>::ref_from_prefix_with_elems(rest, count(record.witnesses)).ok()?;
        let (excluded, rest) =
            <[U32]>::ref_from_prefix_with_elems(rest, count(record.excluded)).ok()?;
        let (untracked, rest) = rest.split_at_checked(count(record.untracked_len))?;
        let (ignored, rest) = rest.split_at_checked(count(record.ignored_len))?;
        let (witness_paths, rest) = rest.split_at_checked(count(record.witnesses_len))?;
        *bytes = rest;
        Some(Self {
            record,
            witnesses,
            excluded,
            untracked,
            ignored,
            witness_paths,
        })
    }

    /// Untracked paths, relative to the directory. Directories end in `/`.
    pub fn untracked(&self) -> impl Iterator<Item = &'b BStr> + use<'b> {
        names(self.untracked)
    }

    /// Ignored paths, in the same form.
    pub fn ignored(&self) -> impl Iterator<Item = &'b BStr> + use<'b> {
        names(self.ignored)
    }

    /// Subdirectories with tracked files that an ignore rule matches.
    pub fn excluded(&self) -> impl Iterator<Item = DirNumber> + use<'b> {
        self.excluded.iter().map(|number| number.get())
    }

    /// Files and directories further down on which the listing depends: the path relative to the directory, and the
    /// stamp.
    pub fn witnesses(&self) -> impl Iterator<Item = (&'b BStr, &'b StampBytes)> + use<'b> {
        names(self.witness_paths).zip(self.witnesses)
    }
}

fn names(bytes: &[u8]) -> impl Iterator<Item = &BStr> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let end = rest.find_byte(0)?;
        let (name, after) = rest.split_at_checked(end)?;
        rest = after.get(1..)?;
        Some(name.as_bstr())
    })
}

/// A listing to be written.
#[derive(Clone, Debug)]
pub struct NewListing<'a> {
    /// The stamps, digests, question and flags. [`write()`] fills in the lengths and counts.
    pub record: ListingRecord,
    /// See [`SeenListing::untracked`].
    pub untracked: Vec<&'a [u8]>,
    /// See [`SeenListing::ignored`].
    pub ignored: Vec<&'a [u8]>,
    /// See [`SeenListing::excluded`].
    pub excluded: &'a [DirNumber],
    /// See [`SeenListing::witnesses`].
    pub witnesses: Vec<(&'a [u8], StampBytes)>,
}

/// Appends a block to `out`.
pub fn write(compared: &[ComparedRecord], listings: &[NewListing<'_>], out: &mut Vec<u8>) {
    let header = Header {
        listings: to_u32(listings.len()).into(),
        compared: to_u32(compared.len()).into(),
    };
    out.extend_from_slice(header.as_bytes());
    out.extend_from_slice(compared.as_bytes());
    for listing in listings {
        let len =
            |names: &[&[u8]]| to_u32(names.iter().map(|name| name.len().saturating_add(1)).sum());
        let witness_paths: Vec<&[u8]> = listing.witnesses.iter().map(|(path, _)| *path).collect();
        let record = ListingRecord {
            untracked_len: len(&listing.untracked).into(),
            ignored_len: len(&listing.ignored).into(),
            witnesses_len: len(&witness_paths).into(),
            witnesses: to_u32(listing.witnesses.len()).into(),
            excluded: to_u32(listing.excluded.len()).into(),
            ..listing.record
        };
        out.extend_from_slice(record.as_bytes());
        for (_, stamp) in &listing.witnesses {
            out.extend_from_slice(stamp);
        }
        for number in listing.excluded {
            out.extend_from_slice(U32::new(*number).as_bytes());
        }
        let all = listing
            .untracked
            .iter()
            .chain(&listing.ignored)
            .chain(&witness_paths);
        for name in all {
            out.extend_from_slice(name);
            out.push(0);
        }
    }
}

fn to_u32(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state_layout::documented::{assert_documented, fields};

    fn record(question: u32) -> ListingRecord {
        ListingRecord {
            stamp: [1; STAMP_LEN],
            rules_file: [2; STAMP_LEN],
            rules_above: 3.into(),
            rules: 4.into(),
            question: question.into(),
            flags: ListingRecord::HAS_RULES_FILE.into(),
            ..ListingRecord::EMPTY
        }
    }

    fn block() -> Vec<u8> {
        let compared = ComparedRecord {
            stamp: [9; STAMP_LEN],
            conversion: 7.into(),
            at: 5.into(),
            flags: ComparedRecord::IS_UNCHANGED.into(),
        };
        let empty = NewListing {
            record: record(1),
            untracked: Vec::new(),
            ignored: Vec::new(),
            excluded: &[],
            witnesses: Vec::new(),
        };
        let full = NewListing {
            record: record(2),
            untracked: vec![b"a", b"b/"],
            ignored: vec![b"c.o"],
            excluded: &[4, 8],
            witnesses: vec![(b"b", [6; STAMP_LEN]), (b"b/x", [7; STAMP_LEN])],
        };
        let mut out = Vec::new();
        write(&[compared], &[empty, full], &mut out);
        out
    }

    #[test]
    fn records_are_as_documented() {
        assert_documented("Seen header", &fields!(Header { listings, compared }));
        assert_documented(
            "Compared",
            &fields!(ComparedRecord {
                stamp,
                conversion,
                at,
                flags
            }),
        );
        assert_documented(
            "Listing",
            &fields!(ListingRecord {
                stamp,
                rules_file,
                rules_above,
                rules,
                question,
                flags,
                untracked_len,
                ignored_len,
                witnesses_len,
                witnesses,
                excluded,
                reserved
            }),
        );
    }

    #[test]
    fn what_is_written_is_read() {
        let bytes = block();
        let seen = SeenBlock::parse(&bytes).unwrap();
        assert!(seen.is_whole());
        for other in [&bytes[..bytes.len() - 1], &[&bytes[..], b"x"].concat()] {
            assert!(!SeenBlock::parse(other).unwrap().is_whole());
        }
        assert_eq!(
            seen.compared()
                .iter()
                .map(|one| one.at.get())
                .collect::<Vec<_>>(),
            [5]
        );
        let listings: Vec<_> = seen.listings().collect();
        assert_eq!(listings.len(), 2);
        assert_eq!(listings[0].record.question.get(), 1);
        assert_eq!(listings[0].untracked().count(), 0);
        assert_eq!(listings[1].untracked().collect::<Vec<_>>(), ["a", "b/"]);
        assert_eq!(listings[1].ignored().collect::<Vec<_>>(), ["c.o"]);
        assert_eq!(listings[1].excluded().collect::<Vec<_>>(), [4, 8]);
        let witnesses: Vec<_> = listings[1]
            .witnesses()
            .map(|(path, stamp)| (path, stamp[0]))
            .collect();
        assert_eq!(witnesses, [(BStr::new("b"), 6), (BStr::new("b/x"), 7)]);
    }

    #[test]
    fn a_block_cut_off_or_with_a_flipped_bit_does_not_panic() {
        let bytes = block();
        let read = |bytes: &[u8]| {
            SeenBlock::parse(bytes).map(|seen| {
                seen.listings()
                    .map(|one| one.untracked().count() + one.witnesses().count())
                    .sum::<usize>()
            })
        };
        for end in 0..bytes.len() {
            let _ = read(&bytes[..end]);
        }
        for at in 0..bytes.len() {
            let mut flipped = bytes.clone();
            flipped[at] ^= 0x80;
            let _ = read(&flipped);
        }
        assert!(read(&bytes).is_some());
    }
}
