//! The layout of one block (docs/state-file.md).

use std::ffi::CStr;

use bstr::{BStr, ByteSlice};
use gix_hash::{Kind, ObjectId};
use zerocopy::little_endian::U32;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::sums::Sums;
use crate::c_string::until_nul;
use crate::facts::RecordedStat;
use crate::index::EntryFlags;
use crate::mode::FileMode;

/// The first bytes of every block.
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct Header {
    /// Index entries in and below the directory.
    pub entries: U32,
    /// How many of these are not expected in the working tree.
    pub skip_worktree: U32,
    /// How many of these the user promised not to change.
    pub assume_unchanged: U32,
    /// Paths in conflict in and below the directory.
    pub conflicted: U32,
    /// Submodules in and below the directory.
    pub gitlinks: U32,
    /// Sparse directories in and below the directory.
    pub sparse_directories: U32,
    /// The number of subdirectory records that follow.
    pub subdirs: U32,
    /// The number of segment records that follow: 0 if the files themselves follow.
    pub segments: U32,
    /// The number of file records that follow.
    pub files: U32,
    /// The length of an object id, in bytes.
    pub id_len: U32,
}

const _: () = assert!(size_of::<Header>() == 40);

/// One subdirectory, in byte order of names.
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct SubdirRecord {
    /// The number of the subdirectory.
    pub number: U32,
    /// Where its name starts among the block's names. A NUL ends it.
    pub name_start: U32,
    /// The number of entries of this directory's tree that precede it in the order of the index.
    pub before: U32,
    /// The number of entries in and below it.
    pub entries: U32,
}

const _: () = assert!(size_of::<SubdirRecord>() == 16);

/// A reference to a segment: a part of the files of a large directory, in its own block.
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct SegmentRecord {
    /// The key of the segment's block.
    pub key: U32,
    /// The number of files in it.
    pub files: U32,
}

const _: () = assert!(size_of::<SegmentRecord>() == 8);

/// One index entry, sorted by name in byte order, then by stage.
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct FileRecord {
    ctime_s: U32,
    ctime_ns: U32,
    mtime_s: U32,
    mtime_ns: U32,
    dev: U32,
    ino: U32,
    uid: U32,
    gid: U32,
    size: U32,
    mode: U32,
    flags: U32,
    name_start: U32,
}

const _: () = assert!(size_of::<FileRecord>() == 48);

impl FileRecord {
    /// The record of an entry whose name starts at `name_start` among the block's names.
    pub(super) fn new(
        stat: &RecordedStat,
        mode: FileMode,
        flags: EntryFlags,
        name_start: u32,
    ) -> Self {
        Self {
            ctime_s: stat.ctime_s.into(),
            ctime_ns: stat.ctime_ns.into(),
            mtime_s: stat.mtime_s.into(),
            mtime_ns: stat.mtime_ns.into(),
            dev: stat.dev.into(),
            ino: stat.ino.into(),
            uid: stat.uid.into(),
            gid: stat.gid.into(),
            size: stat.size.into(),
            mode: mode.0.into(),
            flags: flags.0.into(),
            name_start: name_start.into(),
        }
    }

    /// Where the name starts among the block's names.
    pub(super) fn name_start(&self) -> u32 {
        self.name_start.get()
    }

    /// Returns the record with another start of its name.
    pub(super) fn with_name_start(mut self, name_start: u32) -> Self {
        self.name_start = name_start.into();
        self
    }
}

/// The records of some files, with their ids and names.
#[derive(Clone, Copy, Debug)]
pub struct Files<'b> {
    records: &'b [FileRecord],
    ids: &'b [u8],
    names: &'b [u8],
    id_len: usize,
}

impl<'b> Files<'b> {
    const NONE: Self = Self {
        records: &[],
        ids: &[],
        names: &[],
        id_len: 0,
    };

