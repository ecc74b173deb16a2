//! The walk over the directories that hold tracked files.

use std::collections::BTreeSet;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bstr::{BStr, BString, ByteSlice};
use crossbeam_utils::CachePadded;
use parking_lot::Mutex;
use rustix::fs::{CWD, FileType, Mode, OFlags, Stat};
use vigil_linux::dir::{Listing, open_dir_at};
use vigil_linux::{Errno, errno};
use vigil_model::path::{PATH_LEN_MAX, join};
use vigil_model::tracked::{Budget, DirNumber, ROOT};

use super::cache::Wanted;
use super::findings::{Findings, Unseen};
use super::focus::Focus;
use super::folded_names::FoldedNames;
use super::ignoring::Ignoring;
use super::open::{CName, DirFd, OpenDir, open_below, open_for_search};
use super::pool::{Local, Pool, open_dirs_max};
use super::position::{CurrentDir, DirPosition};
use super::timing::Timing;
use super::untracked::UntrackedDir;
use super::{Scan, ScanError};
use vigil_model::request::{IgnoredMode, UntrackedMode};
use vigil_stamp::Survey;

/// The calling thread starts alone on trees with fewer entries.
const ENTRIES_FOR_THREADS: usize = 600;

/// What all workers of one scan share. What they write for each directory has cache lines of its own: the rest is read for each
/// file.
pub(super) struct Walk<'a> {
    pub(super) scan: &'a Scan<'a>,
    pub(super) top: OwnedFd,
    may_list_top: bool,
    pub(super) folded: Option<FoldedNames>,
    /// Which stamps prove anything.
    pub(super) survey: Survey,
    /// The effective user ID.
    pub(super) user_id: u32,
    /// How much of the tree of tracked files is left to meet; a tree with more than that is damaged.
    pub(super) budget: CachePadded<Budget>,
    open_dirs: CachePadded<AtomicUsize>,
    open_dirs_max: usize,
    pub(super) tracked_found: AtomicUsize,
    untracked_found: AtomicUsize,
    error: Mutex<Option<ScanError>>,
}

/// What one worker owns.
#[derive(Default)]
pub(super) struct Worker {
    listing: Listing,
    pub(super) findings: Findings,
    /// Directories, with a trailing `/`, in which nothing untracked is shown.
    pub(super) hidden: Vec<BString>,
}

impl Worker {
    pub(super) fn take_listing(&mut self) -> Listing {
        std::mem::take(&mut self.listing)
    }

    pub(super) fn give_back(&mut self, listing: Listing) {
        self.listing = listing;
    }
}

/// A unit of work.
pub(super) enum Task<'s> {
    /// A directory with tracked files.
    Dir {
        position: DirPosition,
        /// The parent directory, if it is still open.
        parent: Option<Arc<OpenDir<'s>>>,
        ignoring: Ignoring,
    },
    /// A part of the files of a directory.
    Files {
        position: DirPosition,
        dir: Arc<OpenDir<'s>>,
        start: usize,
    },
    /// A directory without tracked files whose contents are reported one by one.
    Untracked {
        dir: UntrackedDir,
        parent: Option<Arc<OpenDir<'s>>>,
    },
}

/// A directory that the walk has entered.
struct Entered<'s> {
    fd: DirFd<'s>,
    may_list: bool,
    /// Whether it, or a directory above, cannot be listed.
    is_below_unlisted: bool,
}

