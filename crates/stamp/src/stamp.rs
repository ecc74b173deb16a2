//! Whether a file is still the one that was looked at: its identity, and the time of the look.

use std::path::Path;

use rustix::time::{ClockId, clock_gettime};
use vigil_linux::Errno;
use vigil_linux::stat::{Stat, stat_path};
use vigil_model::timestamp::{Timestamp, is_racy};

use crate::paths::is_missing;

/// Tells one state of a file or directory from another without reading it: any change of the contents changes at least one
/// field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Stamp {
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
    /// The length of [`Stamp::to_bytes`], in bytes.
    pub const LEN: usize = 48;

    /// Returns the current stamp of `path`, following symbolic links; `None` if there is no such file.
    ///
    /// # Errors
    /// stat(2) failed, for another reason than a missing file.
    pub fn of(path: &Path) -> Result<Option<Self>, Errno> {
        match stat_path(path) {
            Ok(stat) => Ok(Some(Self::from(&stat))),
            Err(error) if is_missing(error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Whether a change after `observed_at` might leave the stamp unchanged.
    pub fn is_racy(&self, observed_at: Timestamp) -> bool {
        [self.mtime, self.ctime]
            .iter()
            .any(|&time| is_racy(time, observed_at))
    }

    /// Returns the stamp of `stat`, or `None` if a change after `observed_at` might leave it unchanged.
    pub fn trusted(stat: &Stat, observed_at: Timestamp) -> Option<Self> {
        Some(Self::from(stat)).filter(|stamp| !stamp.is_racy(observed_at))
    }

    /// When the contents last changed.
    pub fn mtime(&self) -> Timestamp {
        self.mtime
    }

    /// Whether the contents may have changed after `observed_at` without a new stamp, judged by the mtime alone.
    pub fn is_written_since(&self, observed_at: Timestamp) -> bool {
        is_racy(self.mtime, observed_at)
    }

    /// Whether both times are before `time`. If [`vigil_model::clock::untrusted_since`] returns a time, a stamp proves
    /// something only if it is before that.
    pub fn is_entirely_before(&self, time: Timestamp) -> bool {
        self.mtime < time && self.ctime < time
    }

    /// The device of the file (`st_dev`).
    pub fn device(&self) -> u64 {
        self.dev
    }

    /// Encodes the stamp for a file on disk, little-endian: device, inode, size, seconds of mtime and of ctime, 8 bytes
    /// each; nanoseconds of mtime and of ctime, 4 bytes each. [`Stamp::from_bytes`] restores any stamp exactly.
    pub fn to_bytes(&self) -> [u8; Self::LEN] {
        let mut bytes = [0; Self::LEN];
        let fields = [
            self.dev.to_le_bytes(),
            self.ino.to_le_bytes(),
            self.size.to_le_bytes(),
            self.mtime.s.to_le_bytes(),
            self.ctime.s.to_le_bytes(),
            (u64::from(self.ctime.ns) << 32 | u64::from(self.mtime.ns)).to_le_bytes(),
        ];
        for (place, field) in bytes.iter_mut().zip(fields.as_flattened()) {
            *place = *field;
        }
        bytes
    }

    /// Decodes `bytes`. Any bytes are a stamp, though perhaps one that no file ever has.
    pub fn from_bytes(bytes: &[u8; Self::LEN]) -> Self {
        let (fields, _) = bytes.as_chunks::<8>();
        let mut fields = fields.iter().map(|field| u64::from_le_bytes(*field));
        let mut next = || fields.next().unwrap_or_default();
        let (dev, ino, size) = (next(), next(), next());
        let (mtime_s, ctime_s, both_ns) = (next(), next(), next());
        Self {
            dev,
            ino,
            size,
            mtime: Timestamp {
                s: mtime_s.cast_signed(),
                ns: both_ns as u32,
            },
            ctime: Timestamp {
                s: ctime_s.cast_signed(),
                ns: (both_ns >> 32) as u32,
            },
        }
    }
}

/// One look at a file: its stamp, or that there was none, and a time before the look. Keep one to know later whether the
/// file is still the one that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Observation {
    stamp: Option<Stamp>,
    before: Timestamp,
}

impl Observation {
    /// Looks at `path`. Call this before reading the contents, so that a change in between shows.
    ///
    /// # Errors
    /// The path cannot be looked at, other than because nothing is there.
    pub fn of(path: &Path) -> Result<Self, Errno> {
        Self::after(now(), path)
    }

    /// Like [`Self::of`], if some of `path` has already been read, but not before the time `before`.
    ///
    /// # Errors
    /// As for [`Self::of`].
    pub fn after(before: Timestamp, path: &Path) -> Result<Self, Errno> {
        Ok(Self {
            stamp: Stamp::of(path)?,
            before,
        })
    }

    /// Records a look made elsewhere, which found `stat`, or no file, after the time `before`.
    pub fn at(before: Timestamp, stat: Option<&Stat>) -> Self {
        let stamp = stat.map(Stamp::from);
        Self { stamp, before }
    }

    /// Whether the file existed.
    pub fn exists(&self) -> bool {
        self.stamp.is_some()
    }

    /// Whether finding the same stamp again would prove that nothing changed. A file that changed during the look, or just
    /// after, may keep its stamp. A missing file is always proof.
    pub fn is_proof(&self) -> bool {
        !self.stamp.is_some_and(|stamp| stamp.is_racy(self.before))
    }

    /// Whether `now`, the file found there now, if any, has the same stamp. Whether that proves anything, see
    /// [`Self::is_proof`].
    pub fn is_same(&self, now: Option<&Stat>) -> bool {
        now.map(Stamp::from) == self.stamp
    }

    /// Whether `path` still holds what was read after this look. `false` if the stamp is too young to tell.
    ///
    /// # Errors
    /// stat(2) failed, for another reason than a missing file.
    pub fn is_current(&self, path: &Path) -> Result<bool, Errno> {
        self.is_current_by(|| stat_path(path))
    }

    /// Like [`Self::is_current`], with the caller's `look`. It must treat symbolic links as the first look did.
    ///
    /// # Errors
    /// `look` failed, for another reason than a missing file.
    pub fn is_current_by(&self, look: impl FnOnce() -> Result<Stat, Errno>) -> Result<bool, Errno> {
        if !self.is_proof() {
            return Ok(false);
        }
        match look() {
            Ok(stat) => Ok(self.is_same(Some(&stat))),
            Err(error) if is_missing(error) => Ok(self.is_same(None)),
            Err(error) => Err(error),
        }
    }
}

/// When the contents last changed.
#[inline]
pub fn mtime(stat: &Stat) -> Timestamp {
    Timestamp {
        s: stat.mtime_s,
        ns: stat.mtime_ns,
    }
}

/// The time of the last tick, from the clock with which the kernel stamps files.
pub fn now() -> Timestamp {
    time_by(ClockId::RealtimeCoarse)
}

fn time_by(clock: ClockId) -> Timestamp {
    let now = clock_gettime(clock);
    Timestamp {
        s: now.tv_sec,
        ns: u32::try_from(now.tv_nsec).unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAMP: Stamp = Stamp {
        dev: 0x0102_0304_0506_0708,
        ino: u64::MAX,
        size: 1 << 40,
        mtime: Timestamp { s: -2, ns: 5 },
        ctime: Timestamp {
            s: 1_700_000_000,
            ns: 999_999_999,
        },
    };

    #[test]
    fn a_stamp_comes_back_from_its_bytes() {
        let bytes = STAMP.to_bytes();
        assert_eq!(Stamp::from_bytes(&bytes), STAMP);
        assert_eq!(bytes[..8], [8, 7, 6, 5, 4, 3, 2, 1]);
        assert_eq!(bytes[24..32], (-2_i64).to_le_bytes());
        assert_eq!(bytes[32..40], 1_700_000_000_i64.to_le_bytes());
        assert_eq!(bytes[40..44], 5_u32.to_le_bytes());
        assert_eq!(bytes[44..], 999_999_999_u32.to_le_bytes());
        for place in 0..Stamp::LEN {
            let mut other = bytes;
            other[place] ^= 0x81;
            let stamp = Stamp::from_bytes(&other);
            assert_ne!(stamp, STAMP);
            assert_eq!(stamp.to_bytes(), other);
        }
    }

    #[test]
    fn the_younger_of_both_times_decides() {
        let at = |mtime_s, ctime_s| Stamp {
            mtime: Timestamp { s: mtime_s, ns: 1 },
            ctime: Timestamp { s: ctime_s, ns: 1 },
            ..STAMP
        };
        let time = Timestamp { s: 10, ns: 1 };
        for (stamp, is_old) in [
            (at(9, 9), true),
            (at(9, 10), false),
            (at(10, 9), false),
            (at(11, 11), false),
        ] {
            assert_eq!(stamp.is_racy(time), !is_old);
            assert_eq!(stamp.is_entirely_before(time), is_old);
        }
    }

    #[test]
    fn a_young_file_is_read_again_and_an_old_one_is_trusted_until_it_moves() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        let absent = Observation::of(&path).unwrap();
        assert!(!absent.exists() && absent.is_current(&path).unwrap());

        std::fs::write(&path, "1").unwrap();
        assert!(!absent.is_current(&path).unwrap());
        let mut young = Observation::of(&path).unwrap();
        young.before = young.stamp.unwrap().mtime;
        assert!(!young.is_current(&path).unwrap());

        let mut old = young;
        old.before.s += 10;
        assert!(old.is_current(&path).unwrap());
        std::fs::write(&path, "22").unwrap();
        assert!(!old.is_current(&path).unwrap());
        std::fs::remove_file(&path).unwrap();
        assert!(!old.is_current(&path).unwrap());
    }

    #[test]
    fn a_stamp_of_the_moment_of_the_look_or_later_proves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        std::fs::write(&path, "1").unwrap();
        // A round time could have been truncated by the file system, and would be judged by that coarser unit.
        let stat = Stat {
            mtime_ns: 123_456_789,
            ctime_ns: 123_456_789,
            ..stat_path(&path).unwrap()
        };
        let stamp = Stamp::from(&stat);
        let mut before = stamp.mtime.max(stamp.ctime);
        for (later_ns, is_proof) in [(0, false), (1, true)] {
            before.ns += later_ns;
            let seen = Observation::at(before, Some(&stat));
            assert_eq!(seen.is_proof(), is_proof);
            assert_eq!(Stamp::trusted(&stat, before).is_some(), is_proof);
            assert!(seen.is_same(Some(&stat)) && !seen.is_same(None));
            assert_eq!(seen.is_current_by(|| Ok(stat)), Ok(is_proof));
        }
        let nothing = Observation::at(before, None);
        assert!(nothing.is_proof() && nothing.is_same(None) && !nothing.is_same(Some(&stat)));
    }

    #[test]
    fn what_cannot_be_looked_at_is_told_from_what_is_not_there() {
        let absent = Observation::at(Timestamp::default(), None);
        for missing in [Errno::NOENT, Errno::NOTDIR] {
            assert_eq!(absent.is_current_by(|| Err(missing)), Ok(true));
        }
        assert_eq!(
            absent.is_current_by(|| Err(Errno::ACCESS)),
            Err(Errno::ACCESS)
        );
        let dir = tempfile::tempdir().unwrap();
        let link = dir.path().join("link");
        std::os::unix::fs::symlink("link", &link).unwrap();
        assert_eq!(Stamp::of(&link), Err(Errno::LOOP));
        assert_eq!(Stamp::of(&dir.path().join("no")), Ok(None));
    }
}
