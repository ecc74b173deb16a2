//! What differs in the working tree, from a scan or from findings that are kept.

use std::path::Path;

use bstr::{BStr, ByteSlice};
use vigil_linux::stat::lstat_path;

use super::ignored_changes::IgnoredChanges;
use super::object_mode::ObjectModes;
use super::path_question::PathQuestion;
use super::selected::select_from_findings;
use super::watched::{self, FindingsKey, FreshOrKept, WatchedFindings};
use super::*;
use crate::git_system::GitSystem;
use vigil_model::tracked::ByPath;
use vigil_rules::ignore::IgnoreRules;
use vigil_scan::{Focus, Observed, PathFilter, ScanError, Watch};

/// Which part of the working tree to look at.
pub(super) struct ScanScope {
    /// The part to look at; `None` for everything.
    pub(super) focus: Option<Focus>,
    /// How many changed tracked files are enough; 0 to look at none.
    pub(super) stop_after_tracked: usize,
    /// How many untracked paths are enough; 0 to look for none.
    pub(super) stop_after_untracked: usize,
    /// Trust nothing that was seen or heard before, and keep nothing of what is found.
    pub(super) ignores_memory: bool,
}

impl ScanScope {
    /// The whole working tree.
    pub(super) const ALL: Self = Self {
        focus: None,
        stop_after_tracked: usize::MAX,
        stop_after_untracked: usize::MAX,
        ignores_memory: false,
    };
}

impl Session {
    /// Compares the working tree with the index.
    pub(super) fn scan(
        &mut self,
        request: &StatusRequest,
        pathspec: &Pathspec,
    ) -> Result<Findings, SessionError> {
        let mut findings = match self.known_for(request, pathspec)? {
            Some(findings) => findings,
            None => self.scan_part(request, pathspec, &ScanScope::ALL)?,
        };
        let has_others = !findings.untracked.is_empty() || !findings.ignored.is_empty();
        if has_others && has_link(self.top()?, pathspec.common_prefix()) {
            // What was found is above the link: git does not even start the search.
            findings.untracked.clear();
            findings.ignored.clear();
        }
        if request.as_diff_index {
            self.count_unseen_as_missing(&mut findings);
        }
        Ok(findings)
    }

    /// Makes tracked files that could not be looked at missing: `git diff-index` says nothing about them.
    fn count_unseen_as_missing(&self, findings: &mut Findings) {
        let unseen = std::mem::take(&mut findings.unknown);
        let Some(index) = self.index.as_ref().filter(|_| !unseen.is_empty()) else {
            return;
        };
        let mut entries = ByPath::new(&index.tracked);
        let found = unseen
            .iter()
            .filter_map(|unseen| entries.find_first(unseen.path.as_bstr()))
            .map(|entry| (entry.number, Observed::Missing));
        findings.tracked.extend(found);
        findings.tracked.sort_by_key(|&(number, _)| number);
    }

    /// Returns the part of the kept findings that `pathspec` selects. `None` if too little is known, or `pathspec` selects
    /// everything.
    pub(super) fn known_for(
        &mut self,
        request: &StatusRequest,
        pathspec: &Pathspec,
    ) -> Result<Option<Findings>, SessionError> {
        let number = vigil_scan::question::number(request.untracked, request.ignored);
        let is_known = |watched: &WatchedFindings| watched.questions().contains(&number);
        if pathspec.is_empty()
            || pathspec.uses_attributes()
            || !self.watched.as_ref().is_some_and(is_known)
        {
            return Ok(None);
        }
        let before = self.messages.take();
        let found = self.refresh_findings(request, &Pathspec::default(), &ScanScope::ALL)?;
        // Warnings about files that were not asked for must not be shown.
        let is_silent = self.messages.take().is_empty();
        self.has_dropped_messages |= !is_silent;
        self.messages.extend(&before);
        let (Some(all), Some(index), true) = (
            found.findings(self.watched.as_ref()),
            &self.index,
            is_silent,
        ) else {
            return Ok(None);
        };
        let question = self.question(pathspec, &index.tracked)?;
        let top = self.top()?;
        let files = (top, &index.tracked);
        Ok(select_from_findings(
            all,
            files,
            pathspec,
            &question,
            request.untracked,
            self.settings.looks_at_present_skipped_files(),
        ))
    }

