//! What differs in the working tree, from a scan or from findings that are kept.

use std::path::Path;

use bstr::{BStr, ByteSlice};
use vigil_linux::stat::lstat_path;

use super::ignored_changes::IgnoredChanges;
use super::object_mode::ObjectModes;
use super::path_question::PathQuestion;
use super::selected::select_from_findings;
use super::watched::{self, FindingsKey, WatchedFindings};
use super::*;
use crate::git_system::GitSystem;
use vigil_scan::{Focus, ScanError, Watch};

/// Which part of the working tree to look at.
pub(super) struct Part {
    /// The part to look at; `None` for everything.
    pub(super) focus: Option<Focus>,
    /// How many changed tracked files are enough; 0 to look at none.
    pub(super) stop_after_tracked: usize,
    /// How many untracked paths are enough; 0 to look for none.
    pub(super) stop_after_untracked: usize,
    /// Trust nothing that was seen or heard before, and keep nothing of what is found.
    pub(super) ignores_memory: bool,
}

impl Part {
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
            None => self.scan_part(request, pathspec, &Part::ALL)?,
        };
        let has_others = !findings.untracked.is_empty() || !findings.ignored.is_empty();
        if has_others && has_link(self.top()?, pathspec.common_prefix()) {
            // What was found is above the link: git does not even start the search.
            findings.untracked.clear();
            findings.ignored.clear();
        }
        Ok(findings)
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
        let found = self.refresh_findings(request, &Pathspec::default(), &Part::ALL)?;
        // Warnings about files that were not asked for must not be shown.
        let is_silent = self.messages.take().is_empty();
        self.has_dropped_messages |= !is_silent;
        self.messages.extend(&before);
        let kept = || self.watched.as_ref()?.known();
        let (Some(all), Some(state)) = (found.as_ref().or_else(kept), &self.index) else {
            return Ok(None);
        };
        if !is_silent {
            return Ok(None);
        }
        let question = self.question(pathspec, &state.tracked)?;
        let top = self.top()?;
        let looks_for_untracked = request.untracked != UntrackedMode::No;
        let files = (top, &state.tracked);
        Ok(select_from_findings(
            all,
            files,
            pathspec,
            &question,
            looks_for_untracked,
        ))
    }

    /// Does the same as [`Self::scan`] for a part of the working tree.
    pub(super) fn scan_part(
        &mut self,
        request: &StatusRequest,
        pathspec: &Pathspec,
        part: &Part,
    ) -> Result<Findings, SessionError> {
        let found = self.refresh_findings(request, pathspec, part)?;
        let kept = || self.watched.as_ref()?.known().cloned();
        Ok(found.or_else(kept).unwrap_or_default())
    }

    /// Like [`Self::scan_part`], without copying findings that are kept: `None` if they are those of
    /// [`WatchedFindings::known`].
    pub(super) fn refresh_findings(
        &mut self,
        request: &StatusRequest,
        pathspec: &Pathspec,
        part: &Part,
    ) -> Result<Option<Findings>, SessionError> {
        let Some(top) = self.repository.work_tree.clone() else {
            return Ok(Some(Findings::default()));
        };
        self.refresh_attributes();
        let ignore_rules = self.excludes.rules();
        let attribute_tree = self.attribute_tree();
        let can_be_watched = self.watched.is_some() && attribute_tree.is_ok();
        let Some(state) = self.index.as_mut() else {
            return Ok(Some(Findings::default()));
        };
        if self.is_kept && state.memory.is_none() {
            state.memory = Some(ScanMemory::new(
                state.tracked.directory_number_end() as usize
            ));
        }
        let modes = ObjectModes::new(&top, &self.repository, &state.tracked);
        let filter = PathQuestion::new(pathspec, &self.attributes, modes);
        let system = GitSystem {
            repository: &self.repository,
            top: &top,
            objects: &self.objects,
            converter: &self.converter,
            messages: &self.messages,
            ignore_rules,
            index_written_at: state.file.written_at(),
            stat_rules: self.settings.stat_rules,
            ignore_case: self.settings.ignore_case,
            looks_at_present_skipped_files: self.settings.looks_at_present_skipped_files(),
        };
        let is_watched = !part.ignores_memory && pathspec.is_empty() && can_be_watched;
        let lacks_sparse_directories = state.lacks_sparse_directories();
        let state = &*state;
        let is_of_daemon = self.watched.is_some();
        let scan = |focus: Option<&Focus>, watch: Option<&dyn Watch>, tracked: bool| {
            let scan = Scan {
                work_tree: &top,
                tracked_files: &state.tracked,
                ignore_case: self.settings.ignore_case,
                looks_at_present_skipped_files: self.settings.looks_at_present_skipped_files(),
                lacks_sparse_directories,
                system: &system,
                filter: (!pathspec.is_empty()).then_some(&filter),
                focus,
                tracked,
                untracked: request.untracked,
                ignored: request.ignored,
                // Findings that are kept must be complete.
                stop_after_tracked: watch.map_or(part.stop_after_tracked, |_| usize::MAX),
                stop_after_untracked: watch.map_or(part.stop_after_untracked, |_| usize::MAX),
                threads_max: request.threads_max.or(self.settings.threads_max),
                memory: state
                    .memory
                    .as_ref()
                    .filter(|_| pathspec.is_empty() && !part.ignores_memory),
                watch,
                progress: request.progress.as_deref(),
                timing: request.long.then_some(&self.timing),
            };
            let findings = scan.run()?;
            match findings.beyond_means().filter(|_| is_of_daemon) {
                Some(unseen) => Err(ScanError::from(unseen)),
                None => Ok(findings),
            }
        };
        let Some(watched) = self.watched.as_mut().filter(|_| is_watched) else {
            let looks_at_tracked = part.stop_after_tracked > 0;
            return Ok(Some(scan(part.focus.as_ref(), None, looks_at_tracked)?));
        };
        let key = FindingsKey {
            question: vigil_scan::question::number(request.untracked, request.ignored),
            index: state.serial,
            attribute_tree: attribute_tree.unwrap_or_default(),
            rules: system.ignore_rules.digest(),
            top: watched::top_of(&top)?,
        };
        let change_filter = IgnoredChanges {
            tracked: &state.tracked,
            base: &system.ignore_rules,
            rules: DirectoryRules {
                top: Some(&top),
                objects: &self.objects,
                tracked: Some(&state.tracked),
                looks_at_present_skipped_files: system.looks_at_present_skipped_files,
            },
        };
        let tells_apart = request.ignored == IgnoredMode::No && !self.settings.ignore_case;
        let change_filter = tells_apart.then_some(&change_filter as &dyn watched::ChangeFilter);
        let attributes = || self.attributes.outer_files();
        let scan_non_tracked = |watch: &dyn Watch| match request.untracked {
            UntrackedMode::No => Ok(Findings::default()),
            _ => scan(None, Some(watch), false),
        };
        Ok(watched.findings(
            key,
            change_filter,
            attributes,
            &state.tracked,
            |focus, watch| scan(focus, Some(watch), true),
            Some(&scan_non_tracked),
        )?)
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
