//! Opening files without waiting for other processes, except for those that must be waited for.

use std::os::fd::{AsFd, OwnedFd};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, openat, statat};
use rustix::io::Errno;
use rustix::path::Arg;

/// How long a lease is waited for. By default, the kernel takes it away after 45 seconds (`lease-break-time` in proc_sys_fs(5)).
const LEASE_TIME: Duration = Duration::from_secs(60);

/// The pause after a file was found to be leased.
const PAUSE: Duration = Duration::from_millis(5);

/// Opens `path`, relative to `folder`, for reading, with further `flags`. A pipe without a writer is not waited for. If another
/// process holds a lease on a file, as file servers do for their clients (`F_SETLEASE` in fcntl(2)), it is waited for as without
/// `O_NONBLOCK`. But it may be replaced by a pipe at any time, so each try is made with that flag.
///
/// # Errors
/// Those of open(2).
pub fn open_to_read(
    folder: impl AsFd,
    path: impl Arg + Copy,
    flags: OFlags,
) -> Result<OwnedFd, Errno> {
    let flags = flags | OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let open = || openat(&folder, path, flags, Mode::empty());
    let mut opened = open();
    if matches!(opened, Err(Errno::WOULDBLOCK)) && is_regular(folder.as_fd(), path, flags) {
        let end = Instant::now() + LEASE_TIME;
        while matches!(opened, Err(Errno::WOULDBLOCK)) && Instant::now() < end {
            thread::sleep(PAUSE);
            opened = open();
        }
    }
    opened
}

fn is_regular(folder: impl AsFd, path: impl Arg, flags: OFlags) -> bool {
    let follows = match flags.contains(OFlags::NOFOLLOW) {
        true => AtFlags::SYMLINK_NOFOLLOW,
        false => AtFlags::empty(),
    };
    let stat = statat(folder, path, follows);
    stat.is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile)
}

#[cfg(test)]
mod tests {
    #![allow(unsafe_code, reason = "leases have no safe wrapper")]

    use std::fs::File;
    use std::os::fd::AsRawFd;

    use rustix::fs::{CWD, mknodat};

    use super::*;

    /// `F_SETSIG` of fcntl(2), which is not in libc.
    const SET_SIGNAL: i32 = 10;

    #[test]
    fn a_pipe_is_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pipe");
        mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        assert!(open_to_read(CWD, &path, OFlags::empty()).is_ok());
    }

    #[test]
    fn a_lease_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let holder = File::create(&path).unwrap();
        let control = |command, value: i32| {
            // SAFETY: These commands take a number, and touch no memory.
            unsafe { libc::fcntl(holder.as_raw_fd(), command, value) }
        };
        // This signal, which tells that another wants the file, is ignored by default.
        assert_eq!(control(SET_SIGNAL, libc::SIGURG), 0);
        if control(libc::F_SETLEASE, libc::F_WRLCK) < 0 {
            // The file system knows no leases.
            return;
        }
        thread::scope(|scope| {
            let opening = scope.spawn(|| open_to_read(CWD, &path, OFlags::NOFOLLOW));
            let until = Instant::now() + Duration::from_secs(30);
            while control(libc::F_GETLEASE, 0) == libc::F_WRLCK && Instant::now() < until {
                thread::yield_now();
            }
            assert_eq!(control(libc::F_SETLEASE, libc::F_UNLCK), 0);
            assert!(opening.join().unwrap().is_ok());
        });
    }
}
