//! The walk over the directories that hold tracked files.

use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bstr::{BStr, BString, ByteSlice};
use parking_lot::Mutex;
use rustix::fs::{CWD, Mode, OFlags};
use vigil_linux::dir::{Listing, open_dir_at};
use vigil_linux::stat::{lstat_path, stat_path};
use vigil_linux::{Errno, errno};
use vigil_model::index::Entry;
use vigil_model::timestamp::Timestamp;

use super::entries::{Comparisons, Place, check};
use super::icase::FoldedNames;
use super::open::{CName, OpenDir, PATH_LEN_MAX, open_below, open_for_search};
use super::pool::{Local, Pool, open_dirs_max};
use super::tree::{DirId, ROOT};
use super::untracked::UntrackedDir;
use super::{Findings, Observed, Scan, ScanError};
use crate::git::ignore::IgnoreRules;
use crate::stamp::now;
use crate::status::{IgnoredMode, UntrackedMode};

/// Trees with fewer entries are begun by the calling thread alone.
const ENTRIES_FOR_THREADS: usize = 600;
/// A directory with more files is looked at in pieces of this size, so that others can help.
const FILES_PER_TASK: usize = 1024;

/// What all workers of one scan share.
pub(super) struct Walk<'a> {
    pub(super) scan: &'a Scan<'a>,
    pub(super) top: OwnedFd,
    pub(super) folded: Option<FoldedNames>,
    /// No mtime from here on proves anything.
    pub(super) started_at: Timestamp,
    open_dirs: AtomicUsize,
    open_dirs_max: usize,
    tracked_found: AtomicUsize,
    untracked_found: AtomicUsize,
    error: Mutex<Option<ScanError>>,
}

/// What one worker holds.
#[derive(Default)]
pub(super) struct Worker {
    listing: Listing,
    pub(super) findings: Findings,
    /// Directories, with a `/` at the end, in which nothing untracked is shown.
    pub(super) hidden: Vec<BString>,
}

impl Worker {
    pub(super) fn take_listing(&mut self) -> Listing {
        std::mem::take(&mut self.listing)
    }

    pub(super) fn give_back(&mut self, listing: Listing) {
        self.listing = listing;
    }

    pub(super) fn warnings(&mut self) -> &mut Vec<BString> {
        &mut self.findings.warnings
    }
}

/// One piece of work.
pub(super) enum Task<'s> {
    /// A directory with tracked files.
    Dir {
        id: DirId,
        /// The directory above, if it is still open.
        parent: Option<Arc<OpenDir<'s>>>,
        rules: Arc<IgnoreRules>,
        /// Whether an ignore rule matches this directory or one above.
        is_excluded: bool,
    },
    /// A part of the files of a directory.
    Files {
        id: DirId,
        dir: Arc<OpenDir<'s>>,
        start: usize,
    },
    /// A directory without tracked files, all of which is to be reported.
    Untracked {
        dir: UntrackedDir,
        parent: Option<Arc<OpenDir<'s>>>,
    },
}

impl Scan<'_> {
    /// Looks at the disk and says how it differs from the index.
    pub fn run(&self) -> Result<Findings, ScanError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let top =
            rustix::fs::openat(CWD, self.work_tree, flags, Mode::empty()).map_err(|source| {
                ScanError::WorkTree {
                    path: self.work_tree.to_path_buf(),
                    source,
                }
            })?;
        let wants_others = self.untracked != UntrackedMode::No;
        let walk = Walk {
            scan: self,
            top,
            folded: (self.ignore_case && wants_others)
                .then(|| FoldedNames::new(self.index, self.tree)),
            started_at: now(),
            open_dirs: AtomicUsize::new(0),
            open_dirs_max: open_dirs_max(),
            tracked_found: AtomicUsize::new(0),
            untracked_found: AtomicUsize::new(0),
            error: Mutex::new(None),
        };
        if let Some(progress) = self.progress {
            progress.begin(self.index.entries().len());
        }
        let pool = Pool::new(self.threads_max);
        let first = Task::Dir {
            id: ROOT,
            parent: None,
            rules: self.ignore_rules.clone(),
            is_excluded: false,
        };
        let is_small = self.focus.is_some() || self.index.entries().len() < ENTRIES_FOR_THREADS;
        let workers = pool.run(first, is_small, Worker::default, |task, worker, local| {
            walk.step(&pool, task, worker, local);
        });
        if let Some(error) = walk.error.lock().take() {
            return Err(error);
        }
        let mut all = Findings::default();
        let mut hidden: Vec<BString> = Vec::new();
        for worker in workers {
            all.tracked.extend(worker.findings.tracked);
            all.untracked.extend(worker.findings.untracked);
            all.ignored.extend(worker.findings.ignored);
            all.warnings.extend(worker.findings.warnings);
            all.messages.extend(worker.findings.messages);
            hidden.extend(worker.hidden);
        }
        if !hidden.is_empty() {
            let is_shown = |path: &BString| !hidden.iter().any(|dir| path.starts_with(dir));
            all.untracked.retain(is_shown);
            all.ignored.retain(is_shown);
        }
        all.tracked.sort_unstable_by_key(|&(number, _)| number);
        all.untracked.sort_unstable();
        all.ignored.sort_unstable();
        all.warnings.sort_unstable();
        all.messages.sort_unstable();
        Ok(all)
    }
}

