//! One tracked file: recorded facts, observed facts, and the contents if the facts do not decide.

use std::borrow::Cow;
use std::collections::HashSet;
use std::ffi::{CStr, CString};
use std::fs::File;
use std::os::fd::BorrowedFd;

use bstr::{BStr, BString, ByteSlice};
use rustix::fs::OFlags;
use vigil_linux::opening::open_to_read;
use vigil_linux::stat::{Stat, stat_at, stat_at_first};
use vigil_linux::{Errno, errno};
use vigil_model::conversion::Conversion;
use vigil_model::path::{has_impossible_component, join};
use vigil_model::tracked::{Directory, TrackedFile};

use super::Scan;
use super::cache::ContentComparison;
use super::findings::{Observed, Unseen};
use super::system::{ContentError, Difference};
use vigil_stamp::{Stamp, Survey};

/// Contents that were compared in one directory: by earlier scans, and by this one. In the order of files, as long as files
/// are asked for in order.
#[derive(Default)]
pub(super) struct Comparisons {
    pub(super) earlier: Vec<ContentComparison>,
    pub(super) now: Vec<ContentComparison>,
}

impl Comparisons {
    pub(super) fn are_empty(&self) -> bool {
        self.earlier.is_empty() && self.now.is_empty()
    }

    /// Returns what to remember. If only some files were asked for, what was known of the others is kept.
    pub(super) fn remembered(self, is_partial: bool) -> Vec<ContentComparison> {
        let mut all = self.now;
        if is_partial {
            let known: HashSet<usize> = all.iter().map(|known| known.at).collect();
            let others = self.earlier.into_iter();
            all.extend(others.filter(|other| !known.contains(&other.at)));
            all.sort_unstable_by_key(|known| known.at);
        }
        all
    }
}

/// One tracked file, and where it is.
pub(super) struct LocatedFile<'a> {
    pub(super) dir: BorrowedFd<'a>,
    pub(super) file: TrackedFile<'a>,
    /// The position of the file in its directory.
    pub(super) at: usize,
    /// The path of the directory, without a trailing slash.
    pub(super) dir_path: &'a BStr,
}

impl LocatedFile<'_> {
    /// The path from the top of the working tree.
    pub(super) fn path(&self) -> BString {
        join(self.dir_path, self.file.name())
    }

    #[inline]
    fn stat(&self) -> Result<Stat, Errno> {
        let name = self.file.name_and_more();
        match name.first() {
            Some(0 | b'/' | b'.') if has_impossible_component(self.file.name()) => {
                self.stat_impossible()
            }
            _ => stat_at_first(self.dir, name),
        }
    }

    /// Does the same for a name that contains directories. As with any path, nothing behind a symbolic link counts.
    #[cold]
    fn stat_impossible(&self) -> Result<Stat, Errno> {
        let name = self.name_for_system();
        let path = name.to_bytes();
        for slash in path.find_iter("/").filter(|slash| *slash > 0) {
            let above = CString::new(path.get(..slash).unwrap_or_default());
            let above = above.map_err(|_| Errno::INVAL)?;
            if stat_at(self.dir, &above)?.is_symlink() {
                return Err(Errno::NOENT);
            }
        }
        stat_at(self.dir, &name)
    }

    /// The name to use in system calls on the directory. The kernel takes a name that begins with a slash for an absolute
    /// path, which is right only at the top.
    fn name_for_system(&self) -> Cow<'_, CStr> {
        let name = self.file.c_name();
        match name.to_bytes().first() {
            None | Some(b'/') if !self.dir_path.is_empty() => {
                let path = [b"./", name.to_bytes()].concat();
                CString::new(path).map_or(Cow::Borrowed(name), Cow::Owned)
            }
            _ => Cow::Borrowed(name),
        }
    }
}