    /// Does the same as [`Self::scan`] for a part of the working tree.
    pub(super) fn scan_part(
        &mut self,
        request: &StatusRequest,
        pathspec: &Pathspec,
        scope: &ScanScope,
    ) -> Result<Findings, SessionError> {
        let found = self.refresh_findings(request, pathspec, scope)?;
        let kept = || self.watched.as_ref()?.known().cloned();
        Ok(match found {
            FreshOrKept::Fresh(findings) => *findings,
            FreshOrKept::Kept => kept().unwrap_or_default(),
        })
    }

    /// Like [`Self::scan_part`], without copying findings that are kept.
    pub(super) fn refresh_findings(
        &mut self,
        request: &StatusRequest,
        pathspec: &Pathspec,
        scope: &ScanScope,
    ) -> Result<FreshOrKept, SessionError> {
        self.refresh_attributes();
        if self.is_kept
            && let Some(index) = &mut self.index
        {
            let directories = index.tracked.directory_number_end() as usize;
            index
                .memory
                .get_or_insert_with(|| ScanMemory::new(directories));
        }
        let ignore_rules = self.excludes.rules();
        let is_of_daemon = self.nested.is_some();
        if let Some(error) = self.excludes.beyond_means().filter(|_| is_of_daemon) {
            return Err(error.into());
        }
        let mut watched = self.watched.take();
        if let Some(watched) = &mut watched {
            watched.forget_if_here(|id| self.objects.is_here(id));
        }
        let found = match self.way_to_look(request, pathspec, scope, ignore_rules) {
            Some(scan) => scan.find(watched.as_mut()),
            None => Ok(FreshOrKept::default()),
        };
        let found = match &mut watched {
            Some(watched) if self.missed_rules.has_failed() => {
                found.map(|found| watched.keep_no_longer(found))
            }
            Some(watched) => {
                let absent = self.missed_rules.take_absent();
                found.map(|found| watched.note_lacked(found, absent))
            }
            None => found,
        };
        if let (Some(watched), Some(nested)) = (&mut watched, &self.nested)
            && watched.take_met_links()
        {
            nested.doubt();
            self.has_met_links = true;
        }
        self.watched = watched;
        found
    }

    /// Returns how to look at `scope`; `None` if there is no working tree.
    fn way_to_look<'s>(
        &'s self,
        request: &'s StatusRequest,
        pathspec: &'s Pathspec,
        scope: &'s ScanScope,
        ignore_rules: Arc<IgnoreRules>,
    ) -> Option<WorktreeScan<'s>> {
        let top = self.repository.work_tree.as_deref()?;
        let index = self.index.as_ref()?;
        let modes = ObjectModes::new(top, &self.repository, &index.tracked);
        Some(WorktreeScan {
            request,
            scope,
            system: GitSystem {
                repository: &self.repository,
                top,
                objects: &self.objects,
                converter: &self.converter,
                messages: &self.messages,
                missed: &self.missed_rules,
                ignore_rules,
                index_written_at: index.file.written_at(),
                stat_rules: self.settings.stat_rules,
                ignore_case: self.settings.ignore_case,
                looks_at_present_skipped_files: self.settings.looks_at_present_skipped_files(),
            },
            filter: (!pathspec.is_empty())
                .then(|| PathQuestion::new(pathspec, &self.attributes, modes)),
            index,
            attributes: &self.attributes,
            attribute_tree: self.attribute_tree(),
            threads_max: request.threads_max.or(self.settings.threads_max),
            timing: &self.timing,
            is_of_daemon: self.nested.is_some(),
        })
    }
}

/// How to look at a part of the working tree for one question.
struct WorktreeScan<'s> {
    request: &'s StatusRequest,
    scope: &'s ScanScope,
    system: GitSystem<'s>,
    /// Selects paths; `None` for all.
    filter: Option<PathQuestion<'s>>,
    index: &'s IndexState,
    attributes: &'s Attributes,
    attribute_tree: Result<Option<ObjectId>, NoTree>,
    threads_max: Option<usize>,
    timing: &'s Timing,
    is_of_daemon: bool,
}

