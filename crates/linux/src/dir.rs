//! Directories: opening from the parent's descriptor, and sorted listing.

use std::ffi::CStr;
use std::os::fd::{BorrowedFd, OwnedFd};

use rustix::fs::{Dir, FileType, Mode, OFlags};
use rustix::io::Errno;

/// What `getdents64(2)` says of an entry's type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A directory.
    Dir,
    /// A symbolic link.
    Symlink,
    /// A socket, pipe or device.
    Other,
}

/// One entry of a listing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    /// The name, without directory.
    pub name: &'a CStr,
    /// The type; never unknown: where the file system does not say, the entry was stat'ed.
    pub kind: EntryKind,
}

/// A sorted listing whose memory is reused from one directory to the next.
#[derive(Debug, Default)]
pub struct Listing {
    entries: Vec<(std::ffi::CString, EntryKind)>,
}

impl Listing {
    /// An empty listing with no memory.
    pub fn new() -> Self {
        Self::default()
    }

    /// Replaces the contents by the entries of the open directory `dir`, in byte order, without `.` and `..`.
    /// `dir` must be positioned at its start. Entries that vanish meanwhile are left out.
    pub fn read(&mut self, dir: BorrowedFd<'_>) -> Result<(), Errno> {
        self.entries.clear();
        for entry in Dir::read_from(dir)? {
            let entry = entry?;
            if matches!(entry.file_name().to_bytes(), b"." | b"..") {
                continue;
            }
            let kind = match entry.file_type() {
                FileType::RegularFile => EntryKind::File,
                FileType::Directory => EntryKind::Dir,
                FileType::Symlink => EntryKind::Symlink,
                _ => EntryKind::Other,
            };
            self.entries.push((entry.file_name().to_owned(), kind));
        }
        self.entries.sort();
        Ok(())
    }

    /// The entry called `name`.
    pub fn find(&self, name: &CStr) -> Option<Entry<'_>> {
        self.entries().find(|entry| entry.name == name)
    }

    /// The entries in byte order.
    pub fn entries(&self) -> impl ExactSizeIterator<Item = Entry<'_>> {
        self.entries
            .iter()
            .map(|(name, kind)| Entry { name, kind: *kind })
    }
}

impl PartialOrd for EntryKind {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for EntryKind {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (*self as u8).cmp(&(*other as u8))
    }
}

/// Opens the directory `name` in the open directory `parent`, not following a symbolic link.
///
/// Errors: `NOTDIR` or `LOOP` where `name` is no directory, `NOENT` where it vanished, `ACCESS` where it may
/// not be read.
#[inline]
pub fn open_dir_at(parent: BorrowedFd<'_>, name: &CStr) -> Result<OwnedFd, Errno> {
    rustix::fs::openat(
        parent,
        name,
        OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC,
        Mode::empty(),
    )
}
