//! Recorded facts and observed facts in; what Mercurial says of the file out.

use vigil_linux::stat::Stat;
use vigil_model::timestamp::Timestamp;

use crate::dirstate::{Entry, Flags};

/// What the facts say of a recorded file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is as in the first parent.
    Clean,
    /// It is not.
    Modified,
    /// The facts do not decide: the contents must be compared.
    Unsure,
    /// It is tracked, and in no parent.
    Added,
    /// It is no longer tracked.
    Removed,
    /// It is tracked, and not there.
    Deleted,
}

/// Sizes and seconds are recorded without their highest bits.
const RECORDED_BITS: u64 = 0x7fff_ffff;
const DAY_S: i64 = 24 * 3600;

/// What is to be said of a file that is recorded as `entry`, and looks like `seen`, if a file or a link is there at all.
///
/// `now` is a time of the file system before anything was looked at: whatever has an mtime since then may change once more and
/// keep it. A file that `is_copy` was changed, whatever its contents are.
#[inline]
pub fn verdict(entry: &Entry, is_copy: bool, seen: Option<&Stat>, now: Timestamp) -> Verdict {
    let seen = match seen {
        None if entry.is_tracked() => return Verdict::Deleted,
        None => return Verdict::Removed,
        Some(_) if entry.has_p2_info() => return Verdict::Modified,
        Some(_) if entry.is_added() => return Verdict::Added,
        Some(_) if entry.is_removed() => return Verdict::Removed,
        Some(seen) => seen,
    };
    if is_copy {
        return Verdict::Modified;
    }
    if !entry.flags.has(Flags::HAS_MODE_AND_SIZE) {
        return Verdict::Unsure;
    }
    let size = u64::from(entry.size);
    let is_size_same = size == seen.size || size == seen.size & RECORDED_BITS;
    let was_executable = entry.flags.has(Flags::MODE_EXEC_PERM);
    if !is_size_same || was_executable != (seen.mode & 0o100 != 0) {
        // Some file systems tell another length of a link than its target has.
        return match seen.is_symlink() && size != seen.size {
            true => Verdict::Unsure,
            false => Verdict::Modified,
        };
    }
    match is_mtime_same(entry, seen, now) {
        true => Verdict::Clean,
        false => Verdict::Unsure,
    }
}

/// Whether the mtime proves that the file is the one that was recorded.
fn is_mtime_same(entry: &Entry, seen: &Stat, now: Timestamp) -> bool {
    if !entry.flags.has(Flags::HAS_MTIME) {
        return false;
    }
    // What has the second of the question may be written again; so may what is a little in the future, by a clock that is off.
    if seen.mtime_s >= now.s && seen.mtime_s < now.s.saturating_add(DAY_S) {
        return false;
    }
    let same_second = u64::from(entry.mtime_s) == seen.mtime_s.cast_unsigned() & RECORDED_BITS;
    same_second
        && match (entry.mtime_ns, seen.mtime_ns) {
            (0, _) | (_, 0) => !entry.flags.has(Flags::MTIME_SECOND_AMBIGUOUS),
            (recorded, observed) => recorded == observed,
        }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp { s: 1000, ns: 5 };
    const NORMAL: Flags = Flags(0b1100_0000_0011);

    fn entry(flags: Flags) -> Entry {
        Entry {
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

    fn of(entry: &Entry, stat: Stat) -> Verdict {
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
            let recorded = Entry {
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
        let with = |ns, flags| Entry {
            mtime_ns: ns,
            ..entry(flags)
        };
        let ambiguous = NORMAL | Flags::MTIME_SECOND_AMBIGUOUS;
        assert_eq!(of(&with(3, ambiguous), file()), Verdict::Clean);
        assert_eq!(of(&with(4, NORMAL), file()), Verdict::Unsure);
        assert_eq!(of(&with(0, ambiguous), file()), Verdict::Unsure);
    }
}
