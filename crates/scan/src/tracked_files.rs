//! The tracked files of one directory, and those of a directory that is gone.

use std::ops::Range;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use bstr::{BStr, BString, ByteSlice};
use rustix::fs::{AtFlags, Stat, statat};
use vigil_linux::Errno;
use vigil_model::path::{PATH_LEN_MAX, join};
use vigil_model::tracked::{DirNumber, TrackedFile};

use super::ScanError;
use super::cache::Wanted;
use super::entries::{Comparisons, LocatedFile, check};
use super::findings::{Findings, Observed, Unseen};
use super::open::{NAME_LEN_MAX, OpenDir};
use super::pool::Local;
use super::position::{CurrentDir, DirPosition};
use super::walk::{Task, Walk};

/// A directory with many more files is split into tasks of this size, so that other workers can help.
const FILES_PER_TASK: usize = 1024;

/// A directory that is still to be reported by [`Walk::report_below`].
struct Below {
    number: DirNumber,
    first: u32,
    name: BString,
    /// The length of the path of the directory above.
    above_len: usize,
    observed: Result<Observed, Errno>,
}

impl Walk<'_> {
    /// Makes tasks of all but the first of the `len` tracked files of the directory `dir`, if they are many. Returns how many are
    /// left for this task.
    pub(super) fn share_files<'s>(
        &self,
        position: &DirPosition,
        dir: &Arc<OpenDir<'s>>,
        len: usize,
        local: &mut Local<Task<'s>>,
    ) -> usize {
        if len <= FILES_PER_TASK.saturating_mul(2) {
            return len;
        }
        for start in (FILES_PER_TASK..len).step_by(FILES_PER_TASK) {
            local.push(Task::Files {
                position: position.clone(),
                dir: dir.clone(),
                start,
            });
        }
        FILES_PER_TASK
    }

    /// The number of tracked files to look at directly in a directory.
    pub(super) fn files_len(&self, here: &CurrentDir<'_>) -> usize {
        match self.focus_in(here) {
            None => here.directory.files_len(),
            Some(focus) => focus.files(here.number).len(),
        }
    }

    /// Looks at the files of one task that was made by [`Self::share_files`].
    pub(super) fn check_shared_files(
        &self,
        here: &CurrentDir<'_>,
        dir: BorrowedFd<'_>,
        start: usize,
        findings: &mut Findings,
    ) -> Result<(), ScanError> {
        let end = start.saturating_add(FILES_PER_TASK);
        self.check_files(here, dir, start..end, findings)
    }

    /// Looks at files of a directory, using the comparisons that are remembered.
    pub(super) fn check_files(
        &self,
        here: &CurrentDir<'_>,
        dir: BorrowedFd<'_>,
        range: Range<usize>,
        findings: &mut Findings,
    ) -> Result<(), ScanError> {
        let focus = self.focus_in(here);
        let places = match focus {
            None => range.clone(),
            Some(_) => 0..usize::MAX,
        };
        let memory = || (self.scan.memory).and_then(|memory| memory.dir(here.number, Wanted::None));
        let mut comparisons = Comparisons::default();
        if let Some(memory) = memory() {
            comparisons.earlier = memory.compared(&places);
        }
        let result = self.check_range(here, dir, range, &mut comparisons, findings);
        if !comparisons.are_empty()
            && let Some(mut memory) = memory()
        {
            let is_partial = focus.is_some() || self.wants_no_more_tracked() || result.is_err();
            memory.remember_compared(&places, comparisons.remembered(is_partial));
        }
        result
    }

    fn check_range(
        &self,
        here: &CurrentDir<'_>,
        dir: BorrowedFd<'_>,
        range: Range<usize>,
        comparisons: &mut Comparisons,
        findings: &mut Findings,
    ) -> Result<(), ScanError> {
        let range = range.start..range.end.min(self.files_len(here));
        if let Some(progress) = self.scan.progress {
            progress.add(range.len());
        }
        let directory = &here.directory;
        if let Some(focus) = self.focus_in(here) {
            let places = focus.files(here.number).get(range).unwrap_or_default();
            let files = places
                .iter()
                .filter_map(|&at| Some((at, directory.file(at)?)));
            return self.check_each(here, dir, files, comparisons, findings);
        }
        let files = directory.files_from(range.start).take(range.len());
        self.check_each(here, dir, files, comparisons, findings)
    }

    #[inline]
    fn check_each<'t>(
        &self,
        here: &CurrentDir<'_>,
        dir: BorrowedFd<'_>,
        files: impl Iterator<Item = (usize, TrackedFile<'t>)>,
        comparisons: &mut Comparisons,
        findings: &mut Findings,
    ) -> Result<(), ScanError> {
        for (at, file) in files {
            if self.wants_no_more_tracked() {
                break;
            }
            if !self.is_asked_for(here, &file) || here.is_later_stage(at, &file) {
                continue;
            }
            let located = LocatedFile {
                dir,
                file,
                at,
                dir_path: here.path,
            };
            let mut has_events = true;
            let observed = check(
                self.scan,
                &self.survey,
                &located,
                comparisons,
                &mut findings.unknown,
                &mut has_events,
            )?;
            if !has_events && self.scan.watch.is_some() {
                findings.silent_paths.files.push(here.entry_number(at));
                if self.scan.system.affects_comparison(file.name()) {
                    findings.silent_paths.trees.push(here.path.to_owned());
                }
            }
            if let Some(observed) = observed {
                self.found_tracked(here, at, &file, observed, findings);
            }
        }
        Ok(())
    }

    /// Whether `file` is asked for. The first side of a conflict also stands for the others, which may be of another type.
    #[inline]
    fn is_asked_for(&self, here: &CurrentDir<'_>, file: &TrackedFile<'_>) -> bool {
        let is_nested = file.is_nested();
        self.scan.filter.is_none_or(|filter| {
            let path = join(here.path, file.name());
            filter.matches(path.as_bstr(), is_nested)
                || file.is_side() && filter.matches(path.as_bstr(), !is_nested)
        })
    }

    fn found_tracked(
        &self,
        here: &CurrentDir<'_>,
        at: usize,
        file: &TrackedFile<'_>,
        observed: Observed,
        findings: &mut Findings,
    ) {
        let number = here.entry_number(at);
        findings.tracked.push((number, observed));
        let is_certain = observed != Observed::Nested && !file.is_side();
        if is_certain {
            self.tracked_found.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Returns the verdict on files below `path`, which is not a directory. They are looked up by their whole path. A symbolic
    /// link on the way is followed, but nothing behind it counts as the recorded file. Also returns whether there is a link to a
    /// directory.
    pub(super) fn look_through_link(&self, path: &BStr) -> (Result<Observed, Errno>, bool) {
        if path.len() > PATH_LEN_MAX {
            return (Err(Errno::NAMETOOLONG), false);
        }
        match statat(
            &self.top,
            join(path, ".".into()).as_slice(),
            AtFlags::empty(),
        ) {
            Ok(_) => (Ok(Observed::Missing), true),
            Err(Errno::NOENT | Errno::NOTDIR) => (Ok(Observed::Missing), false),
            Err(error) => (Err(error), false),
        }
    }

    /// Looks at `path` by way of the top, since the whole path to that may be too long for the system when this one is not.
    pub(super) fn lstat(&self, path: &BStr) -> Result<Stat, Errno> {
        // The top has no name.
        let path = if path.is_empty() {
            b"."
        } else {
            path.as_bytes()
        };
        statat(&self.top, path, AtFlags::SYMLINK_NOFOLLOW)
    }

    /// Whether the system refuses `path` as too long. Where a directory on the way is missing, it says that instead.
    fn is_refused(&self, path: &BStr) -> bool {
        self.lstat(path).err() == Some(Errno::NAMETOOLONG)
    }

    /// Reports the same for all tracked files in and below a directory that is missing or replaced by a symbolic link. A file
    /// that exists behind the link makes its entry count as not skipped.
    pub(super) fn report_below(
        &self,
        position: &DirPosition,
        observed: Result<Observed, Errno>,
        is_link: bool,
        findings: &mut Findings,
    ) {
        // One buffer holds the path of each directory in turn: the path of a directory may be as long as all of the index.
        let mut position = position.clone();
        let mut pending = Vec::new();
        let mut observed = observed;
        loop {
            let here = CurrentDir::enter(&position, self.scan.tracked_files, &self.budget);
            self.report_files(&here, observed, is_link, findings);
            pending.extend(here.directory.subdirs().map(|sub| Below {
                number: sub.number,
                first: here.first_below(&sub),
                name: sub.name().to_owned(),
                above_len: here.path.len(),
                observed,
            }));
            let Some(next) = pending.pop() else { break };
            position.move_to(next.number, next.first, next.above_len, next.name.as_bstr());
            // Behind the link there may be another one, which leads nowhere.
            observed = match is_link {
                true => self.look_through_link(position.path.as_bstr()).0,
                false => next.observed,
            };
        }
    }

    /// Reports `observed` for the tracked files of one directory. Paths that are too long for the system are reported as such.
    fn report_files(
        &self,
        here: &CurrentDir<'_>,
        observed: Result<Observed, Errno>,
        is_link: bool,
        findings: &mut Findings,
    ) {
        for (at, file) in here.directory.files_from(0) {
            if here.is_later_stage(at, &file) {
                continue;
            }
            let path = join(here.path, file.name());
            let path = path.as_bstr();
            let is_skipped = file.is_left_out()
                && !(is_link
                    && self.scan.looks_at_present_skipped_files
                    && self.lstat(path).is_ok());
            let is_expected = !is_skipped && !file.is_assume_valid();
            let is_wanted = self.scan.tracked && self.is_asked_for(here, &file);
            if !is_wanted || !is_expected && !file.is_side() {
                continue;
            }
            let is_too_long = path.len() > PATH_LEN_MAX
                || is_link && file.name().len() > NAME_LEN_MAX && self.is_refused(path);
            match observed {
                Ok(_) if is_too_long => {
                    findings.unknown.push(Unseen::of(path, Errno::NAMETOOLONG));
                }
                Ok(observed) => self.found_tracked(here, at, &file, observed, findings),
                Err(reason) => findings.unknown.push(Unseen::of(path, reason)),
            }
        }
    }
}
