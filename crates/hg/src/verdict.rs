//! Recorded facts and observed facts in; Mercurial's status of the file out.

use vigil_linux::stat::Stat;
use vigil_model::timestamp::Timestamp;

use crate::dirstate::{DirstateEntry, Flags};

/// What the facts say about a recorded file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The file is as in the first parent.
    Clean,
    /// The file differs from the first parent.
    Modified,
    /// The facts do not decide: the contents must be compared.
    Unsure,
    /// The file is tracked, and in no parent.
    Added,
    /// The file is no longer tracked.
    Removed,
    /// The file is tracked, and missing from the disk.
    Deleted,
}

/// The dirstate records sizes and seconds without their highest bits.
const RECORDED_BITS: u64 = 0x7fff_ffff;
const DAY_S: i64 = 24 * 3600;

/// The fact that decided the verdict on a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The file is tracked, and missing from the disk.
    Gone,
    /// The file is no longer tracked.
    NoLongerTracked,
    /// A merge took something of the file from the second parent.
    Merged,
    /// The file is in no parent.
    New,
    /// The file is recorded as a copy.
    Copied,
    /// Neither size nor mode is recorded.
    NothingRecorded,
    /// The size differs.
    Size,
    /// The executable bit differs.
    ExecutableBit,
    /// The size of the symbolic link differs from the recorded one, which may only be how the file system counts.
    SizeOfLink,
    /// No mtime is recorded, since it would have proven nothing.
    NoMtime,
    /// The mtime is as young as the question: the file may be written once more and keep it.
    Young,
    /// The mtime differs.
    Mtime,
    /// The mtime is the same, but known only to the second, and the file may have been written twice in that second.
    OnlySecondsKnown,
    /// Everything is as recorded.
    Same,
}

impl Reason {
    /// Returns the verdict that follows from this reason.
    #[inline]
    pub fn verdict(self) -> Verdict {
        match self {
            Self::Gone => Verdict::Deleted,
            Self::NoLongerTracked => Verdict::Removed,
            Self::New => Verdict::Added,
            Self::Merged | Self::Copied | Self::Size | Self::ExecutableBit => Verdict::Modified,
            Self::NothingRecorded
            | Self::SizeOfLink
            | Self::NoMtime
            | Self::Young
            | Self::Mtime
            | Self::OnlySecondsKnown => Verdict::Unsure,
            Self::Same => Verdict::Clean,
        }
    }
}

/// Returns the verdict on a file, which follows from its [`reason`].
#[inline]
pub fn verdict(
    entry: &DirstateEntry,
    is_copy: bool,
    seen: Option<&Stat>,
    now: Timestamp,
) -> Verdict {
    reason(entry, is_copy, seen, now).verdict()
}

/// Returns the fact that decides about a file. `entry` is what is recorded, `seen` the file or link on disk, if there is one.
///
/// `now` is the file system's time before anything was looked at: a file with this mtime or a later one may change once
/// more and keep it. If `is_copy`, the file counts as changed, whatever its contents are.
#[inline]
pub fn reason(entry: &DirstateEntry, is_copy: bool, seen: Option<&Stat>, now: Timestamp) -> Reason {
    let seen = match seen {
        None if entry.is_tracked() => return Reason::Gone,
        None => return Reason::NoLongerTracked,
        Some(_) if entry.has_p2_info() => return Reason::Merged,
        Some(_) if entry.is_added() => return Reason::New,
        Some(_) if entry.is_removed() => return Reason::NoLongerTracked,
        Some(seen) => seen,
    };
    if is_copy {
        return Reason::Copied;
    }
    if !entry.flags.has(Flags::HAS_MODE_AND_SIZE) {
        return Reason::NothingRecorded;
    }
    let size = u64::from(entry.size);
    let is_size_same = size == seen.size || size == seen.size & RECORDED_BITS;
    let was_executable = entry.flags.has(Flags::MODE_EXEC_PERM);
    if !is_size_same || was_executable != (seen.mode & 0o100 != 0) {
        // Some file systems report a size for a link that is not the length of its target.
        return match seen.is_symlink() && size != seen.size {
            true => Reason::SizeOfLink,
            false if is_size_same => Reason::ExecutableBit,
            false => Reason::Size,
        };
    }
    by_mtime(entry, seen, now)
}

