//! One tracked file: recorded facts, observed facts, and contents where these do not decide.

use std::collections::HashSet;
use std::ffi::CStr;
use std::fs::File;
use std::os::fd::BorrowedFd;

use bstr::{BStr, BString, ByteSlice};
use rustix::fs::{Mode, OFlags};
use vigil_linux::Errno;
use vigil_linux::stat::{Stat, stat_at};
use vigil_model::facts::ObservedStat;
use vigil_model::index::{Entry, Index};
use vigil_model::mode::FileMode;
use vigil_model::timestamp::Timestamp;
use vigil_model::verdict::{Verdict, compare, worktree_mode};

use super::cache::Compared;
use super::surroundings::ContentError;
use super::walk::unknown;
use super::{Observed, Scan};
use crate::stamp::Stamp;

/// Contents that were compared in one directory: earlier ones, and those of this scan. In order of entries, as
/// long as entries are asked for in order.
#[derive(Default)]
pub(super) struct Comparisons {
    pub(super) earlier: Vec<Compared>,
    pub(super) now: Vec<Compared>,
}

impl Comparisons {
    /// What to remember; where not all entries were asked for, also what was known of the others.
    pub(super) fn remembered(self, is_partial: bool) -> Vec<Compared> {
        let mut all = self.now;
        if is_partial {
            let known: HashSet<u32> = all.iter().map(|known| known.entry).collect();
            let others = self.earlier.into_iter();
            all.extend(others.filter(|other| !known.contains(&other.entry)));
            all.sort_unstable_by_key(|known| known.entry);
        }
        all
    }
}

/// One tracked file, and where it is.
pub(super) struct Place<'a> {
    pub(super) dir: BorrowedFd<'a>,
    pub(super) name: &'a CStr,
    pub(super) path: &'a BStr,
}

/// Looks at the file of index entry `number`, and says how it differs.
#[inline]
pub(super) fn check(
    scan: &Scan<'_>,
    scan_started_at: Timestamp,
    place: &Place<'_>,
    number: u32,
    entry: &Entry,
    comparisons: &mut Comparisons,
    messages: &mut Vec<BString>,
) -> Result<Option<Observed>, ContentError> {
    let flags = entry.flags;
    if flags.is_skip_worktree() && (!scan.looks_at_present_skipped_files || entry.mode.is_tree())
        || flags.is_assume_valid() && flags.stage() == 0
    {
        return Ok(None);
    }
    let stat = match stat_at(place.dir, place.name) {
        Ok(stat) => stat,
        Err(Errno::NOENT | Errno::NOTDIR) if flags.is_skip_worktree() => {
            return Ok(None);
        }
        Err(Errno::NOENT | Errno::NOTDIR) => return Ok(Some(Observed::Missing)),
        // git says so and goes on as if nothing had changed.
        Err(error) => {
            messages.push(unknown(place.path, error));
            return Ok(None);
        }
    };
    let is_plain = flags.stage() == 0 && !flags.is_intent_to_add();
    if is_plain && (entry.mode.is_file() || entry.mode.is_symlink()) {
        let observed = observed(&stat);
        match compare(
            entry.mode,
            is_empty_blob(entry),
            &entry.stat,
            &observed,
            &scan.stat_rules,
            scan.index_written_at,
        ) {
            Verdict::Clean => return Ok(None),
            Verdict::Changed => {}
            Verdict::Unsure => {
                return if is_unchanged(
                    scan,
                    scan_started_at,
                    place,
                    number,
                    entry,
                    &stat,
                    comparisons,
                )? {
                    Ok(None)
                } else {
                    Ok(Some(Observed::Present(worktree_mode(
                        entry.mode,
                        stat.mode,
                        &scan.stat_rules,
                    ))))
                };
            }
        }
    }
    Ok(Some(special(scan, place, entry, &stat)))
}

/// What is to be said of an entry that stat facts set apart from its record.
fn special(scan: &Scan<'_>, place: &Place<'_>, entry: &Entry, stat: &Stat) -> Observed {
    if stat.is_dir() {
        if entry.mode.is_gitlink() {
            return if entry.flags.stage() == 0 {
                Observed::Submodule
            } else {
                Observed::Present(FileMode::GITLINK)
            };
        }
        // A directory in place of a file means that the file is gone, unless the directory could be a submodule.
        if !scan.surroundings.has_commit(place.path) {
            return Observed::Missing;
        }
    }
    Observed::Present(worktree_mode(entry.mode, stat.mode, &scan.stat_rules))
}

#[cold]
fn is_unchanged(
    scan: &Scan<'_>,
    scan_started_at: Timestamp,
    place: &Place<'_>,
    number: u32,
    entry: &Entry,
    stat: &Stat,
    comparisons: &mut Comparisons,
) -> Result<bool, ContentError> {
    let stamp = Stamp::from(stat);
    let conversion = if stat.is_symlink() {
        None
    } else {
        scan.surroundings.conversion(place.path)
    };
    if let Ok(at) = comparisons
        .earlier
        .binary_search_by_key(&number, |known| known.entry)
        && let Some(known) = comparisons.earlier.get(at)
        && known.stamp == stamp
        && known.conversion == conversion
    {
        let known = *known;
        comparisons.now.push(known);
        return Ok(known.is_unchanged);
    }
    let is_unchanged = if stat.is_symlink() {
        match rustix::fs::readlinkat(place.dir, place.name, Vec::new()) {
            Ok(target) => scan
                .surroundings
                .is_unchanged_link(target.as_bytes(), &entry.id),
            Err(_) => false,
        }
    } else {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        match rustix::fs::openat(place.dir, place.name, flags, Mode::empty()) {
            Ok(fd) => {
                scan.surroundings
                    .is_unchanged(place.path, File::from(fd), stat.size, &entry.id)?
            }
            Err(_) => false,
        }
    };
    if let Some(stamp) = Stamp::trusted(stat, scan_started_at)
        && (stat.is_symlink() || conversion.is_some())
    {
        comparisons.now.push(Compared {
            entry: number,
            stamp,
            conversion,
            is_unchanged,
        });
    }
    Ok(is_unchanged)
}

#[inline]
fn is_empty_blob(entry: &Entry) -> bool {
    entry.stat.size == 0 && entry.id.is_empty_blob()
}

#[inline]
fn observed(stat: &Stat) -> ObservedStat {
    ObservedStat {
        ctime_s: stat.ctime_s,
        ctime_ns: stat.ctime_ns,
        mtime_s: stat.mtime_s,
        mtime_ns: stat.mtime_ns,
        dev: stat.dev,
        ino: stat.ino,
        uid: stat.uid,
        gid: stat.gid,
        size: stat.size,
        mode: stat.mode,
    }
}

/// The name of a file whose path is `path` and whose name starts at `start`.
pub(super) fn name_of(path: &BStr, start: usize) -> &[u8] {
    path.as_bytes().get(start..).unwrap_or_default()
}

/// Whether an entry, or another side of its conflict, is a submodule.
pub(super) fn is_gitlink_on_any_side(index: &Index, first: &Entry) -> bool {
    let is_gitlink = |stage| {
        let side = index.find(index.path(first), stage);
        side.is_some_and(|side| side.mode.is_gitlink())
    };
    first.mode.is_gitlink() || (1..=3).any(is_gitlink)
}