impl Scan<'_> {
    /// Scans the disk, and returns how it differs from the index.
    ///
    /// # Errors
    /// The top of the working tree or a directory with tracked files cannot be opened, or contents cannot be compared.
    pub fn run(&self) -> Result<Findings, ScanError> {
        let open_top = |flags| {
            let flags = flags | OFlags::DIRECTORY | OFlags::CLOEXEC;
            rustix::fs::openat(CWD, self.work_tree, flags, Mode::empty())
        };
        let (top_fd, may_list_top) = match open_top(OFlags::RDONLY) {
            // A descriptor for lookups is enough for what is tracked.
            Err(Errno::ACCESS) => (open_top(OFlags::PATH), false),
            opened => (opened, true),
        };
        let top_fd = top_fd.map_err(|source| ScanError::WorkTree {
            path: self.work_tree.to_path_buf(),
            source,
        })?;
        let wants_others = self.untracked != UntrackedMode::No;
        let walk = Walk {
            scan: self,
            top: top_fd,
            may_list_top,
            folded: (self.ignore_case && wants_others)
                .then(|| FoldedNames::new(self.tracked_files)),
            survey: Survey::begin(),
            user_id: rustix::process::geteuid().as_raw(),
            budget: self.tracked_files.budget().into(),
            open_dirs: AtomicUsize::new(0).into(),
            open_dirs_max: open_dirs_max(),
            tracked_found: AtomicUsize::new(0),
            untracked_found: AtomicUsize::new(0),
            error: Mutex::new(None),
        };
        let entries = self.tracked_files.sums().entries as usize;
        if let Some(progress) = self.progress {
            progress.begin(entries);
        }
        let pool = Pool::new(self.threads_max);
        let mut top = DirPosition::top();
        top.is_whole = self.focus.is_some_and(|focus| focus.has_whole(ROOT));
        let first = Task::Dir {
            position: top,
            parent: None,
            ignoring: Ignoring {
                rules: self.system.rules_at_top(),
                is_excluded: false,
            },
        };
        let focus = self.focus;
        let looked_at = focus.map_or(entries, |focus| focus.size(self.tracked_files));
        let is_small = looked_at < ENTRIES_FOR_THREADS;
        let workers = pool.run(first, is_small, Worker::default, |task, worker, local| {
            Timing::task(self.timing, || walk.step(&pool, task, worker, local));
        });
        if let Some(error) = walk.error.lock().take() {
            return Err(error);
        }
        Ok(self.findings_of(workers))
    }

    /// Returns what all workers found, in order.
    fn findings_of(&self, workers: Vec<Worker>) -> Findings {
        let mut all = Findings::default();
        let mut hidden: Vec<BString> = Vec::new();
        for worker in workers {
            all.tracked.extend(worker.findings.tracked);
            all.untracked.extend(worker.findings.untracked);
            all.ignored.extend(worker.findings.ignored);
            all.unlisted.extend(worker.findings.unlisted);
            all.warnings.extend(worker.findings.warnings);
            all.unknown.extend(worker.findings.unknown);
            all.silent_paths.add(worker.findings.silent_paths);
            hidden.extend(worker.hidden);
        }
        if !hidden.is_empty() {
            if self.watch.is_some() {
                // What is hidden depends on more than its own folder.
                all.silent_paths.trees.push(BString::default());
            }
            let is_shown = |path: &BString| !hidden.iter().any(|dir| path.starts_with(dir));
            all.untracked.retain(is_shown);
            all.ignored.retain(is_shown);
            // What is not searched is not reported as unlisted either.
            all.unlisted.retain(|unseen| {
                let dir = join(unseen.path.as_bstr(), BStr::new(""));
                !hidden.iter().any(|hidden| dir.starts_with(hidden))
            });
        }
        all.tracked.sort_unstable_by_key(|&(number, _)| number);
        all.untracked.sort_unstable();
        all.ignored.sort_unstable();
        all.silent_paths.sort();
        all
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
                position,
                parent,
                ignoring,
            } => self.walk_dir(&position, parent.as_deref(), &ignoring, worker, local),
            Task::Files {
                position,
                dir,
                start,
            } => {
                let here = CurrentDir::read(&position, self.scan.tracked_files);
                self.check_shared_files(&here, dir.fd(), start, &mut worker.findings)
            }
            Task::Untracked { dir, parent } => {
                Timing::non_tracked(self.scan.timing, || {
                    self.walk_untracked(&dir, parent, worker, local);
                });
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

    pub(super) fn wants_no_more_tracked(&self) -> bool {
        !self.scan.tracked
            || self.tracked_found.load(Ordering::Relaxed) >= self.scan.stop_after_tracked
    }

    /// Whether anything but tracked files is asked for in a directory.
    pub(super) fn wants_others(&self, ignoring: &Ignoring) -> bool {
        let is_hidden = ignoring.is_excluded && self.scan.ignored == IgnoredMode::No;
        !is_hidden && !self.wants_no_more_untracked()
    }

    fn wants_no_more_untracked(&self) -> bool {
        self.scan.untracked == UntrackedMode::No
            || self.untracked_found.load(Ordering::Relaxed) >= self.scan.stop_after_untracked
    }

    /// Counts `fd` among the open directories.
    pub(super) fn keep<'s>(&'s self, fd: DirFd<'s>) -> OpenDir<'s> {
        OpenDir::new(fd, &self.open_dirs)
    }

    pub(super) fn count_untracked(&self, n: usize) {
        self.untracked_found.fetch_add(n, Ordering::Relaxed);
    }

    /// Opens the directory `path`, by way of `parent` if that is still open.
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
        position: &DirPosition,
        parent: Option<&OpenDir<'s>>,
        ignoring: &Ignoring,
        worker: &mut Worker,
        local: &mut Local<Task<'s>>,
    ) -> Result<(), ScanError> {
        let path = position.path.as_bstr();
        let is_root = position.number == ROOT;
        if self
            .scan
            .filter
            .is_some_and(|filter| !is_root && !filter.may_match_below(path))
        {
            return Ok(());
        }
        if parent.is_some_and(|parent| self.is_clean_from_above(position, parent, ignoring)) {
            return Ok(());
        }
        let Some(opened) = self.open_to_walk(position, parent, ignoring.is_excluded, worker)?
        else {
            return Ok(());
        };
        let dir = Arc::new(self.keep(opened.fd));
        let mut here = CurrentDir::enter(position, self.scan.tracked_files, &self.budget);
        here.is_below_unlisted = opened.is_below_unlisted;
        let focus = self.focus_in(&here);
        let wants_non_tracked = focus.is_none_or(|focus| focus.wants_non_tracked(here.number));
        // If only files are looked at, the folder is already watched.
        if let Some(watch) = self.scan.watch.filter(|_| wants_non_tracked)
            && !watch.watch(path, dir.fd())
        {
            self.note_silent_tree(path, worker);
        }
        let wants_others = opened.may_list && wants_non_tracked && self.wants_others(ignoring);
        let wanted = match wants_others {
            true => Wanted::For(self.scan.question()),
            false => Wanted::None,
        };
        let memory = self.scan.memory;
        let mut memory = memory.and_then(|memory| memory.dir(position.number, wanted));
        if wants_others {
            if !is_root {
                self.note_gap(path, &mut worker.findings.unlisted);
            }
            Timing::non_tracked(self.scan.timing, || {
                let memory = memory.as_deref_mut();
                self.visit_non_tracked(&mut here, &dir, ignoring, memory, worker, local);
            });
        } else {
            self.push_subdirs(&here, &dir, ignoring, &[], local);
        }
        drop(memory);
        if self.wants_no_more_tracked() {
            return Ok(());
        }
        let here_len = self.share_files(position, &dir, self.files_len(&here), local);
        self.check_files(&here, dir.fd(), 0..here_len, &mut worker.findings)
    }

    /// Opens the directory at `position`. If it cannot be entered, reports that, and returns `None`.
    ///
    /// # Errors
    /// It cannot be opened, for a reason that says nothing about its files.
    fn open_to_walk<'s>(
        &'s self,
        position: &DirPosition,
        parent: Option<&OpenDir<'s>>,
        is_excluded: bool,
        worker: &mut Worker,
    ) -> Result<Option<Entered<'s>>, ScanError> {
        let path = position.path.as_bstr();
        let is_root = position.number == ROOT;
        let opened = match is_root {
            true if self.may_list_top => Ok(DirFd::Top(self.top.as_fd())),
            true => Err(Errno::ACCESS),
            false => self.open(parent.map(OpenDir::fd), path).map(DirFd::Own),
        };
        let mut is_below_unlisted = position.is_below_unlisted;
        let reason = match opened {
            Ok(fd) => {
                return Ok(Some(Entered {
                    fd,
                    may_list: !is_below_unlisted,
                    is_below_unlisted,
                }));
            }
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => {
                let (observed, is_link) = self.look_through_link(path);
                // A symbolic link's target may change elsewhere, even if the link leads nowhere now.
                let is_symlink = |stat: Stat| FileType::from_raw_mode(stat.st_mode).is_symlink();
                if self.scan.watch.is_some() && self.lstat(path).is_ok_and(is_symlink) {
                    self.note_silent_tree(path, worker);
                }
                self.report_below(position, observed, is_link, &mut worker.findings);
                return Ok(None);
            }
            Err(source) if errno::is_shortage(source) => {
                return Err(ScanError::Directory {
                    path: path.to_owned(),
                    source,
                });
            }
            Err(reason) => reason,
        };
        let name = CName::new(vigil_model::path::file_name(path));
        let searchable = match is_root {
            true => Some(DirFd::Top(self.top.as_fd())),
            false => parent.zip(name).and_then(|(parent, name)| {
                let fd = open_for_search(parent.fd(), name.as_c_str());
                fd.ok().map(DirFd::Own)
            }),
        };
        let is_too_long = reason == Errno::NAMETOOLONG;
        // It may not be listed, or its disk or server is gone. Report what is unseen, and go on with the rest.
        if !is_below_unlisted && !self.begins_below(path) {
            is_below_unlisted = true;
            let may_be_met = match is_too_long {
                // A path may be too long, though there is such a directory.
                true => searchable.is_some(),
                false => self.may_be_met(path),
            };
            if may_be_met {
                self.note_given_up(path, reason, is_excluded, worker);
            }
        }
        let Some(fd) = searchable.filter(|_| !is_too_long) else {
            // If it cannot even be searched, nothing is known to have changed. The same holds for paths that are too long.
            self.report_below(position, Err(reason), false, &mut worker.findings);
            return Ok(None);
        };
        Ok(Some(Entered {
            fd,
            may_list: false,
            is_below_unlisted,
        }))
    }

    /// Whether the search for untracked files begins below the directory `path`.
    pub(super) fn begins_below(&self, path: &BStr) -> bool {
        let mut filter = self.scan.filter.iter();
        filter.any(|filter| filter.begins_below(path))
    }

    /// Whether a system that looks up names before it opens directories comes to the directory `path`, which cannot be opened.
    fn may_be_met(&self, path: &BStr) -> bool {
        !self.scan.system.looks_up_listed_names() || self.lstat(path).is_ok()
    }

    /// The scan's focus, unless the directory is looked at as a whole.
    pub(super) fn focus_in(&self, here: &CurrentDir<'_>) -> Option<&Focus> {
        self.scan.focus.filter(|_| !here.is_whole)
    }

    /// Notes that changes in the directory at `path` and below cause no event.
    fn note_silent_tree(&self, path: &BStr, worker: &mut Worker) {
        if self.scan.watch.is_some() {
            worker.findings.silent_paths.trees.push(path.to_owned());
        }
    }

    pub(super) fn push_subdirs<'s>(
        &'s self,
        here: &CurrentDir<'_>,
        dir: &Arc<OpenDir<'s>>,
        ignoring: &Ignoring,
        excluded_subdirs: &[DirNumber],
        local: &mut Local<Task<'s>>,
    ) {
        let parent = self.may_keep_open().then_some(dir);
        let lacks_some =
            self.scan.lacks_sparse_directories && here.directory.sums().sparse_directories > 0;
        let excluded: BTreeSet<_> = excluded_subdirs.iter().copied().collect();
        // The last subdirectory pushed is the first walked.
        for sub in here.directory.subdirs().rev() {
            let focus = self.focus_in(here);
            if focus.is_some_and(|focus| !focus.has(sub.number))
                || lacks_some && self.is_absent_sparse_directory(sub.number)
            {
                continue;
            }
            let mut position = here.below(&sub);
            position.is_whole |= focus.is_some_and(|focus| focus.has_whole(sub.number));
            local.push(Task::Dir {
                position,
                parent: parent.cloned(),
                ignoring: ignoring.below(ignoring.is_excluded || excluded.contains(&sub.number)),
            });
        }
    }

    /// Whether the directory `number` is a single entry of a sparse index, left out of the working tree.
    fn is_absent_sparse_directory(&self, number: DirNumber) -> bool {
        let directory = self.scan.tracked_files.directory(number);
        let only = directory.file(0).filter(|_| directory.sums().entries == 1);
        only.is_some_and(|only| only.is_collapsed() && only.is_left_out())
    }

    /// Notes that a directory with tracked files cannot be listed, if the system's own search for other files comes there.
    pub(super) fn note_given_up(
        &self,
        path: &BStr,
        reason: Errno,
        is_excluded: bool,
        worker: &mut Worker,
    ) {
        if !is_excluded || self.scan.ignored != IgnoredMode::No {
            self.note_unlisted(path, reason, worker);
        }
    }

    /// Notes that a directory cannot be listed, if untracked files are asked for.
    pub(super) fn note_unlisted(&self, path: &BStr, reason: Errno, worker: &mut Worker) {
        if self.scan.untracked != UntrackedMode::No {
            worker.findings.unlisted.push(Unseen::of(path, reason));
        }
    }
}
