//! A scan's open directories, counted so that their number stays bounded however deep the tree is.

use std::ffi::CStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicUsize, Ordering};

use bstr::{BStr, ByteSlice};
use rustix::fs::{Mode, OFlags};
use vigil_linux::Errno;
use vigil_linux::dir::open_dir_at;

/// The longest name that the kernel accepts (`NAME_MAX`).
pub(super) const NAME_LEN_MAX: usize = 255;

/// A directory that stays open while tasks need it.
#[derive(Debug)]
pub(super) struct OpenDir<'s> {
    fd: DirFd<'s>,
    count: &'s AtomicUsize,
}

/// A directory's descriptor.
#[derive(Debug)]
pub(super) enum DirFd<'s> {
    /// Opened in the walk.
    Own(OwnedFd),
    /// That of the top, which stays open for the whole walk.
    Top(BorrowedFd<'s>),
}

impl<'s> OpenDir<'s> {
    /// Counts `fd` in `count` until it is dropped.
    pub(super) fn new(fd: DirFd<'s>, count: &'s AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self { fd, count }
    }

    /// The descriptor.
    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        match &self.fd {
            DirFd::Own(fd) => fd.as_fd(),
            DirFd::Top(fd) => *fd,
        }
    }
}

impl Drop for OpenDir<'_> {
    fn drop(&mut self) {
        self.count.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A name with the NUL that system calls need, on the stack.
pub(super) struct CName {
    bytes: [u8; NAME_LEN_MAX + 1],
}

impl CName {
    /// `None` for a name that no file can have: it is too long. A NUL in the name ends it.
    #[inline]
    pub(super) fn new(name: &[u8]) -> Option<Self> {
        let mut bytes = [0; NAME_LEN_MAX + 1];
        let (head, tail) = bytes.split_at_mut_checked(name.len())?;
        if tail.is_empty() {
            return None;
        }
        head.copy_from_slice(name);
        Some(Self { bytes })
    }

    /// The name, cut at its first NUL.
    #[inline]
    pub(super) fn as_c_str(&self) -> &CStr {
        CStr::from_bytes_until_nul(&self.bytes).unwrap_or_default()
    }
}

/// Opens the directory at `path` below `top` step by step, following no symbolic link.
pub(super) fn open_below(top: BorrowedFd<'_>, path: &BStr) -> Result<OwnedFd, Errno> {
    let mut open: Option<OwnedFd> = None;
    for name in path.split_str("/") {
        let name = CName::new(name).ok_or(Errno::NAMETOOLONG)?;
        let parent = open.as_ref().map_or(top, AsFd::as_fd);
        open = Some(open_dir_at(parent, name.as_c_str())?);
    }
    open.ok_or(Errno::NOENT)
}

/// Opens the directory `name` in `parent` for looking up names only, for directories that may not
/// be listed.
pub(super) fn open_for_search(parent: BorrowedFd<'_>, name: &CStr) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(parent, name, flags, Mode::empty())
}