impl WorktreeScan<'_> {
    /// Returns what is found. Only what changed is looked at if the rest is `watched`.
    fn find(&self, watched: Option<&mut WatchedFindings>) -> Result<FreshOrKept, SessionError> {
        let is_for_all = self.filter.is_none() && !self.scope.ignores_memory;
        let (Some(watched), Ok(attribute_tree), true) = (watched, &self.attribute_tree, is_for_all)
        else {
            let looks_at_tracked = self.scope.stop_after_tracked > 0;
            let focus = self.scope.focus.as_ref();
            return Ok(FreshOrKept::fresh(self.scan(
                focus,
                None,
                looks_at_tracked,
            )?));
        };
        let (request, system) = (self.request, &self.system);
        let key = FindingsKey {
            question: vigil_scan::question::number(request.untracked, request.ignored),
            index: self.index.serial,
            attribute_tree: *attribute_tree,
            rules: system.ignore_rules.digest(),
            top: watched::top_of(system.top)?,
        };
        let tracked = &self.index.tracked;
        let change_filter = IgnoredChanges {
            tracked,
            base: &system.ignore_rules,
            rules: DirectoryRules {
                top: Some(system.top),
                objects: system.objects,
                tracked: Some(tracked),
                looks_at_present_skipped_files: system.looks_at_present_skipped_files,
            },
        };
        let tells_apart = request.ignored == IgnoredMode::No && !system.ignore_case;
        let change_filter = tells_apart.then_some(&change_filter as &dyn watched::ChangeFilter);
        let scan_non_tracked = |watch: &dyn Watch| match request.untracked {
            UntrackedMode::No => Ok(Findings::default()),
            _ => self.scan(None, Some(watch), false),
        };
        Ok(watched.findings(
            key,
            change_filter,
            || self.attributes.outer_files(),
            tracked,
            |focus, watch| self.scan(focus, Some(watch), true),
            Some(&scan_non_tracked),
        )?)
    }

    /// Looks at what is in `focus`, or at everything; at tracked files only if `looks_at_tracked`.
    fn scan(
        &self,
        focus: Option<&Focus>,
        watch: Option<&dyn Watch>,
        looks_at_tracked: bool,
    ) -> Result<Findings, ScanError> {
        let (request, scope, system) = (self.request, self.scope, &self.system);
        let memory = self.index.memory.as_ref();
        let filter = self.filter.as_ref();
        let scan = Scan {
            work_tree: system.top,
            tracked_files: &self.index.tracked,
            ignore_case: system.ignore_case,
            looks_at_present_skipped_files: system.looks_at_present_skipped_files,
            lacks_sparse_directories: self.index.lacks_sparse_directories(),
            system,
            filter: filter.map(|filter| filter as &dyn PathFilter),
            focus,
            tracked: looks_at_tracked,
            untracked: request.untracked,
            ignored: request.ignored,
            // Findings that are kept must be complete.
            stop_after_tracked: watch.map_or(scope.stop_after_tracked, |_| usize::MAX),
            stop_after_untracked: watch.map_or(scope.stop_after_untracked, |_| usize::MAX),
            threads_max: self.threads_max,
            memory: memory.filter(|_| filter.is_none() && !scope.ignores_memory),
            watch,
            progress: request.progress.as_deref(),
            timing: request.long.then_some(self.timing),
        };
        let findings = scan.run()?;
        match ScanError::beyond_means(&findings).filter(|_| self.is_of_daemon) {
            Some(error) => Err(error),
            None => Ok(findings),
        }
    }
}

/// Whether `directory`, which ends in a slash, or a directory above it is a symbolic link.
fn has_link(top: &Path, directory: &BStr) -> bool {
    let is_link = |end: usize| {
        let path = top.join(directory.get(..end).unwrap_or_default().to_path_lossy());
        end > 0 && lstat_path(&path).is_ok_and(|stat| stat.is_symlink())
    };
    directory.find_iter(b"/").any(is_link)
}
