//! The kind of file system that a file is on, and the timestamps that it stores.

use std::os::fd::BorrowedFd;

use rustix::fs::{Timestamps, UTIME_OMIT, fstatfs, futimens};
use rustix::io::Errno;
use rustix::time::Timespec;

/// The kind of file system that the open file `fd` is on: its magic number (`f_type` in
/// fstatfs(2)).
///
/// # Errors
/// fstatfs(2) failed.
pub fn kind_of(fd: BorrowedFd<'_>) -> Result<u32, Errno> {
    #[allow(
        clippy::unnecessary_cast,
        reason = "the field's type differs between architectures"
    )]
    fstatfs(fd).map(|facts| facts.f_type as u32)
}

/// Sets the mtime of the open file `fd`, in seconds and nanoseconds since 1970 (futimens(3)).
///
/// # Errors
/// futimens(3) failed.
pub fn set_mtime(fd: BorrowedFd<'_>, s: i64, ns: u32) -> Result<(), Errno> {
    let keep = Timespec {
        tv_sec: 0,
        tv_nsec: UTIME_OMIT,
    };
    let mtime = Timespec {
        tv_sec: s,
        tv_nsec: ns.into(),
    };
    futimens(
        fd,
        &Timestamps {
            last_access: keep,
            last_modification: mtime,
        },
    )
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::fd::AsFd;
    use std::os::unix::fs::MetadataExt;

    use super::*;

    #[test]
    fn a_kind_is_that_of_the_file_system() {
        let proc = File::open("/proc").unwrap();
        assert_eq!(kind_of(proc.as_fd()), Ok(0x9fa0));
    }

    #[test]
    fn the_mtime_alone_is_set() {
        let folder = tempfile::tempdir().unwrap();
        let dir = File::open(folder.path()).unwrap();
        let before = dir.metadata().unwrap();
        set_mtime(dir.as_fd(), 1_000_000_002, 0).unwrap();
        let after = dir.metadata().unwrap();
        assert_eq!(after.mtime(), 1_000_000_002);
        assert_eq!(
            (before.atime(), before.atime_nsec()),
            (after.atime(), after.atime_nsec())
        );
    }
}