impl<'a> Walk<'a> {
    fn step<'s>(
        &'s self,
        pool: &Pool<Task<'s>>,
        task: Task<'s>,
        worker: &mut Worker,
        local: &mut Local<Task<'s>>,
    ) {
        let result = match task {
            Task::Dir {
                id,
                parent,
                rules,
                is_excluded,
            } => self.walk_dir(id, parent.as_deref(), &rules, is_excluded, worker, local),
            Task::Files { id, dir, start } => {
                let end = start.saturating_add(FILES_PER_TASK);
                self.check_files(id, dir.fd(), start..end, &mut worker.findings)
            }
            Task::Untracked { dir, parent } => {
                self.walk_untracked(&dir, parent, worker, local);
                Ok(())
            }
        };
        if let Err(error) = result {
            self.error.lock().get_or_insert(error);
            pool.stop();
        }
        if self.wants_no_more_tracked() && self.wants_no_more_untracked() {
            pool.stop();
        }
    }

    fn wants_no_more_tracked(&self) -> bool {
        !self.scan.tracked || self.tracked_found.load(Ordering::Relaxed) >= self.scan.tracked_enough
    }

    fn wants_no_more_untracked(&self) -> bool {
        self.scan.untracked == UntrackedMode::No
            || self.untracked_found.load(Ordering::Relaxed) >= self.scan.untracked_enough
    }

    /// Counts `fd` among the open directories.
    pub(super) fn keep(&self, fd: OwnedFd) -> OpenDir<'_> {
        OpenDir::new(fd, &self.open_dirs)
    }

    pub(super) fn count_untracked(&self, n: usize) {
        self.untracked_found.fetch_add(n, Ordering::Relaxed);
    }

    /// Opens `path`, whose directory is `parent` if that is still open.
    pub(super) fn open(
        &self,
        parent: Option<BorrowedFd<'_>>,
        path: &BStr,
    ) -> Result<OwnedFd, Errno> {
        if path.len() > PATH_LEN_MAX {
            return Err(Errno::NAMETOOLONG);
        }
        match parent {
            Some(parent) => {
                let name =
                    CName::new(vigil_model::path::file_name(path)).ok_or(Errno::NAMETOOLONG)?;
                open_dir_at(parent, name.as_c_str())
            }
            None => open_below(self.top.as_fd(), path),
        }
    }

    /// Whether one more directory may stay open while others are walked.
    pub(super) fn may_keep_open(&self) -> bool {
        self.open_dirs.load(Ordering::Relaxed) < self.open_dirs_max
    }

    fn walk_dir<'s>(
        &'s self,
        id: DirId,
        parent: Option<&OpenDir<'s>>,
        rules: &Arc<IgnoreRules>,
        is_excluded: bool,
        worker: &mut Worker,
        local: &mut Local<Task<'s>>,
    ) -> Result<(), ScanError> {
        let path = self.scan.tree.path(self.scan.index, id);
        if self
            .scan
            .filter
            .is_some_and(|filter| id != ROOT && !filter.may_match_below(path))
        {
            return Ok(());
        }
        let opened = match id {
            ROOT => self.top.try_clone().map_err(|_| Errno::MFILE),
            _ => self.open(parent.map(OpenDir::fd), path),
        };
        let (fd, may_list) = match opened {
            Ok(fd) => (fd, true),
            Err(Errno::ACCESS) => {
                if !is_excluded {
                    self.warn_unreadable(path, Errno::ACCESS, worker);
                }
                let name = CName::new(vigil_model::path::file_name(path));
                let searchable = parent
                    .zip(name)
                    .map(|(p, n)| open_for_search(p.fd(), n.as_c_str()));
                match searchable {
                    Some(Ok(fd)) => (fd, false),
                    // What may not even be searched is not known to have changed.
                    _ => {
                        self.report_below(id, Err(Errno::ACCESS), false, &mut worker.findings);
                        return Ok(());
                    }
                }
            }
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => {
                let (observed, is_link) = self.look_through_link(path);
                self.report_below(id, observed, is_link, &mut worker.findings);
                return Ok(());
            }
            Err(source) => {
                return Err(ScanError::Directory {
                    path: path.to_owned(),
                    source,
                });
            }
        };
        let dir = Arc::new(self.keep(fd));
        let wants_others = may_list
            && !self.wants_no_more_untracked()
            && !(is_excluded && self.scan.ignored == IgnoredMode::No);
        let mut memory = self
            .scan
            .memory
            .and_then(|memory| memory.dir(id))
            .map(Mutex::lock);
        let rules_below = if wants_others {
            if id != ROOT {
                self.warn_of_gap(path, worker.warnings());
            }
            self.look_at_others(
                id,
                &dir,
                rules,
                is_excluded,
                memory.as_deref_mut(),
                worker,
                local,
            )
        } else {
            self.push_subdirs(id, &dir, rules, is_excluded, &[], local);
            rules.clone()
        };
        drop(rules_below);
        if self.wants_no_more_tracked() {
            return Ok(());
        }
        let files = self.files(id).len();
        if files > FILES_PER_TASK.saturating_mul(2) {
            for start in (FILES_PER_TASK..files).step_by(FILES_PER_TASK) {
                local.push(Task::Files {
                    id,
                    dir: dir.clone(),
                    start,
                });
            }
        }
        let end = if files > FILES_PER_TASK.saturating_mul(2) {
            FILES_PER_TASK
        } else {
            files
        };
        let mut comparisons = Comparisons::default();
        if let Some(memory) = memory.as_deref_mut() {
            comparisons.earlier = std::mem::take(&mut memory.compared);
        }
        let result = self.check_range(id, dir.fd(), 0..end, &mut comparisons, &mut worker.findings);
        if let Some(memory) = memory.as_deref_mut() {
            let is_partial =
                self.scan.focus.is_some() || self.wants_no_more_tracked() || result.is_err();
            memory.compared = comparisons.remembered(is_partial);
        }
        result
    }

    /// The tracked files directly in directory `id` that are to be looked at.
    fn files(&self, id: DirId) -> &[u32] {
        match self.scan.focus {
            None => self.scan.tree.files(id),
            Some(focus) => focus.files(id),
        }
    }

    /// Looks at files of a directory for which nothing is remembered.
    fn check_files(
        &self,
        id: DirId,
        dir: BorrowedFd<'_>,
        range: std::ops::Range<usize>,
        findings: &mut Findings,
    ) -> Result<(), ScanError> {
        self.check_range(id, dir, range, &mut Comparisons::default(), findings)
    }

    fn check_range(
        &self,
        id: DirId,
        dir: BorrowedFd<'_>,
        range: std::ops::Range<usize>,
        comparisons: &mut Comparisons,
        findings: &mut Findings,
    ) -> Result<(), ScanError> {
        let index = self.scan.index;
        let name_start = self.scan.tree.file_name_start(id);
        let files = self.files(id);
        let files = files
            .get(range.start..range.end.min(files.len()))
            .unwrap_or_default();
        if let Some(progress) = self.scan.progress {
            progress.add(files.len());
        }
        for &number in files {
            if self.wants_no_more_tracked() {
                break;
            }
            let Some(entry) = index.entries().get(number as usize) else {
                continue;
            };
            let path = index.path(entry);
            if !self.is_asked_for(entry, path) {
                continue;
            }
            let place = Place {
                dir,
                name: index.path_end(entry, name_start),
                path,
            };
            if let Some(observed) = check(
                self.scan,
                self.started_at,
                &place,
                number,
                entry,
                comparisons,
                &mut findings.messages,
            )? {
                self.found_tracked(number, observed, findings);
            }
        }
        Ok(())
    }

    /// Whether `entry` is asked for; the first stage of a conflict also for the sake of the others, which may be of another
    /// type.
    fn is_asked_for(&self, entry: &Entry, path: &BStr) -> bool {
        let is_gitlink = entry.mode.is_gitlink();
        self.scan.filter.is_none_or(|filter| {
            filter.matches(path, is_gitlink)
                || entry.flags.stage() > 0 && filter.matches(path, !is_gitlink)
        })
    }

    fn found_tracked(&self, number: u32, observed: Observed, findings: &mut Findings) {
        findings.tracked.push((number, observed));
        let is_certain = observed != Observed::Submodule
            && self
                .scan
                .index
                .entries()
                .get(number as usize)
                .is_some_and(|entry| entry.flags.stage() == 0);
        if is_certain {
            self.tracked_found.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// What the system says of files below `path`, which is no directory: git asks for them by their whole path, and
    /// follows a link there, though it takes nothing behind it for what is recorded. Also, whether there is a link to a
    /// directory.
    fn look_through_link(&self, path: &BStr) -> (Result<Observed, Errno>, bool) {
        let inside = self.scan.work_tree.join(OsStr::from_bytes(path)).join(".");
        match stat_path(&inside) {
            Ok(_) => (Ok(Observed::Missing), true),
            Err(Errno::NOENT | Errno::NOTDIR) => (Ok(Observed::Missing), false),
            Err(error) => (Err(error), false),
        }
    }

    /// Reports the same of all tracked files in and below a directory, or a link in its place: a file behind that ends
    /// that its entry is skipped.
    fn report_below(
        &self,
        id: DirId,
        observed: Result<Observed, Errno>,
        is_link: bool,
        findings: &mut Findings,
    ) {
        let mut pending = vec![id];
        while let Some(id) = pending.pop() {
            for &number in self.scan.tree.files(id) {
                let Some(entry) = self.scan.index.entries().get(number as usize) else {
                    continue;
                };
                let path = self.scan.index.path(entry);
                let is_skipped = entry.flags.is_skip_worktree()
                    && !(is_link
                        && self.scan.looks_at_present_skipped_files
                        && lstat_path(&self.scan.work_tree.join(OsStr::from_bytes(path))).is_ok());
                let is_expected = !is_skipped && !entry.flags.is_assume_valid();
                let is_wanted = self.scan.tracked && self.is_asked_for(entry, path);
                if is_wanted && (is_expected || entry.flags.stage() > 0) {
                    match observed {
                        Ok(observed) => self.found_tracked(number, observed, findings),
                        Err(error) => findings.messages.push(unknown(path, error)),
                    }
                }
            }
            pending.extend_from_slice(self.scan.tree.subdirs(id));
        }
    }

    pub(super) fn push_subdirs<'s>(
        &'s self,
        id: DirId,
        dir: &Arc<OpenDir<'s>>,
        rules: &Arc<IgnoreRules>,
        is_excluded: bool,
        excluded_subdirs: &[DirId],
        local: &mut Local<Task<'s>>,
    ) {
        let parent = self.may_keep_open().then_some(dir);
        // The last one pushed is the first one walked.
        for &sub in self.scan.tree.subdirs(id).iter().rev() {
            if self.scan.focus.is_some_and(|focus| !focus.has(sub)) {
                continue;
            }
            local.push(Task::Dir {
                id: sub,
                parent: parent.cloned(),
                rules: rules.clone(),
                is_excluded: is_excluded || excluded_subdirs.contains(&sub),
            });
        }
    }

    /// Says on behalf of git that a directory cannot be listed.
    pub(super) fn unreadable(path: &BStr, error: Errno) -> BString {
        let shown = if path.is_empty() {
            BString::from(".")
        } else {
            vigil_model::path::join(path, BStr::new(""))
        };
        let reason = errno::text(error);
        let pieces: [&[u8]; 4] = [
            b"could not open directory '",
            &shown,
            b"': ",
            reason.as_bytes(),
        ];
        bstr::concat(pieces).into()
    }

    pub(super) fn warn_unreadable(&self, path: &BStr, error: Errno, worker: &mut Worker) {
        if self.scan.untracked != UntrackedMode::No {
            worker.findings.warnings.push(Self::unreadable(path, error));
        }
    }
}

/// What git says of a tracked path of which the system says neither what it is nor that it is gone.
pub(super) fn unknown(path: &BStr, error: Errno) -> BString {
    bstr::concat([path.as_bytes(), b": ", errno::text(error).as_bytes()]).into()
}
