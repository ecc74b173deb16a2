//! Whether a file is still the one that was looked at: its identity, and when it was looked at.

use std::path::Path;

use rustix::time::{ClockId, clock_gettime};
use vigil_linux::Errno;
use vigil_linux::stat::{Stat, stat_path};
use vigil_model::timestamp::{Timestamp, is_racy};

/// What tells one state of a file or directory from another without a look inside: any change of its contents
/// moves at least one part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    dev: u64,
    ino: u64,
    size: u64,
    mtime: Timestamp,
    ctime: Timestamp,
}

impl From<&Stat> for Stamp {
    #[inline]
    fn from(stat: &Stat) -> Self {
        Self {
            dev: stat.dev,
            ino: stat.ino,
            size: stat.size,
            mtime: mtime(stat),
            ctime: Timestamp {
                s: stat.ctime_s,
                ns: stat.ctime_ns,
            },
        }
    }
}

impl Stamp {
    /// The stamp of `path` now, following symbolic links; `None` where there is nothing.
    pub(crate) fn of(path: &Path) -> Result<Option<Self>, Errno> {
        match stat_path(path) {
            Ok(stat) => Ok(Some(Self::from(&stat))),
            Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Whether a change after `observed_at` might leave the stamp as it is.
    pub(crate) fn is_racy(&self, observed_at: Timestamp) -> bool {
        is_racy(self.mtime, observed_at) || is_racy(self.ctime, observed_at)
    }

    /// The stamp of `stat`, or `None` if a change after `observed_at` might bear the same one.
    pub(crate) fn trusted(stat: &Stat, observed_at: Timestamp) -> Option<Self> {
        Some(Self::from(stat)).filter(|stamp| !stamp.is_racy(observed_at))
    }
}

/// A look at a file: what was there, and a time before it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Observation {
    stamp: Option<Stamp>,
    before: Timestamp,
}

impl Observation {
    /// Looks at `path`. To be made before the contents are read: a change in between then shows.
    pub(crate) fn of(path: &Path) -> Result<Self, Errno> {
        let before = now();
        Ok(Self {
            stamp: Stamp::of(path)?,
            before,
        })
    }

    /// Whether there was anything.
    pub(crate) fn exists(&self) -> bool {
        self.stamp.is_some()
    }

    /// Whether what was read after this look is what `path` holds now. A stamp too young to tell says no.
    pub(crate) fn holds(&self, path: &Path) -> Result<bool, Errno> {
        if self.stamp.is_some_and(|stamp| stamp.is_racy(self.before)) {
            return Ok(false);
        }
        Ok(Stamp::of(path)? == self.stamp)
    }
}

/// When the contents last changed.
#[inline]
pub(crate) fn mtime(stat: &Stat) -> Timestamp {
    Timestamp {
        s: stat.mtime_s,
        ns: stat.mtime_ns,
    }
}

/// The time of the last tick: the clock with which the kernel stamps files.
pub(crate) fn now() -> Timestamp {
    let now = clock_gettime(ClockId::RealtimeCoarse);
    Timestamp {
        s: now.tv_sec,
        ns: u32::try_from(now.tv_nsec).unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_young_file_is_read_again_and_an_old_one_is_trusted_until_it_moves() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        let absent = Observation::of(&path).unwrap();
        assert!(!absent.exists() && absent.holds(&path).unwrap());

        std::fs::write(&path, "1").unwrap();
        assert!(!absent.holds(&path).unwrap());
        let mut young = Observation::of(&path).unwrap();
        young.before = young.stamp.unwrap().mtime;
        assert!(!young.holds(&path).unwrap());

        let mut old = young;
        old.before.s += 10;
        assert!(old.holds(&path).unwrap());
        std::fs::write(&path, "22").unwrap();
        assert!(!old.holds(&path).unwrap());
        std::fs::remove_file(&path).unwrap();
        assert!(!old.holds(&path).unwrap());
    }
}