    /// The number of files.
    #[inline]
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Whether there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// The file at position `at`, counted from 0.
    #[inline]
    pub fn get(&self, at: usize) -> Option<TrackedFile<'b>> {
        let record = self.records.get(at)?;
        let start = at.checked_mul(self.id_len)?;
        let id = self.ids.get(start..start.checked_add(self.id_len)?)?;
        let name = self.names.get(record.name_start.get() as usize..)?;
        Some(TrackedFile { record, id, name })
    }

    /// Whether each file has its own id and name, as far as that can be told without reading the names: each id has `id_len`
    /// bytes, and the names follow each other, shared only by the stages of one path.
    pub(super) fn is_well_formed(&self, id_len: usize) -> bool {
        let starts = || self.records.iter().map(FileRecord::name_start);
        let mut sharing = 1;
        self.id_len == id_len
            && starts().zip(starts().skip(1)).all(|(start, next)| {
                let before_next = next.checked_sub(1).map(|at| at as usize);
                sharing = if start == next { sharing + 1 } else { 1 };
                let is_behind = || before_next.and_then(|at| self.names.get(at)) == Some(&0);
                sharing <= STAGES && (start == next || start < next && is_behind())
            })
    }

    /// The last file.
    pub(super) fn last(&self) -> Option<TrackedFile<'b>> {
        self.get(self.len().checked_sub(1)?)
    }

    /// The position of the first file whose name is `name` or greater.
    pub fn position(&self, name: &[u8]) -> usize {
        self.records.partition_point(|record| {
            let rest = self.names.get(record.name_start.get() as usize..);
            until_nul(rest.unwrap_or_default()) < name
        })
    }
}

/// The maximum number of entries with the same path.
const STAGES: u32 = 4;

/// One tracked file: an index entry without its path.
#[derive(Clone, Copy, Debug)]
pub struct TrackedFile<'b> {
    record: &'b FileRecord,
    id: &'b [u8],
    /// The name, a NUL, and the bytes that follow.
    name: &'b [u8],
}

impl<'b> TrackedFile<'b> {
    /// The stat data recorded when the entry was made or last refreshed.
    #[inline]
    pub fn stat(&self) -> RecordedStat {
        let record = self.record;
        RecordedStat {
            ctime_s: record.ctime_s.get(),
            ctime_ns: record.ctime_ns.get(),
            mtime_s: record.mtime_s.get(),
            mtime_ns: record.mtime_ns.get(),
            dev: record.dev.get(),
            ino: record.ino.get(),
            uid: record.uid.get(),
            gid: record.gid.get(),
            size: record.size.get(),
        }
    }

    /// Type and executable bit.
    #[inline]
    pub fn mode(&self) -> FileMode {
        FileMode(self.record.mode.get())
    }

    /// The stage and the marks.
    #[inline]
    pub fn flags(&self) -> EntryFlags {
        EntryFlags(self.record.flags.get())
    }

    /// Whether this is one side of a path in conflict. Such a path has several records.
    #[inline]
    pub fn is_side(&self) -> bool {
        self.flags().stage() > 0
    }

    /// Whether this records a nested repository by the commit that is checked out there.
    #[inline]
    pub fn is_nested(&self) -> bool {
        self.mode().is_gitlink()
    }

    /// Whether this stands for a whole directory.
    #[inline]
    pub fn is_collapsed(&self) -> bool {
        self.mode().is_tree()
    }

    /// Whether the file is not meant to be in the working copy.
    #[inline]
    pub fn is_left_out(&self) -> bool {
        self.flags().is_skip_worktree()
    }

    /// Whether the user promised that the file is as recorded.
    #[inline]
    pub fn is_assume_valid(&self) -> bool {
        self.flags().is_assume_valid()
    }

    /// The blob, or the commit of a submodule, or the tree of a sparse directory.
    #[inline]
    pub fn id(&self) -> ObjectId {
        ObjectId::try_from(self.id).unwrap_or(ObjectId::null(Kind::Sha1))
    }

    /// Whether everything but the name is recorded as in `other`.
    pub fn is_recorded_as(&self, other: &TrackedFile<'_>) -> bool {
        self.id == other.id
            && self.record.with_name_start(0).as_bytes()
                == other.record.with_name_start(0).as_bytes()
    }

    /// The name in its directory; empty for a sparse directory. It contains slashes if the path has a component that no
    /// directory can have, see [`directory_len`](crate::path::directory_len).
    #[inline]
    pub fn name(&self) -> &'b BStr {
        until_nul(self.name).as_bstr()
    }

    /// The name, a NUL, and the bytes that follow.
    #[inline]
    pub fn name_and_more(&self) -> &'b [u8] {
        self.name
    }

    /// The name with the NUL that system calls expect.
    #[inline]
    pub fn c_name(&self) -> &'b CStr {
        CStr::from_bytes_until_nul(self.name).unwrap_or_default()
    }
}

/// The block of one directory.
#[derive(Clone, Copy, Debug)]
pub struct DirectoryBlock<'b> {
    header: &'b Header,
    subdirs: &'b [SubdirRecord],
    segments: &'b [SegmentRecord],
    files: Files<'b>,
    names: &'b [u8],
}

