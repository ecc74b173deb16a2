//! Directories: opening from the parent's descriptor, and sorted listing.

pub mod bounded;
mod kernel;
mod listing;
mod order;
mod ranks;

use std::ffi::CStr;
use std::os::fd::{BorrowedFd, OwnedFd};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

pub use kernel::getdents64;
pub use listing::Listing;

/// The type of an entry, as `getdents64(2)` reports it.
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

impl EntryKind {
    /// The kind for a `d_type` (readdir(3)) that is known.
    #[inline]
    fn from_d_type(d_type: u8) -> Self {
        match d_type {
            libc::DT_REG => Self::File,
            libc::DT_DIR => Self::Dir,
            libc::DT_LNK => Self::Symlink,
            _ => Self::Other,
        }
    }
}

/// One entry of a listing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    /// The name, without its directory.
    pub name: &'a CStr,
    /// The type, never unknown: if the file system does not report it, the entry's status was read.
    pub kind: EntryKind,
}

/// Opens the directory `name` in the open directory `parent`, not following a symbolic link.
///
/// # Errors
/// `NOTDIR` or `LOOP` if `name` is not a directory, `NOENT` if it vanished, `ACCESS` if it may not be read.
#[inline]
pub fn open_dir_at(parent: BorrowedFd<'_>, name: &CStr) -> Result<OwnedFd, Errno> {
    rustix::fs::openat(
        parent,
        name,
        OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC,
        Mode::empty(),
    )
}

#[cfg(test)]
mod tests;
