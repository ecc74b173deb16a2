//! Whether a file is still the one that was read: its identity, and when it was looked at.

use std::path::Path;

use vigil_linux::Errno;
use vigil_linux::stat::{Stat, stat_path};
use vigil_model::timestamp::{Timestamp, is_racy};

/// What tells one state of a file or directory from another without a look inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    dev: u64,
    ino: u64,
    size: u64,
    mtime: Timestamp,
    ctime: Timestamp,
}

impl From<&Stat> for Stamp {
    fn from(stat: &Stat) -> Self {
        Self {
            dev: stat.dev,
            ino: stat.ino,
            size: stat.size,
            mtime: Timestamp {
                s: stat.mtime_s,
                ns: stat.mtime_ns,
            },
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
        let before = coarse_now();
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
        if let Some(stamp) = self.stamp
            && (is_racy(stamp.mtime, self.before) || is_racy(stamp.ctime, self.before))
        {
            return Ok(false);
        }
        Ok(Stamp::of(path)? == self.stamp)
    }
}

/// The time of the last tick: the clock with which the kernel stamps files.
fn coarse_now() -> Timestamp {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::RealtimeCoarse);
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
