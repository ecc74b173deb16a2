//! The units in which file systems keep timestamps.

use super::Timestamp;

pub(super) const SECOND_NS: u32 = 1_000_000_000;

/// The unit to which a file system rounds timestamps down: a power of ten in nanoseconds, up to one second, or two
/// seconds. Coarser units sort after finer ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Granularity(pub(super) u8);

impl Granularity {
    /// No rounding: ext4 as it is created today, XFS, Btrfs, tmpfs.
    pub const NANOSECOND: Self = Self(0);
    /// ext2, ext3, and ext4 with small inodes.
    pub const SECOND: Self = Self(9);
    /// FAT.
    pub const TWO_SECONDS: Self = Self(10);

    /// The coarsest unit that can represent `stamp`. The file system's own unit is no coarser, but may be finer.
    ///
    /// One exact stamp in ten happens to end in a zero and is taken for a rounded one. That delays trust in it by no
    /// more than one such unit. So does a time that was set in whole seconds.
    #[inline]
    pub fn of(stamp: Timestamp) -> Self {
        if stamp.ns == 0 {
            return if stamp.s & 1 == 0 {
                Self::TWO_SECONDS
            } else {
                Self::SECOND
            };
        }
        let mut rest = stamp.ns;
        let mut digits = 0;
        while rest.is_multiple_of(10) {
            rest /= 10;
            digits += 1;
        }
        Self(digits)
    }

    /// `time` as a file system of this unit stores it: rounded down, also before 1970, never towards 1970.
    #[inline]
    pub fn cut(self, time: Timestamp) -> Timestamp {
        match self {
            Self::NANOSECOND => time,
            Self::TWO_SECONDS => Timestamp {
                s: time.s & !1,
                ns: 0,
            },
            Self(digits) => {
                let unit = 10_u32.checked_pow(digits.into()).unwrap_or(SECOND_NS);
                Timestamp {
                    s: time.s,
                    ns: time.ns - time.ns % unit,
                }
            }
        }
    }
}
