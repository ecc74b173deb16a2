//! The daemon's log, for finding the cause of a fault.

use std::os::fd::OwnedFd;

use parking_lot::Mutex;
use rustix::fs::{Mode, OFlags, fstat, openat, renameat};
use rustix::io::{Errno, write};

/// The names of the log and of the previous one, in the daemon's folder.
const NAME: &str = "daemon.log";
const OLD_NAME: &str = "daemon.log.1";

/// The greatest length of a log file, in bytes.
const LEN_MAX: usize = 256 * 1024;

/// A log file in a daemon's folder. It is created with the first line.
#[derive(Debug)]
pub(crate) struct Log(Mutex<OwnedFd>);

impl Log {
    /// Creates a log in `folder`.
    pub(crate) fn new(folder: OwnedFd) -> Self {
        Self(Mutex::new(folder))
    }

    /// Appends `lines`, which are whole lines, up to the length that a file may have. If the file would become too long, it
    /// replaces the previous one and a new file is begun.
    ///
    /// # Errors
    /// The lines could not be written.
    pub(crate) fn write(&self, lines: &[u8]) -> Result<(), Errno> {
        let folder = self.0.lock();
        let lines = lines.get(..LEN_MAX).unwrap_or(lines);
        let open = || {
            let flags = OFlags::CREATE
                | OFlags::WRONLY
                | OFlags::APPEND
                | OFlags::NOFOLLOW
                | OFlags::NONBLOCK
                | OFlags::CLOEXEC;
            openat(&*folder, NAME, flags, Mode::from_raw_mode(0o600))
        };
        let mut file = open()?;
        let len = usize::try_from(fstat(&file)?.st_size).unwrap_or(usize::MAX);
        if len > 0 && len.saturating_add(lines.len()) > LEN_MAX {
            renameat(&*folder, NAME, &*folder, OLD_NAME)?;
            file = open()?;
        }
        let mut rest = lines;
        while !rest.is_empty() {
            let written = rustix::io::retry_on_intr(|| write(&file, rest))?;
            rest = rest.get(written..).unwrap_or_default();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use rustix::fs::open;

    use super::*;

    #[test]
    fn lines_follow_each_other_and_old_ones_are_forgotten() {
        let folder = tempfile::tempdir().unwrap();
        let fd = open(folder.path(), OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).unwrap();
        let log = Log::new(fd);
        let len = |name: &str| {
            let found = std::fs::metadata(folder.path().join(name));
            found.map_or(0, |found| usize::try_from(found.len()).unwrap())
        };
        log.write(b"one\n").unwrap();
        log.write(b"two\n").unwrap();
        let text = std::fs::read_to_string(folder.path().join(NAME)).unwrap();
        assert_eq!(text, "one\ntwo\n");
        let long = vec![b'x'; LEN_MAX - 4];
        log.write(&long).unwrap();
        assert_eq!((len(NAME), len(OLD_NAME)), (LEN_MAX - 4, 8));
        log.write(&long).unwrap();
        log.write(&[long.as_slice(), &long].concat()).unwrap();
        assert_eq!((len(NAME), len(OLD_NAME)), (LEN_MAX, LEN_MAX - 4));
        std::fs::remove_dir_all(folder.path()).unwrap();
        assert!(log.write(b"x\n").is_err());
    }
}
