//! Probes whether a file system changes timestamps as it should.
//!
//! The probe never sleeps: it gives a directory an old mtime before each change, so that any other mtime afterwards
//! comes from the change.

use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Mode, OFlags, mkdirat, openat, renameat, unlinkat};
use rustix::time::{ClockId, clock_gettime};
use vigil_linux::Errno;
use vigil_linux::filesystem::set_mtime;
use vigil_linux::process::is_alive;
use vigil_linux::stat::stat_fd;
use vigil_model::raw_text::raw_path;
use vigil_model::timestamp::{Granularity, Timestamp};

use super::{FileSystem, Findings, known};
use crate::stamp::{mtime, now};

/// The prefix of the names of probe directories. The process and thread IDs follow, with a hyphen between them.
pub const PREFIX: &str = "probe.";

/// A time long ago, in an odd second and with no zero among the digits of the nanoseconds ([`Granularity::between`]).
const LONG_AGO: Timestamp = Timestamp {
    s: 1_000_000_001,
    ns: 123_456_789,
};

const FILE: &CStr = c"a";
const RENAMED: &CStr = c"b";
const DIRECTORY: &CStr = c"c";

/// Why a probe failed.
#[derive(Debug, thiserror::Error)]
#[error("cannot {operation} '{}': {source}", raw_path(path))]
pub struct Error {
    /// What was tried.
    pub operation: &'static str,
    /// The path it was tried on.
    pub path: PathBuf,
    /// The system's error.
    pub source: Errno,
}

/// Probes the file system of `folder`, in a directory that is created there and removed again. If this type of file
/// system cannot be trusted at all, nothing is created and there are no findings.
///
/// Also removes directories that probes of dead processes left behind in `folder`.
///
/// # Errors
/// The folder cannot be opened, or no directory can be made or changed in it.
pub fn probe(folder: &Path) -> Result<FileSystem, Error> {
    let failed = |operation| {
        move |source| Error {
            operation,
            path: folder.to_owned(),
            source,
        }
    };
    let open = openat(CWD, folder, flags_of_directory(), Mode::empty());
    let open = open.map_err(failed("open the folder"))?;
    let facts = FileSystem::of(open.as_fd()).map_err(failed("ask for the file system of"))?;
    remove_leftovers(folder, open.as_fd());
    let is_hopeless = |kind| known(kind).is_some_and(|known| !known.contents);
    if is_hopeless(facts.kind) {
        return Ok(facts);
    }
    let probe_dir = ProbeDir::make(open.as_fd()).map_err(failed("make a directory in"))?;
    let findings = observe_mtimes(probe_dir.dir.as_fd()).map_err(failed("probe time stamps in"))?;
    Ok(FileSystem {
        findings: Some(findings),
        ..facts
    })
}

/// The directory of one probe, removed on drop.
struct ProbeDir<'a> {
    folder: BorrowedFd<'a>,
    name: CString,
    dir: OwnedFd,
}

impl<'a> ProbeDir<'a> {
    fn make(folder: BorrowedFd<'a>) -> Result<Self, Errno> {
        let thread = rustix::thread::gettid().as_raw_nonzero();
        let name = format!("{PREFIX}{}-{thread}", std::process::id());
        let name = CString::new(name).map_err(|_| Errno::INVAL)?;
        // Left behind by an earlier process with the same ID.
        remove(folder, &name);
        mkdirat(folder, &name, Mode::RWXU)?;
        match openat(folder, &name, flags_of_directory(), Mode::empty()) {
            Ok(dir) => Ok(Self { folder, name, dir }),
            Err(error) => {
                remove(folder, &name);
                Err(error)
            }
        }
    }
}

impl Drop for ProbeDir<'_> {
    fn drop(&mut self) {
        remove(self.folder, &self.name);
    }
}

/// Removes the probe directory `name` and whatever a probe may have left in it.
fn remove(folder: BorrowedFd<'_>, name: &CStr) {
    if let Ok(dir) = openat(folder, name, flags_of_directory(), Mode::empty()) {
        for file in [FILE, RENAMED] {
            let _ = unlinkat(&dir, file, AtFlags::empty());
        }
        let _ = unlinkat(&dir, DIRECTORY, AtFlags::REMOVEDIR);
    }
    let _ = unlinkat(folder, name, AtFlags::REMOVEDIR);
}