/// Looks at the file `located`, and returns how it differs. Clears `has_events` if the file may change without an event in its
/// directory.
#[inline]
pub(super) fn check(
    scan: &Scan<'_>,
    survey: &Survey,
    located: &LocatedFile<'_>,
    comparisons: &mut Comparisons,
    unknown: &mut Vec<Unseen>,
    has_events: &mut bool,
) -> Result<Option<Observed>, ContentError> {
    let file = &located.file;
    if file.is_left_out() && (!scan.looks_at_present_skipped_files || file.is_collapsed())
        || file.is_assume_valid() && !file.is_side()
    {
        return Ok(None);
    }
    let stat = match located.stat() {
        Ok(stat) => stat,
        // Whatever the reason, git does not see that it is there.
        Err(_) if file.is_left_out() => return Ok(None),
        Err(Errno::NOENT | Errno::NOTDIR) => return Ok(Some(Observed::Missing)),
        // It is reported as unknown, and treated as unchanged.
        Err(reason) => {
            let path = located.path();
            unknown.push(Unseen { path, reason });
            return Ok(None);
        }
    };
    // A hard link can be written through another directory, and a file with an odd name is not in this directory. A directory in
    // the place of a file may become a repository: that depends on what is inside, which is not watched.
    let is_changed_elsewhere = match stat.is_dir() {
        true => !file.is_nested(),
        false => stat.nlink > 1,
    };
    *has_events = !(is_changed_elsewhere || has_impossible_component(file.name()));
    match scan.system.compare_stat(file, &stat, &|| located.path()) {
        Ok(()) => Ok(None),
        Err(Difference::Certain(observed)) => Ok(Some(observed)),
        Err(Difference::InContents(mode)) => {
            let is_same = is_unchanged(scan, survey, located, &stat, comparisons, has_events)?;
            Ok((!is_same).then_some(Observed::Present(mode)))
        }
    }
}

#[cold]
fn is_unchanged(
    scan: &Scan<'_>,
    survey: &Survey,
    located: &LocatedFile<'_>,
    stat: &Stat,
    comparisons: &mut Comparisons,
    has_events: &mut bool,
) -> Result<bool, ContentError> {
    let stamp = Stamp::from(stat);
    let (path, id, at) = (located.path(), located.file.id(), located.at);
    let conversion = if stat.is_symlink() {
        scan.system.link_conversion(path.as_bstr())
    } else {
        scan.system.conversion(path.as_bstr())
    };
    if let Ok(known) = comparisons
        .earlier
        .binary_search_by_key(&at, |known| known.at)
        && let Some(known) = comparisons.earlier.get(known)
        && known.stamp == stamp
        && known.conversion == conversion.map(|conversion| conversion.number)
    {
        let known = *known;
        comparisons.now.push(known);
        return Ok(known.is_unchanged);
    }
    let warnings_before = scan.system.warnings_len();
    let is_unchanged = if stat.is_symlink() {
        let target =
            rustix::fs::readlinkat(located.dir, &*located.name_for_system(), Vec::new()).ok();
        target.map(|target| {
            let system = scan.system;
            system.is_unchanged_link(path.as_bstr(), target.as_bytes(), &id)
        })
    } else {
        match open_to_read(located.dir, &*located.name_for_system(), OFlags::NOFOLLOW) {
            Ok(fd) => {
                Some(
                    scan.system
                        .is_unchanged(path.as_bstr(), File::from(fd), stat.size, &id)?,
                )
            }
            // For any other error, git takes the file for changed.
            Err(error) if errno::is_shortage(error) => {
                let reason = errno::text(error);
                let text = [
                    b"unable to open '",
                    path.as_slice(),
                    b"': ",
                    reason.as_bytes(),
                ];
                return Err(ContentError(text.concat().into()));
            }
            Err(_) => None,
        }
    };
    // A file that could not be read, or caused a warning, is compared again each time.
    let Some(is_unchanged) = is_unchanged else {
        *has_events = false;
        return Ok(false);
    };
    let may_repeat = |conversion: Conversion| is_unchanged || !conversion.is_by_program;
    let can_be_kept =
        conversion.is_some_and(may_repeat) && scan.system.warnings_len() == warnings_before;
    *has_events &= can_be_kept;
    if let Some(stamp) = survey.trusted(stat, located.dir)
        && can_be_kept
    {
        comparisons.now.push(ContentComparison {
            at,
            stamp,
            conversion: conversion.map(|conversion| conversion.number),
            is_unchanged,
        });
    }
    Ok(is_unchanged)
}

/// Whether the file at position `at`, the first of its name, or another side of its conflict, is a nested repository.
pub(super) fn is_nested_on_any_side(
    directory: &Directory<'_>,
    at: usize,
    first: &TrackedFile<'_>,
) -> bool {
    directory
        .files_from(at)
        .take_while(|(_, side)| side.name() == first.name())
        .filter(|(place, side)| *place == at || side.is_side())
        .any(|(_, side)| side.is_nested())
}
