//! The walk over the directories that hold tracked files.

use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bstr::{BStr, BString, ByteSlice};
use parking_lot::Mutex;
use rustix::fs::{CWD, Mode, OFlags};
use vigil_linux::dir::{EntryKind, Listing, open_dir_at};
use vigil_linux::stat::{Stat, lstat_path, stat_at, stat_fd, stat_path};
use vigil_linux::{Errno, errno};
use vigil_model::timestamp::Timestamp;

use super::cache::{DirMemory, Listed, Others};
use super::entries::{Comparisons, Place, check, is_gitlink_on_any_side, name_of};
use super::icase::FoldedNames;
use super::open::{CName, OpenDir, PATH_LEN_MAX, open_below, open_for_search};
use super::pool::{Local, Pool, open_dirs_max};
use super::tree::{DirId, ROOT};
use super::untracked::{Found, UntrackedDir};
use super::{Findings, Observed, Scan, ScanError};
use crate::git::ignore::IgnoreRules;
use crate::stamp::{Stamp, now};
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
    hidden: Vec<BString>,
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
            if self
                .scan
                .filter
                .is_some_and(|filter| !filter.matches(path, entry.mode.is_gitlink()))
            {
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
                let is_asked_for = self
                    .scan
                    .filter
                    .is_none_or(|filter| filter.matches(path, entry.mode.is_gitlink()));
                if self.scan.tracked && is_asked_for && (is_expected || entry.flags.stage() > 0) {
                    match observed {
                        Ok(observed) => self.found_tracked(number, observed, findings),
                        Err(error) => findings.messages.push(unknown(path, error)),
                    }
                }
            }
            pending.extend_from_slice(self.scan.tree.subdirs(id));
        }
    }

    fn push_subdirs<'s>(
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

    /// Finds what stands beside the tracked files of directory `id`, from memory if that still holds, and sends
    /// the walk into its subdirectories.
    #[allow(
        clippy::too_many_arguments,
        reason = "the state of one step of the walk"
    )]
    fn look_at_others<'s>(
        &'s self,
        id: DirId,
        dir: &Arc<OpenDir<'s>>,
        rules_above: &Arc<IgnoreRules>,
        is_excluded: bool,
        memory: Option<&mut DirMemory>,
        worker: &mut Worker,
        local: &mut Local<Task<'s>>,
    ) -> Arc<IgnoreRules> {
        let Ok(stat) = stat_fd(dir.fd()) else {
            return rules_above.clone();
        };
        if let Some(listed) = memory.as_deref().and_then(|memory| memory.listed.as_ref())
            && Arc::ptr_eq(&listed.rules_above, rules_above)
            && listed.is_excluded == is_excluded
            && listed.stamp == Stamp::from(&stat)
            && self.holds(listed.others(), dir.fd())
        {
            self.push_subdirs(
                id,
                dir,
                &listed.rules,
                is_excluded,
                &listed.others().excluded_subdirs,
                local,
            );
            self.report_others(listed.others(), worker);
            return listed.rules.clone();
        }
        let mut listing = std::mem::take(&mut worker.listing);
        let path = self.scan.tree.path(self.scan.index, id);
        if let Err(error) = listing.read(dir.fd()) {
            self.warn_unreadable(path, error, worker);
        }
        let (rules, gitignore) = self.rules_of(
            id,
            dir.fd(),
            path,
            &listing,
            rules_above,
            is_excluded,
            worker,
        );
        let mut found = Found::new(memory.is_some());
        let mut excluded_subdirs = Vec::new();
        self.judge_listing(
            id,
            dir,
            &listing,
            &rules,
            is_excluded,
            &mut found,
            &mut excluded_subdirs,
            local,
        );
        worker.listing = listing;
        self.push_subdirs(id, dir, &rules, is_excluded, &excluded_subdirs, local);
        worker.findings.warnings.append(&mut found.warnings);
        worker.hidden.append(&mut found.hidden);
        let gitignore_holds = gitignore.is_none_or(|stamp| stamp.is_some());
        let others = Others {
            untracked: found.untracked,
            ignored: found.ignored,
            excluded_subdirs,
            witnesses: found.witnesses,
            gitignore: gitignore.flatten(),
        };
        self.report_others(&others, worker);
        if let Some(memory) = memory {
            memory.listed = Stamp::trusted(&stat, self.started_at)
                .filter(|_| found.can_be_remembered && gitignore_holds)
                .map(|stamp| Listed::new(stamp, rules_above, is_excluded, &rules, others));
        }
        rules
    }

    /// Whether all that remembered findings rest on is still as it was.
    fn holds(&self, others: &Others, dir: BorrowedFd<'_>) -> bool {
        let gitignore_holds = others.gitignore.is_none_or(|stamp| {
            stat_at(dir, c".gitignore").is_ok_and(|stat| Stamp::from(&stat) == stamp)
        });
        gitignore_holds
            && others.witnesses.iter().all(|witness| {
                rustix::fs::statat(
                    dir,
                    witness.path.as_bytes(),
                    rustix::fs::AtFlags::SYMLINK_NOFOLLOW,
                )
                .is_ok_and(|stat| Stamp::from(&Stat::from(stat)) == witness.stamp)
            })
    }

    fn report_others(&self, others: &Others, worker: &mut Worker) {
        self.count_untracked(others.untracked.len());
        worker
            .findings
            .untracked
            .extend_from_slice(&others.untracked);
        worker.findings.ignored.extend_from_slice(&others.ignored);
    }

    /// Judges each entry of the listing of directory `id` that is not a tracked file.
    #[allow(
        clippy::too_many_arguments,
        reason = "the state of one step of the walk"
    )]
    fn judge_listing<'s>(
        &'s self,
        id: DirId,
        dir: &Arc<OpenDir<'s>>,
        listing: &Listing,
        rules: &Arc<IgnoreRules>,
        is_excluded: bool,
        found: &mut Found,
        excluded_subdirs: &mut Vec<DirId>,
        local: &mut Local<Task<'s>>,
    ) {
        let index = self.scan.index;
        let tree = self.scan.tree;
        let name_start = tree.file_name_start(id);
        let mut files = tree.files(id).iter().peekable();
        let mut subdirs = tree.subdirs(id).iter().peekable();
        let mut path = BString::from(tree.path(index, id));
        if !path.is_empty() {
            path.push(b'/');
        }
        for entry in listing.entries() {
            let name = entry.name.to_bytes();
            let tracked = loop {
                match files
                    .peek()
                    .and_then(|&&number| index.entries().get(number as usize))
                {
                    Some(file) => match name_of(index.path(file), name_start).cmp(name) {
                        std::cmp::Ordering::Less => files.next(),
                        std::cmp::Ordering::Equal => break Some(file),
                        std::cmp::Ordering::Greater => break None,
                    },
                    None => break None,
                };
            };
            let is_dir = entry.kind == EntryKind::Dir;
            if let Some(file) = tracked
                && (!is_dir || is_gitlink_on_any_side(index, file))
            {
                let has_name = |sub: &&DirId| tree.name(index, **sub).as_bytes() == name;
                if is_dir && file.flags.stage() > 0 && subdirs.clone().any(|sub| has_name(&sub)) {
                    found.hide(vigil_model::path::join(index.path(file), BStr::new("")));
                }
                continue;
            }
            let subdir = loop {
                match subdirs.peek() {
                    Some(&&sub) => match tree.name(index, sub).as_bytes().cmp(name) {
                        std::cmp::Ordering::Less => subdirs.next(),
                        std::cmp::Ordering::Equal => break Some(sub),
                        std::cmp::Ordering::Greater => break None,
                    },
                    None => break None,
                };
            };
            path.truncate(name_start);
            path.extend_from_slice(name);
            match subdir {
                Some(sub) if is_dir => {
                    if !is_excluded && rules.is_ignored(path.as_bstr(), true) {
                        excluded_subdirs.push(sub);
                    }
                }
                _ => self.judge(
                    entry.kind,
                    dir,
                    &mut path,
                    rules,
                    is_excluded,
                    tracked.is_some(),
                    found,
                    local,
                ),
            }
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

    fn warn_unreadable(&self, path: &BStr, error: Errno, worker: &mut Worker) {
        if self.scan.untracked != UntrackedMode::No {
            worker.findings.warnings.push(Self::unreadable(path, error));
        }
    }
}

/// What git says of a tracked path of which the system says neither what it is nor that it is gone.
pub(super) fn unknown(path: &BStr, error: Errno) -> BString {
    bstr::concat([path.as_bytes(), b": ", errno::text(error).as_bytes()]).into()
}