fn remove_leftovers(folder: &Path, open: BorrowedFd<'_>) {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    for name in entries.map(|entry| entry.file_name()) {
        let is_left_over = name
            .to_str()
            .and_then(|name| name.strip_prefix(PREFIX)?.split_once('-'))
            .and_then(|(process, _)| process.parse().ok())
            .is_some_and(|process: i32| process > 0 && !is_alive(process));
        if is_left_over && let Ok(name) = CString::new(name.as_bytes()) {
            remove(open, &name);
        }
    }
}

fn flags_of_directory() -> OFlags {
    OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC
}

/// Makes changes in the empty directory `dir`, and observes its mtime.
fn observe_mtimes(dir: BorrowedFd<'_>) -> Result<Findings, Errno> {
    let Some(granularity) = Granularity::between(LONG_AGO, backdate(dir)?) else {
        return Ok(Findings::default());
    };
    let mut clock = OwnClock {
        granularity,
        is_own: true,
    };
    let mut moves = |change: &dyn Fn() -> Result<(), Errno>| clock.moves(dir, change);
    let created = moves(&|| {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        openat(dir, FILE, flags, Mode::RUSR | Mode::WUSR).map(drop)
    })?;
    let renamed = moves(&|| renameat(dir, FILE, dir, RENAMED))?;
    let removed = moves(&|| unlinkat(dir, RENAMED, AtFlags::empty()))?;
    let made = moves(&|| mkdirat(dir, DIRECTORY, Mode::RWXU))?;
    let unmade = moves(&|| unlinkat(dir, DIRECTORY, AtFlags::REMOVEDIR))?;
    Ok(Findings {
        granularity: Some(granularity),
        has_own_clock: clock.is_own,
        moves_at_creation: created,
        moves_at_rename: renamed,
        moves_at_removal: removed,
        moves_with_directories: made && unmade,
    })
}

/// Tracks whether all changes so far were stamped by this machine's clock.
struct OwnClock {
    granularity: Granularity,
    is_own: bool,
}

impl OwnClock {
    /// Makes `change`, and returns whether the mtime of `dir` changed.
    fn moves(
        &mut self,
        dir: BorrowedFd<'_>,
        change: &dyn Fn() -> Result<(), Errno>,
    ) -> Result<bool, Errno> {
        let old = backdate(dir)?;
        let before = self.granularity.cut(now());
        change()?;
        let new = mtime(&stat_fd(dir)?);
        let has_moved = new != old;
        self.is_own &= !has_moved || (before..=exactly_now()).contains(&new);
        Ok(has_moved)
    }
}

/// Gives `dir` an old mtime, and returns the mtime it then has.
fn backdate(dir: BorrowedFd<'_>) -> Result<Timestamp, Errno> {
    set_mtime(dir, LONG_AGO.s, LONG_AGO.ns)?;
    Ok(mtime(&stat_fd(dir)?))
}

fn exactly_now() -> Timestamp {
    let now = clock_gettime(ClockId::Realtime);
    Timestamp {
        s: now.tv_sec,
        ns: u32::try_from(now.tv_nsec).unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;

    #[test]
    fn a_directory_that_stays_as_it_is_and_a_foreign_clock_are_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let open = File::open(folder.path()).unwrap();
        let dir = open.as_fd();
        let granularity = Granularity::between(LONG_AGO, backdate(dir).unwrap()).unwrap();
        let outcome = |change: &dyn Fn() -> Result<(), Errno>| {
            let mut clock = OwnClock {
                granularity,
                is_own: true,
            };
            clock
                .moves(dir, change)
                .map(|has_moved| (has_moved, clock.is_own))
        };
        let make = || mkdirat(dir, DIRECTORY, Mode::RWXU);
        let stamped_by_others = |s| move || set_mtime(dir, s, 1);
        assert_eq!(outcome(&make), Ok((true, true)));
        assert_eq!(outcome(&|| Ok(())), Ok((false, true)));
        assert_eq!(outcome(&stamped_by_others(now().s - 60)), Ok((true, false)));
        assert_eq!(outcome(&stamped_by_others(now().s + 60)), Ok((true, false)));
        assert_eq!(outcome(&make), Err(Errno::EXIST));
    }
}
