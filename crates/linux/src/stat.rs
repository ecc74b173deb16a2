//! File status: the fields that Vigil compares, and no more (stat(2)).

use std::ffi::CStr;
use std::os::fd::BorrowedFd;
use std::path::Path;

use rustix::fs::{AtFlags, CWD};
use rustix::io::Errno;

/// What the kernel says of one file. Times are in seconds and nanoseconds since 1970, and seconds may be
/// negative.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Stat {
    /// Device the file is on (`st_dev`).
    pub dev: u64,
    /// Inode number (`st_ino`).
    pub ino: u64,
    /// Type and permission bits (`st_mode`).
    pub mode: u32,
    /// Number of hard links (`st_nlink`).
    pub nlink: u64,
    /// Owner's user id (`st_uid`).
    pub uid: u32,
    /// Owner's group id (`st_gid`).
    pub gid: u32,
    /// Length in bytes (`st_size`).
    pub size: u64,
    /// Time of the last change of contents, whole seconds.
    pub mtime_s: i64,
    /// Time of the last change of contents, nanoseconds within the second.
    pub mtime_ns: u32,
    /// Time of the last change of the inode, whole seconds.
    pub ctime_s: i64,
    /// Time of the last change of the inode, nanoseconds within the second.
    pub ctime_ns: u32,
}

/// Type bits of `st_mode` (inode(7)).
const S_IFMT: u32 = 0o170_000;
const S_IFDIR: u32 = 0o040_000;
const S_IFREG: u32 = 0o100_000;
const S_IFLNK: u32 = 0o120_000;

impl Stat {
    /// Whether this is a directory.
    #[inline]
    pub fn is_dir(&self) -> bool {
        self.mode & S_IFMT == S_IFDIR
    }

    /// Whether this is a regular file.
    #[inline]
    pub fn is_file(&self) -> bool {
        self.mode & S_IFMT == S_IFREG
    }

    /// Whether this is a symbolic link.
    #[inline]
    pub fn is_symlink(&self) -> bool {
        self.mode & S_IFMT == S_IFLNK
    }
}

impl From<rustix::fs::Stat> for Stat {
    #[inline]
    #[allow(
        clippy::unnecessary_cast,
        reason = "the widths differ between architectures"
    )]
    fn from(s: rustix::fs::Stat) -> Self {
        Self {
            dev: s.st_dev as u64,
            ino: s.st_ino as u64,
            mode: s.st_mode as u32,
            nlink: s.st_nlink as u64,
            uid: s.st_uid as u32,
            gid: s.st_gid as u32,
            size: s.st_size as u64,
            mtime_s: s.st_mtime as i64,
            mtime_ns: s.st_mtime_nsec as u32,
            ctime_s: s.st_ctime as i64,
            ctime_ns: s.st_ctime_nsec as u32,
        }
    }
}

/// Looks at `name` in the open directory `dir`, not following a symbolic link (`fstatat(2)`).
#[inline]
pub fn stat_at(dir: BorrowedFd<'_>, name: &CStr) -> Result<Stat, Errno> {
    rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW).map(Stat::from)
}

/// Looks at the open file `fd` (`fstat(2)`).
#[inline]
pub fn stat_fd(fd: BorrowedFd<'_>) -> Result<Stat, Errno> {
    rustix::fs::fstat(fd).map(Stat::from)
}

/// Looks at `path`, following a symbolic link (`stat(2)`).
pub fn stat_path(path: &Path) -> Result<Stat, Errno> {
    rustix::fs::statat(CWD, path, AtFlags::empty()).map(Stat::from)
}

/// Looks at `path`, not following a symbolic link in its last part (`lstat(2)`).
pub fn lstat_path(path: &Path) -> Result<Stat, Errno> {
    rustix::fs::statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW).map(Stat::from)
}