/// Decides by the mtime, for a file of the recorded size and mode.
fn by_mtime(entry: &DirstateEntry, seen: &Stat, now: Timestamp) -> Reason {
    if !entry.flags.has(Flags::HAS_MTIME) {
        return Reason::NoMtime;
    }
    if u64::from(entry.mtime_s) != seen.mtime_s.cast_unsigned() & RECORDED_BITS {
        return Reason::Mtime;
    }
    // A file with an mtime in the second of the question may be written again with the same mtime. So may one whose
    // mtime is a little in the future, because a clock is off.
    if seen.mtime_s >= now.s && seen.mtime_s < now.s.saturating_add(DAY_S) {
        return Reason::Young;
    }
    match (entry.mtime_ns, seen.mtime_ns) {
        (0, _) | (_, 0) if entry.is_second_ambiguous() => Reason::OnlySecondsKnown,
        (0, _) | (_, 0) => Reason::Same,
        (recorded, observed) if recorded == observed => Reason::Same,
        _ => Reason::Mtime,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp { s: 1000, ns: 5 };
    const NORMAL: Flags = Flags(0b1100_0000_0011);

    fn entry(flags: Flags) -> DirstateEntry {
        DirstateEntry {
            flags,
            size: 7,
            mtime_s: 900,
            mtime_ns: 0,
        }
    }

    fn file() -> Stat {
        Stat {
            mode: 0o100_644,
            size: 7,
            mtime_s: 900,
            mtime_ns: 3,
            ..Stat::default()
        }
    }

    fn of(entry: &DirstateEntry, stat: Stat) -> Verdict {
        verdict(entry, false, Some(&stat), NOW)
    }

    #[test]
    fn what_is_tracked_where_decides_first() {
        let tracked = Flags::WDIR_TRACKED;
        let (p1, p2) = (Flags::P1_TRACKED, Flags::P2_INFO);
        for (flags, there, gone) in [
            (tracked, Verdict::Added, Verdict::Deleted),
            (tracked | p2, Verdict::Modified, Verdict::Deleted),
            (tracked | p1 | p2, Verdict::Modified, Verdict::Deleted),
            (tracked | p1, Verdict::Unsure, Verdict::Deleted),
            (p1, Verdict::Removed, Verdict::Removed),
            (p2, Verdict::Removed, Verdict::Removed),
            (p1 | p2, Verdict::Removed, Verdict::Removed),
        ] {
            assert_eq!(of(&entry(flags), file()), there, "{flags:?}");
            assert_eq!(verdict(&entry(flags), false, None, NOW), gone, "{flags:?}");
        }
    }

    #[test]
    fn facts_decide_where_they_can() {
        let normal = entry(NORMAL);
        assert_eq!(of(&normal, file()), Verdict::Clean);
        assert_eq!(
            verdict(&normal, true, Some(&file()), NOW),
            Verdict::Modified
        );
        let seen = |change: fn(&mut Stat)| {
            let mut stat = file();
            change(&mut stat);
            of(&normal, stat)
        };
        assert_eq!(seen(|stat| stat.size = 8), Verdict::Modified);
        assert_eq!(
            seen(|stat| stat.size = 7 + (1 << 31)),
            Verdict::Clean,
            "only 31 bits are recorded"
        );
        assert_eq!(seen(|stat| stat.mode |= 0o100), Verdict::Modified);
        assert_eq!(seen(|stat| stat.mode |= 0o011), Verdict::Clean);
        assert_eq!(seen(|stat| stat.mtime_s = 901), Verdict::Unsure);
        let link = |size| {
            of(
                &entry(NORMAL | Flags::MODE_EXEC_PERM | Flags::MODE_IS_SYMLINK),
                Stat {
                    mode: 0o120_777,
                    size,
                    ..file()
                },
            )
        };
        assert_eq!((link(7), link(9)), (Verdict::Clean, Verdict::Unsure));
    }

    #[test]
    fn an_mtime_of_the_same_second_or_a_little_later_proves_nothing() {
        for (second, expected) in [
            (999, Verdict::Clean),
            (1000, Verdict::Unsure),
            (1000 + DAY_S - 1, Verdict::Unsure),
            (1000 + DAY_S, Verdict::Clean),
        ] {
            let recorded = DirstateEntry {
                mtime_s: u32::try_from(second).unwrap(),
                ..entry(NORMAL)
            };
            let stat = Stat {
                mtime_s: second,
                ..file()
            };
            assert_eq!(of(&recorded, stat), expected, "{second}");
        }
    }

    #[test]
    fn nanoseconds_decide_where_both_sides_have_them() {
        let with = |ns, flags| DirstateEntry {
            mtime_ns: ns,
            ..entry(flags)
        };
        let ambiguous = NORMAL | Flags::MTIME_SECOND_AMBIGUOUS;
        assert_eq!(of(&with(3, ambiguous), file()), Verdict::Clean);
        assert_eq!(of(&with(4, NORMAL), file()), Verdict::Unsure);
        assert_eq!(of(&with(0, ambiguous), file()), Verdict::Unsure);
    }

    #[test]
    fn the_reason_names_the_first_fact_that_decides() {
        let normal = entry(NORMAL);
        let of = |entry: &DirstateEntry, change: fn(&mut Stat)| {
            let mut stat = file();
            change(&mut stat);
            reason(entry, false, Some(&stat), NOW)
        };
        assert_eq!(of(&normal, |_| ()), Reason::Same);
        assert_eq!(of(&normal, |stat| stat.size = 8), Reason::Size);
        assert_eq!(
            of(&normal, |stat| stat.mode |= 0o100),
            Reason::ExecutableBit
        );
        assert_eq!(of(&normal, |stat| stat.mtime_s = 901), Reason::Mtime);
        let young = DirstateEntry {
            mtime_s: 1000,
            ..normal
        };
        assert_eq!(of(&young, |stat| stat.mtime_s = 1000), Reason::Young);
        let ambiguous = entry(NORMAL | Flags::MTIME_SECOND_AMBIGUOUS);
        assert_eq!(of(&ambiguous, |_| ()), Reason::OnlySecondsKnown);
        let without = |flags| entry(NORMAL.without(flags));
        assert_eq!(of(&without(Flags::HAS_MTIME), |_| ()), Reason::NoMtime);
        let bare = without(Flags::HAS_MODE_AND_SIZE | Flags::HAS_MTIME);
        assert_eq!(of(&bare, |_| ()), Reason::NothingRecorded);
        assert_eq!(reason(&normal, true, Some(&file()), NOW), Reason::Copied);
    }
}
