//! Recorded stat data and observed stat data in; clean, changed or unsure out.
//!
//! The rules are those of git's index (gitformat-index(5), `core.trustctime` and `core.checkStat` in
//! git-config(1), and "racy git" in git's technical documentation).

mod signs;

pub use signs::{ChangeSign, change_signs};

use crate::facts::{ObservedStat, RecordedStat};
use crate::mode::FileMode;
use crate::timestamp::Timestamp;

/// The configuration that decides which facts count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatRules {
    /// `core.trustctime`: whether another ctime means a change.
    pub trust_ctime: bool,
    /// `core.checkStat=default`: whether inode, owner and ctime count. False for `minimal`.
    pub check_all: bool,
    /// `core.fileMode`: whether the executable bit on disk is meaningful.
    pub trust_executable_bit: bool,
    /// `core.symlinks`: whether the file system has symbolic links. If not, a regular file stands for one.
    pub has_symlinks: bool,
}

impl Default for StatRules {
    fn default() -> Self {
        Self {
            trust_ctime: true,
            check_all: true,
            trust_executable_bit: true,
            has_symlinks: true,
        }
    }
}

/// What the stat data alone says about a tracked file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The stat data is as recorded, and the record can be trusted.
    Clean,
    /// The stat data does not decide: the contents must be compared.
    Unsure,
    /// Another type, executable bit or size: changed, whatever the contents are.
    Changed,
}

const S_IFMT: u32 = 0o170_000;
const S_IFREG: u32 = 0o100_000;
const S_IFLNK: u32 = 0o120_000;
const S_IFDIR: u32 = 0o040_000;

/// The mode that an index entry for the observed file would get, given the mode recorded for it now.
///
/// What git cannot track (a device, a socket, a pipe) gets the mode of a regular file, as in git.
pub fn worktree_mode(recorded: FileMode, observed_mode: u32, rules: &StatRules) -> FileMode {
    match observed_mode & S_IFMT {
        S_IFREG if !rules.has_symlinks && recorded.is_symlink() => recorded,
        S_IFREG if !rules.trust_executable_bit => {
            if recorded.is_file() {
                recorded
            } else {
                FileMode::FILE
            }
        }
        S_IFLNK => FileMode::SYMLINK,
        S_IFDIR => FileMode::GITLINK,
        _ if observed_mode & 0o100 != 0 => FileMode::EXECUTABLE,
        _ => FileMode::FILE,
    }
}

/// Compares the recorded stat data of a regular file or symbolic link with the observed one.
///
/// `index_written_at` is the mtime of the index file itself. An entry is racy if its recorded mtime is not older, and
/// then equal stat data proves nothing. A size other than the recorded one proves a change without reading the file,
/// even where a filter would make the contents equal: that is git's rule. A recorded size of 0 means "unknown", git's
/// mark on an entry that it found racy, unless the recorded blob is empty.
#[inline]
pub fn compare(
    mode: FileMode,
    is_empty_blob: bool,
    recorded: &RecordedStat,
    observed: &ObservedStat,
    rules: &StatRules,
    index_written_at: Timestamp,
) -> Verdict {
    let moved_type = match mode.0 & S_IFMT {
        S_IFREG => {
            observed.mode & S_IFMT != S_IFREG
                || (rules.trust_executable_bit && (mode.0 ^ observed.mode) & 0o100 != 0)
        }
        S_IFLNK => {
            observed.mode & S_IFMT != S_IFLNK
                && (rules.has_symlinks || observed.mode & S_IFMT != S_IFREG)
        }
        _ => true,
    };
    if moved_type {
        return Verdict::Changed;
    }
    if recorded.size == 0 {
        let proven = is_empty_blob
            && observed.size == 0
            && same_times_and_owner(recorded, observed, rules)
            && !is_racy_entry(recorded, index_written_at);
        return if proven {
            Verdict::Clean
        } else {
            Verdict::Unsure
        };
    }
    if recorded.size != recorded_size(observed.size) {
        return Verdict::Changed;
    }
    if same_times_and_owner(recorded, observed, rules) && !is_racy_entry(recorded, index_written_at)
    {
        Verdict::Clean
    } else {
        Verdict::Unsure
    }
}

/// Whether all facts that count, other than size and mode, are as recorded.
///
/// Times are compared in whole seconds, as in every git built without `USE_NSEC`, which includes all packaged ones. A
/// file written within the index's second is racy anyway. The index has the low 32 bits of each.
#[inline]
fn same_times_and_owner(
    recorded: &RecordedStat,
    observed: &ObservedStat,
    rules: &StatRules,
) -> bool {
    if recorded.mtime_s != observed.mtime_s as u32 {
        return false;
    }
    if !rules.check_all {
        return true;
    }
    let same_ctime = !rules.trust_ctime || recorded.ctime_s == observed.ctime_s as u32;
    same_ctime
        && recorded.uid == observed.uid
        && recorded.gid == observed.gid
        && recorded.ino == observed.ino as u32
}

/// The size as the index records it: the low 32 bits, but never 0 for a file that is not empty, since 0 means
/// "unknown".
#[inline]
pub(crate) fn recorded_size(size: u64) -> u32 {
    let low = size as u32;
    if low == 0 && size != 0 {
        0x8000_0000
    } else {
        low
    }
}

