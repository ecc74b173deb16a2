//! Reading directories of any size within a budget, without keeping their entries.

use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use rustix::fs::{FileType, RawDir};
use rustix::io::Errno;

use super::EntryKind;
use crate::stat::stat_at;

/// A limit on the number of entries and on the time.
#[derive(Clone, Debug)]
pub struct Budget {
    steps: u64,
    end: Option<Instant>,
}

/// The clock is read once per this many steps.
const STEPS_AT_ONCE: u64 = 64;

/// Room for some entries with the longest names.
const BUFFER_LEN: usize = 16 << 10;

impl Budget {
    /// A budget of `steps` entries and of `time` from now on.
    pub fn new(steps: u64, time: Duration) -> Self {
        Self {
            steps,
            end: Instant::now().checked_add(time),
        }
    }

    /// Takes one step. Returns whether there was one left.
    pub fn step(&mut self) -> bool {
        if self.steps.is_multiple_of(STEPS_AT_ONCE)
            && self.end.is_some_and(|end| Instant::now() >= end)
        {
            self.steps = 0;
        }
        let is_left = self.steps > 0;
        self.steps = self.steps.saturating_sub(1);
        is_left
    }

    /// Whether no step is left.
    pub fn is_spent(&self) -> bool {
        self.steps == 0
    }
}

/// Calls `take` for each entry of the open directory `dir` except `.` and `..`, in the order on disk, at one step each.
/// Returns whether these were all entries; if not, the budget is spent.
///
/// # Errors
/// Those of getdents64(2).
pub fn each_entry(
    dir: BorrowedFd<'_>,
    budget: &mut Budget,
    mut take: impl FnMut(&CStr, EntryKind),
) -> Result<bool, Errno> {
    let mut buffer = [MaybeUninit::uninit(); BUFFER_LEN];
    let mut entries = RawDir::new(dir, &mut buffer);
    while let Some(entry) = entries.next() {
        let entry = entry?;
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        if !budget.step() {
            return Ok(false);
        }
        let kind = match entry.file_type() {
            FileType::Unknown => match stat_at(dir, name) {
                Ok(stat) if stat.is_dir() => FileType::Directory,
                Ok(stat) if stat.is_file() => FileType::RegularFile,
                Ok(stat) if stat.is_symlink() => FileType::Symlink,
                _ => FileType::Unknown,
            },
            known => known,
        };
        take(name, entry_kind(kind));
    }
    Ok(true)
}

fn entry_kind(kind: FileType) -> EntryKind {
    match kind {
        FileType::RegularFile => EntryKind::File,
        FileType::Directory => EntryKind::Dir,
        FileType::Symlink => EntryKind::Symlink,
        _ => EntryKind::Other,
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::os::fd::AsFd;

    use super::*;

    const LONG: Duration = Duration::from_secs(3600);

    #[test]
    fn all_entries_are_shown_or_as_many_as_are_granted() {
        let folder = tempfile::tempdir().unwrap();
        for number in 0..1000 {
            fs::write(folder.path().join(format!("{number:0>100}")), "").unwrap();
        }
        fs::create_dir(folder.path().join("d")).unwrap();
        for (steps, shown) in [(5000, 1001), (1001, 1001), (1000, 1000), (0, 0)] {
            let dir = File::open(folder.path()).unwrap();
            let mut budget = Budget::new(steps, LONG);
            let (mut files, mut folders) = (0, 0);
            let is_whole = each_entry(dir.as_fd(), &mut budget, |_, kind| match kind {
                EntryKind::Dir => folders += 1,
                _ => files += 1,
            });
            assert_eq!(files + folders, shown, "{steps}");
            assert_eq!(is_whole, Ok(shown == 1001), "{steps}");
            assert_eq!(budget.is_spent(), steps <= 1001, "{steps}");
        }
    }

    #[test]
    fn no_step_is_left_when_the_time_is_over() {
        let mut budget = Budget::new(1 << 40, Duration::ZERO);
        assert!(!budget.step());
        assert!(budget.is_spent());
    }
}
