//! When a scan looked, and on which file systems.

use std::os::fd::BorrowedFd;
use std::sync::{Mutex, OnceLock, PoisonError};

use vigil_linux::stat::Stat;
use vigil_model::timestamp::Timestamp;

use crate::stamp::{Stamp, now};
use crate::trust::FileSystem;

/// A look at many directories and files. It tells the stamps that prove something from those that do not.
#[derive(Debug)]
pub struct Survey {
    /// When it began.
    began_at: Timestamp,
    /// The device of the first directory, on which nearly all others are, and whether its stamps are trusted.
    first_device: OnceLock<(u64, bool)>,
    other_devices: Mutex<Vec<(u64, bool)>>,
}

impl Survey {
    /// Begins to look.
    pub fn begin() -> Self {
        Self {
            began_at: now(),
            first_device: OnceLock::new(),
            other_devices: Mutex::new(Vec::new()),
        }
    }

    /// When it began.
    pub fn began_at(&self) -> Timestamp {
        self.began_at
    }

    /// Returns the stamp of `stat`, or `None` if a change since it began might leave the stamp unchanged. The file is in the
    /// directory `dir`, or is that directory.
    pub fn trusted(&self, stat: &Stat, dir: BorrowedFd<'_>) -> Option<Stamp> {
        Stamp::trusted(stat, self.began_at).filter(|_| self.trusts_device(stat.dev, dir))
    }

    /// Whether [`Self::trusts_device`] was true for the first directory, and that is on `device`.
    pub fn is_known_to_trust(&self, device: u64) -> bool {
        self.first_device.get() == Some(&(device, true))
    }

    /// Whether stamps on `device` (`st_dev`) prove anything. The directory `dir` is on its file system, which is asked once. An
    /// unknown file system proves nothing.
    pub fn trusts_device(&self, device: u64, dir: BorrowedFd<'_>) -> bool {
        let ask = || {
            let file_system = FileSystem::of(dir);
            file_system.is_ok_and(|file_system| file_system.trust().is_whole())
        };
        let (first, is_trusted) = self.first_device.get_or_init(|| (device, ask()));
        if *first == device {
            return *is_trusted;
        }
        let others = self.other_devices.lock();
        let mut others = others.unwrap_or_else(PoisonError::into_inner);
        match others.iter().find(|(known, _)| *known == device) {
            Some((_, is_trusted)) => *is_trusted,
            None => {
                let is_trusted = ask();
                others.push((device, is_trusted));
                is_trusted
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::fd::AsFd;

    use vigil_linux::stat::stat_fd;

    use super::*;

    #[test]
    fn a_stamp_proves_something_only_where_file_systems_are_trusted() {
        let folder = tempfile::tempdir().unwrap();
        let survey = Survey::begin();
        for _ in 0..2 {
            for (path, expected) in [(folder.path(), true), ("/proc/sys".as_ref(), false)] {
                let dir = File::open(path).unwrap();
                let stat = stat_fd(dir.as_fd()).unwrap();
                assert_eq!(survey.trusts_device(stat.dev, dir.as_fd()), expected);
            }
        }
    }
}
