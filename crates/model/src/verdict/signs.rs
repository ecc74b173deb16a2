//! The reasons why a file may differ from what is recorded, fact by fact: they explain a verdict of
//! [`compare`](super::compare).

use super::{S_IFLNK, S_IFMT, S_IFREG, StatRules, is_racy_entry, recorded_size};
use crate::facts::{ObservedStat, RecordedStat};
use crate::mode::FileMode;
use crate::timestamp::Timestamp;

/// One reason why a file may differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ChangeSign {
    /// The type differs.
    Type,
    /// The executable bit differs.
    ExecutableBit,
    /// The size differs.
    Size,
    /// The recorded size is 0: git's mark on an entry whose contents must be compared.
    SizeUnknown,
    /// The mtime differs in whole seconds.
    Mtime,
    /// The ctime differs in whole seconds.
    Ctime,
    /// The owner differs.
    Owner,
    /// The group differs.
    Group,
    /// The inode differs.
    Inode,
    /// The entry is racy: equal stat data proves nothing.
    Racy,
}

impl ChangeSign {
    /// Whether this proves a change without a look at the contents.
    pub fn is_proof(self) -> bool {
        matches!(self, Self::Type | Self::ExecutableBit | Self::Size)
    }
}

/// Returns all signs that count under `rules`, for the same arguments as [`compare`](super::compare).
pub fn change_signs(
    mode: FileMode,
    is_empty_blob: bool,
    recorded: &RecordedStat,
    observed: &ObservedStat,
    rules: &StatRules,
    index_written_at: Timestamp,
) -> Vec<ChangeSign> {
    let kind = observed.mode & S_IFMT;
    let is_same_type = match mode.0 & S_IFMT {
        S_IFREG => kind == S_IFREG,
        S_IFLNK => kind == S_IFLNK || !rules.has_symlinks && kind == S_IFREG,
        _ => false,
    };
    let has_other_bit = mode.is_file()
        && kind == S_IFREG
        && rules.trust_executable_bit
        && (mode.0 ^ observed.mode) & 0o100 != 0;
    let is_size_known = recorded.size != 0;
    let is_size_right = match is_size_known {
        true => recorded.size == recorded_size(observed.size),
        false => is_empty_blob && observed.size == 0,
    };
    let all = rules.check_all;
    let found = [
        (ChangeSign::Type, !is_same_type),
        (ChangeSign::ExecutableBit, has_other_bit),
        (ChangeSign::Size, is_size_known && !is_size_right),
        (ChangeSign::SizeUnknown, !is_size_known && !is_size_right),
        (
            ChangeSign::Mtime,
            recorded.mtime_s != observed.mtime_s as u32,
        ),
        (
            ChangeSign::Ctime,
            all && rules.trust_ctime && recorded.ctime_s != observed.ctime_s as u32,
        ),
        (ChangeSign::Owner, all && recorded.uid != observed.uid),
        (ChangeSign::Group, all && recorded.gid != observed.gid),
        (
            ChangeSign::Inode,
            all && recorded.ino != observed.ino as u32,
        ),
        (ChangeSign::Racy, is_racy_entry(recorded, index_written_at)),
    ];
    let there = found.into_iter().filter(|(_, is_there)| *is_there);
    there.map(|(sign, _)| sign).collect()
}

#[cfg(test)]
mod tests {
    use super::super::{Verdict, compare};
    use super::*;

    /// Picks one of `values` by the lowest digit of `number` in base `values.len()`, and removes that
    /// digit.
    fn pick<T: Copy>(number: &mut usize, values: &[T]) -> T {
        let value = values[*number % values.len()];
        *number /= values.len();
        value
    }

    #[test]
    fn the_signs_account_for_each_verdict() {
        let mut seen = std::collections::HashSet::new();
        for case in 0.. {
            let mut rest = case;
            let number = &mut rest;
            let flags = [false, true];
            let rules = StatRules {
                trust_ctime: pick(number, &flags),
                check_all: pick(number, &flags),
                trust_executable_bit: pick(number, &flags),
                has_symlinks: pick(number, &flags),
            };
            let modes = [FileMode::FILE, FileMode::EXECUTABLE, FileMode::SYMLINK];
            let mode = pick(number, &modes);
            let is_empty_blob = pick(number, &flags);
            let sizes: [(u32, u64); 5] = [(0, 0), (0, 7), (7, 7), (7, 8), (0x8000_0000, 1 << 32)];
            let (recorded_size, size) = pick(number, &sizes);
            let kinds = [0o100_644, 0o100_755, 0o120_777, 0o010_644, 0o040_755];
            let observed = ObservedStat {
                size,
                mode: pick(number, &kinds),
                mtime_s: 50,
                ctime_s: 50,
                ..ObservedStat::default()
            };
            let recorded = RecordedStat {
                size: recorded_size,
                mtime_s: 50 + pick(number, &[0, 1]),
                ctime_s: 50 + pick(number, &[0, 1]),
                ino: pick(number, &[0, 1]),
                uid: pick(number, &[0, 1]),
                gid: pick(number, &[0, 1]),
                ..RecordedStat::default()
            };
            let index_written_at = Timestamp {
                s: pick(number, &[0, 50, 100]),
                ns: 0,
            };
            if rest > 0 {
                break;
            }
            let (mode, at) = (mode, index_written_at);
            let signs = change_signs(mode, is_empty_blob, &recorded, &observed, &rules, at);
            let has_bit = observed.mode & S_IFMT == S_IFREG;
            assert!(has_bit || !signs.contains(&ChangeSign::ExecutableBit));
            let expected = if signs.is_empty() {
                Verdict::Clean
            } else if signs.iter().any(|sign| sign.is_proof()) {
                Verdict::Changed
            } else {
                Verdict::Unsure
            };
            let verdict = compare(mode, is_empty_blob, &recorded, &observed, &rules, at);
            assert_eq!(
                verdict, expected,
                "{signs:?} {recorded:?} {observed:?} {rules:?}"
            );
            seen.extend(signs);
        }
        assert_eq!(seen.len(), 10);
    }
}