/// Whether the file may have been rewritten after its entry was recorded, without a visible change of its mtime.
///
/// Times are compared in whole seconds here too. Most gits do so, and an index written by one may hold an entry whose
/// file was rewritten within the same second, before the index was.
#[inline]
pub fn is_racy_entry(recorded: &RecordedStat, index_written_at: Timestamp) -> bool {
    index_written_at.s != 0 && index_written_at.s as u32 <= recorded.mtime_s
}

/// Whether an index written at `next` leaves no entry in doubt that one written at `earlier` did not.
pub fn leaves_no_more_in_doubt(next: Timestamp, earlier: Timestamp) -> bool {
    // An index without a time leaves none in doubt. Of other times, the low 32 bits are compared, also of those before 1970.
    earlier.s != 0 && next.s as u32 >= earlier.s as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    const INDEX_AT: Timestamp = Timestamp { s: 100, ns: 0 };

    fn pair() -> (RecordedStat, ObservedStat) {
        let observed = ObservedStat {
            ctime_s: 50,
            ctime_ns: 1,
            mtime_s: 50,
            mtime_ns: 2,
            dev: 3,
            ino: 4,
            uid: 5,
            gid: 6,
            size: 7,
            mode: 0o100_644,
        };
        let recorded = RecordedStat {
            ctime_s: 50,
            ctime_ns: 1,
            mtime_s: 50,
            mtime_ns: 2,
            dev: 99,
            ino: 4,
            uid: 5,
            gid: 6,
            size: 7,
        };
        (recorded, observed)
    }

    fn judge(recorded: &RecordedStat, observed: &ObservedStat, rules: StatRules) -> Verdict {
        compare(FileMode::FILE, false, recorded, observed, &rules, INDEX_AT)
    }

    #[test]
    fn equal_facts_are_clean_whatever_the_device() {
        let (r, o) = pair();
        assert_eq!(judge(&r, &o, StatRules::default()), Verdict::Clean);
    }

    #[test]
    fn a_fact_that_counts_makes_it_unsure() {
        let (r, o) = pair();
        for moved in [
            ObservedStat { mtime_s: 51, ..o },
            ObservedStat { ctime_s: 51, ..o },
            ObservedStat { ino: 9, ..o },
            ObservedStat { uid: 9, ..o },
            ObservedStat { gid: 9, ..o },
        ] {
            assert_eq!(
                judge(&r, &moved, StatRules::default()),
                Verdict::Unsure,
                "{moved:?}"
            );
        }
        let within_the_second = ObservedStat {
            mtime_ns: 9,
            ctime_ns: 9,
            ..o
        };
        assert_eq!(
            judge(&r, &within_the_second, StatRules::default()),
            Verdict::Clean
        );
        let minimal = StatRules {
            check_all: false,
            ..StatRules::default()
        };
        assert_eq!(
            judge(
                &r,
                &ObservedStat {
                    ctime_s: 51,
                    ino: 9,
                    mtime_ns: 9,
                    ..o
                },
                minimal
            ),
            Verdict::Clean
        );
        let no_ctime = StatRules {
            trust_ctime: false,
            ..StatRules::default()
        };
        assert_eq!(
            judge(&r, &ObservedStat { ctime_s: 51, ..o }, no_ctime),
            Verdict::Clean
        );
    }

    #[test]
    fn another_size_is_a_change_and_a_smudged_size_is_unsure() {
        let (r, o) = pair();
        assert_eq!(
            judge(&r, &ObservedStat { size: 8, ..o }, StatRules::default()),
            Verdict::Changed
        );
        let smudged = RecordedStat { size: 0, ..r };
        assert_eq!(judge(&smudged, &o, StatRules::default()), Verdict::Unsure);
        assert_eq!(
            judge(
                &smudged,
                &ObservedStat { size: 0, ..o },
                StatRules::default()
            ),
            Verdict::Unsure
        );
    }

    #[test]
    fn a_file_touched_in_the_second_of_the_index_is_unsure() {
        let (r, o) = pair();
        let at = |s| {
            compare(
                FileMode::FILE,
                false,
                &r,
                &o,
                &StatRules::default(),
                Timestamp { s, ns: 0 },
            )
        };
        assert_eq!(at(51), Verdict::Clean);
        assert_eq!(at(50), Verdict::Unsure);
        assert_eq!(at(49), Verdict::Unsure);
    }

    #[test]
    fn the_executable_bit_counts_only_where_it_is_trusted() {
        let (r, o) = pair();
        let executable = ObservedStat {
            mode: 0o100_755,
            ..o
        };
        assert_eq!(
            judge(&r, &executable, StatRules::default()),
            Verdict::Changed
        );
        let untrusted = StatRules {
            trust_executable_bit: false,
            ..StatRules::default()
        };
        assert_eq!(judge(&r, &executable, untrusted), Verdict::Clean);
    }

    #[test]
    fn a_plain_file_stands_for_a_link_only_without_links() {
        let (r, o) = pair();
        let link = |rules| compare(FileMode::SYMLINK, false, &r, &o, &rules, INDEX_AT);
        assert_eq!(link(StatRules::default()), Verdict::Changed);
        assert_eq!(
            link(StatRules {
                has_symlinks: false,
                ..StatRules::default()
            }),
            Verdict::Clean
        );
    }

    #[test]
    fn a_multiple_of_four_gibibytes_is_not_recorded_as_empty() {
        assert_eq!(recorded_size(0), 0);
        assert_eq!(recorded_size(1 << 32), 0x8000_0000);
        assert_eq!(recorded_size((1 << 32) + 5), 5);
    }
}
