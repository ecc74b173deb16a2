//! File status: the fields that Vigil compares, and no more (stat(2)).

use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::path::Path;

pub use rustix::fs::FileType;
use rustix::fs::{AtFlags, CWD, Mode, OFlags, RawMode, StatxFlags, statx};
use rustix::io::Errno;

use crate::errno;

/// The status of one file. Times are in seconds and nanoseconds since 1970; seconds may be negative.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Stat {
    /// The device that the file is on (`st_dev`).
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

/// Permission bits of a directory in which the members of a group make files for each other: setgid, and writable by the group.
const SHARED: u32 = 0o2020;

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

    /// Whether a group shares this directory: it is writable by its group and has the setgid bit, as `git init --shared`
    /// makes the directories of a repository (git-init(1)).
    #[inline]
    pub fn is_shared_with_group(&self) -> bool {
        self.mode & SHARED == SHARED
    }

    /// Returns the type of the file.
    #[allow(
        clippy::unnecessary_cast,
        reason = "the width of a mode differs between architectures"
    )]
    pub fn file_type(&self) -> FileType {
        FileType::from_raw_mode(self.mode as RawMode)
    }
}

/// Converts the kernel's struct, for which the C library and rustix each have a type.
macro_rules! from_kernel {
    ($kernel:ty) => {
        impl From<$kernel> for Stat {
            #[inline]
            #[allow(
                clippy::unnecessary_cast,
                reason = "the widths differ between architectures"
            )]
            fn from(s: $kernel) -> Self {
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
    };
}
from_kernel!(rustix::fs::Stat);
from_kernel!(&libc::stat);

/// Reads the status of `name` in the open directory `dir`, not following a symbolic link (`fstatat(2)`).
///
/// # Errors
/// Those of fstatat(2).
#[inline]
pub fn stat_at(dir: BorrowedFd<'_>, name: &CStr) -> Result<Stat, Errno> {
    rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW).map(Stat::from)
}

/// Same as [`stat_at`], for the name at the start of `names`, which ends at their first NUL. Only the kernel searches for that
/// NUL, which matters when hundreds of thousands of names are looked up.
///
/// # Errors
/// Those of fstatat(2), and `EINVAL` if `names` does not end with a NUL.
#[inline]
#[allow(
    unsafe_code,
    reason = "the safe wrapper wants to know where the name ends"
)]
pub fn stat_at_first(dir: BorrowedFd<'_>, names: &[u8]) -> Result<Stat, Errno> {
    if names.last() != Some(&0) {
        return Err(Errno::INVAL);
    }
    let mut stat = MaybeUninit::<libc::stat>::uninit();
    // SAFETY: the string at the start of `names` ends within it, since `names` ends with a NUL. The kernel fills `stat` if it
    // returns 0.
    let stat = unsafe {
        let name = names.as_ptr().cast();
        let flags = libc::AT_SYMLINK_NOFOLLOW;
        if libc::fstatat(dir.as_raw_fd(), name, stat.as_mut_ptr(), flags) != 0 {
            return Err(errno::last());
        }
        stat.assume_init()
    };
    Ok(Stat::from(&stat))
}

/// Reads the status of the open file `fd` (`fstat(2)`).
///
/// # Errors
/// Those of fstat(2).
#[inline]
pub fn stat_fd(fd: BorrowedFd<'_>) -> Result<Stat, Errno> {
    rustix::fs::fstat(fd).map(Stat::from)
}

/// Reads the status of `path`, following a symbolic link (`stat(2)`).
///
/// # Errors
/// Those of stat(2).
pub fn stat_path(path: &Path) -> Result<Stat, Errno> {
    rustix::fs::statat(CWD, path, AtFlags::empty()).map(Stat::from)
}

/// Reads the status of `path`, not following a symbolic link in its last component (`lstat(2)`).
///
/// # Errors
/// Those of lstat(2).
pub fn lstat_path(path: &Path) -> Result<Stat, Errno> {
    rustix::fs::statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW).map(Stat::from)
}

/// The id of the mount that `path` is on (`STATX_MNT_ID` in statx(2)). `None` if the kernel does not report it.
///
/// # Errors
/// A system call failed.
pub fn mount_id(path: &Path) -> Result<Option<u64>, Errno> {
    match statx(CWD, path, AtFlags::empty(), StatxFlags::MNT_ID) {
        Ok(stat) if stat.stx_mask & StatxFlags::MNT_ID.bits() != 0 => Ok(Some(stat.stx_mnt_id)),
        // Before Linux 5.8, and where an old sandbox refuses what it does not know.
        Ok(_) | Err(Errno::NOSYS | Errno::PERM) => mount_id_by_descriptor(path),
        Err(error) => Err(error),
    }
}

/// What proc_pid_fdinfo(5) says about a descriptor of `path`: the id of the mount, since Linux 3.15.
fn mount_id_by_descriptor(path: &Path) -> Result<Option<u64>, Errno> {
    let opened = rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
    let facts = format!("/proc/self/fdinfo/{}", opened.as_raw_fd());
    let facts = std::fs::read_to_string(facts).unwrap_or_default();
    let mut lines = facts.lines();
    let id = lines.find_map(|line| line.strip_prefix("mnt_id:"));
    Ok(id.and_then(|id| id.trim().parse().ok()))
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use super::*;

    #[test]
    fn both_ways_to_a_mount_name_the_same_id() {
        let ids = ["/", "/proc"].map(|path| mount_id(Path::new(path)).unwrap());
        assert_ne!(ids[0], ids[1]);
        let others = ["/", "/proc"].map(|path| mount_id_by_descriptor(Path::new(path)).unwrap());
        assert_eq!(others, ids);
    }

    #[test]
    fn the_first_of_several_names_is_looked_at() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("a"), "12").unwrap();
        let fd = std::fs::File::open(dir.path()).unwrap();
        let look = |names| stat_at_first(fd.as_fd(), names);
        assert_eq!(look(b"a\0b\0"), stat_at(fd.as_fd(), c"a"));
        assert_eq!(look(b"b\0a\0"), Err(Errno::NOENT));
        assert_eq!(look(b"a"), Err(Errno::INVAL));
        assert_eq!(look(b""), Err(Errno::INVAL));
    }
}