impl<'b> DirectoryBlock<'b> {
    /// Reads a block. `None` if its parts exceed it.
    #[inline]
    pub fn parse(bytes: &'b [u8]) -> Option<Self> {
        let (header, rest) = Header::ref_from_prefix(bytes).ok()?;
        let (subdirs, rest) = records::<SubdirRecord>(rest, header.subdirs)?;
        let (segments, rest) = records::<SegmentRecord>(rest, header.segments)?;
        let (files, names) = files(rest, header)?;
        Some(Self {
            header,
            subdirs,
            segments,
            files,
            names,
        })
    }

    /// The counts in and below the directory.
    pub fn sums(&self) -> Sums {
        let header = self.header;
        Sums {
            entries: header.entries.get(),
            skip_worktree: header.skip_worktree.get(),
            assume_unchanged: header.assume_unchanged.get(),
            conflicted: header.conflicted.get(),
            gitlinks: header.gitlinks.get(),
            sparse_directories: header.sparse_directories.get(),
        }
    }

    /// The records of subdirectories, in byte order of names.
    #[inline]
    pub fn subdirs(&self) -> &'b [SubdirRecord] {
        self.subdirs
    }

    /// The name of a subdirectory.
    #[inline]
    pub(crate) fn subdir_name(&self, subdir: &SubdirRecord) -> &'b BStr {
        let rest = self.names.get(subdir.name_start.get() as usize..);
        until_nul(rest.unwrap_or_default()).as_bstr()
    }

    /// The segments of a large directory; empty if the files are in this block.
    #[inline]
    pub fn segments(&self) -> &'b [SegmentRecord] {
        self.segments
    }

    /// The files in this block.
    #[inline]
    pub fn files(&self) -> Files<'b> {
        self.files
    }

    /// Whether the names of all subdirectories together are no longer than the block, as they are if none is shared.
    pub(super) fn names_are_unshared(&self) -> bool {
        let mut left = self.names.len();
        self.subdirs.iter().all(|subdir| {
            let name_len = self.subdir_name(subdir).len().saturating_add(1);
            left.checked_sub(name_len).is_some_and(|rest| {
                left = rest;
                true
            })
        })
    }

    /// The first subdirectory called `name`.
    pub fn find_subdir(&self, name: &[u8]) -> Option<&'b SubdirRecord> {
        let at = self
            .subdirs
            .partition_point(|subdir| **self.subdir_name(subdir) < *name);
        let found = self.subdirs.get(at)?;
        (self.subdir_name(found) == name).then_some(found)
    }
}

/// A block of files of a large directory.
#[derive(Clone, Copy, Debug)]
pub struct FilesBlock;

impl FilesBlock {
    /// Reads a block. `None` if its parts exceed it.
    #[inline]
    pub fn parse(bytes: &[u8]) -> Option<Files<'_>> {
        let (header, rest) = Header::ref_from_prefix(bytes).ok()?;
        files(rest, header).map(|(files, _)| files)
    }
}

#[inline]
fn files<'b>(rest: &'b [u8], header: &Header) -> Option<(Files<'b>, &'b [u8])> {
    let (found, rest) = records::<FileRecord>(rest, header.files)?;
    let id_len = header.id_len.get() as usize;
    let (ids, names) = rest.split_at_checked(found.len().checked_mul(id_len)?)?;
    let files = if found.is_empty() {
        Files::NONE
    } else {
        Files {
            records: found,
            ids,
            names,
            id_len,
        }
    };
    Some((files, names))
}

#[inline]
fn records<T: FromBytes + Immutable + KnownLayout + Unaligned>(
    bytes: &[u8],
    count: U32,
) -> Option<(&[T], &[u8])> {
    <[T]>::ref_from_prefix_with_elems(bytes, count.get() as usize).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state_layout::documented::{assert_documented, fields};

    #[test]
    fn records_are_as_documented() {
        assert_documented(
            "Tracked header",
            &fields!(Header {
                entries,
                skip_worktree,
                assume_unchanged,
                conflicted,
                gitlinks,
                sparse_directories,
                subdirs,
                segments,
                files,
                id_len
            }),
        );
        assert_documented(
            "Subdirectory",
            &fields!(SubdirRecord {
                number,
                name_start,
                before,
                entries
            }),
        );
        assert_documented("Segment", &fields!(SegmentRecord { key, files }));
        assert_documented(
            "File",
            &fields!(FileRecord {
                ctime_s,
                ctime_ns,
                mtime_s,
                mtime_ns,
                dev,
                ino,
                uid,
                gid,
                size,
                mode,
                flags,
                name_start
            }),
        );
    }
}
