//! The full answer: HEAD against index, index against working tree, and the branch, in one list.

use std::collections::HashSet;
use std::os::unix::ffi::OsStrExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use bstr::{BStr, BString, ByteSlice, ByteVec};
use vigil_linux::errno;
use vigil_model::config_value;
use vigil_model::mode::FileMode;
use vigil_model::raw_text::{bytes_of, raw_path};

use super::changes::{add_unmerged, merge};
use super::collapsed::Collapsed;
use super::conflicts::ConflictSearch;
use super::head_changes::HeadComparison;
use super::ignoring::RulesIn;
use super::long::LongQuestion;
use super::object_mode::ObjectModes;
use super::patches::PatchQuestion;
use super::path_question::PathQuestion;
use super::renamed::RenameSearch;
use super::submodules::Submodules;
use super::unstaged::unstaged;
use super::*;
use crate::git_system;
use crate::status::{Change, CutShort};
use vigil_git::advice::Advice;
use vigil_git::operation::Operation;
use vigil_git::promisor;
use vigil_git::staged::StagedDiff;
use vigil_history::branch::BranchStatus;
use vigil_model::tracked::ByNumber;
use vigil_scan::{PathFilter, Timing};

const SPARSE_INDEX_IS_EXPANDED: Advice = Advice {
    name: "sparseIndexExpanded",
    lines: &[
        "The sparse index is expanding to a full index, a slow operation.",
        "Your working directory likely has contents that are outside of",
        "your sparse-checkout patterns. Use 'git sparse-checkout list' to",
        "see your sparse-checkout definition and compare it to your working",
        "directory contents. Cleaning up any merge conflicts or staged",
        "changes before running 'git sparse-checkout clean' or 'git",
        "sparse-checkout reapply' may assist in this cleanup.",
    ],
    is_explained: true,
};

impl Session {
    /// Answers `git status`.
    ///
    /// # Errors
    /// git would exit. The text is git's.
    pub fn status(&mut self, request: &StatusRequest) -> Result<Status, SessionError> {
        let answer = self.answer(request);
        match self.drop_damaged_state() {
            true => self.answer(request),
            false => answer,
        }
    }

    fn answer(&mut self, request: &StatusRequest) -> Result<Status, SessionError> {
        let mut status = Status::default();
        let pathspec = self.parse_pathspecs(&request.pathspecs)?;
        if pathspec.common_prefix() == "/" && request.untracked != UntrackedMode::No {
            // git starts at the root of the file system, and fails.
            let text = "oops in prep_exclude".to_owned();
            return Err(repository::Error::Refused(text).into());
        }
        self.refresh_index()?;
        if let Some(state) = &self.index {
            let tracked = &state.tracked;
            self.question(&pathspec, tracked)?.check_tracked(tracked)?;
        }
        // git looks for promisor remotes before it compares anything.
        let of_promisors = promisor::Remotes::check(&self.repository.config)?;
        let head = self.refs.head()?;
        let has_commit = head_id(&head).is_some();
        if has_commit {
            // git looks HEAD up by name, and that could also be a branch's.
            self.repository.config.boolean("core.warnambiguousrefs")?;
        }
        let diff = self.staged(&head, None, &pathspec)?;
        // git reads the exclude files both when it compares HEAD and when it looks for untracked files.
        let readings =
            usize::from(has_commit) + usize::from(request.untracked != UntrackedMode::No);
        self.excludes.check(readings, &mut status.warnings)?;
        self.timing = Timing::default();
        let search_start = Instant::now();
        let findings = self.scan(request, &pathspec)?;
        // git looks at tracked files separately, before, so only the rest counts.
        let share = self.timing.share_of_non_tracked();
        let searched_in = search_start.elapsed().mul_f64(share);
        let rules = self.rules_beside_sparse_directories(request);
        let Some(state) = &self.index else {
            return Ok(status);
        };
        let is_written_sparse = state.written_sparse.is_some() && state.file.shared.is_none();
        let mut notices = self.opening_notices(&state.file, of_promisors, has_commit);
        let sparse = Collapsed::of(&self.repository, &self.settings, state, &mut notices)?;
        let tracked = &state.tracked;
        let question = self.question(&pathspec, tracked)?;
        let stays_sparse = sparse.as_ref().is_some_and(|sparse| {
            sparse.stays_sparse(request, |dir| {
                self.is_searched(dir, &question, rules.as_ref())
            })
        });
        if is_written_sparse && !stays_sparse {
            notices.extend(SPARSE_INDEX_IS_EXPANDED.messages(&self.repository)?);
        }
        let is_asked_for = |path: &BStr, mode: FileMode| question.matches(path, mode.is_gitlink());
        let is_asked_for_staged = |path: &BStr, mode: FileMode| {
            let directory = sparse
                .as_ref()
                .and_then(|sparse| sparse.directory_above(path));
            // git matches a directory that is one entry of the index as one, and any other path by the mode of its first
            // entry, even if that is a conflict or only an intent to add.
            match directory {
                _ if pathspec.is_empty() => true,
                Some(directory) => question.matches(directory, true),
                None => {
                    let first = tracked.find_first(path);
                    is_asked_for(path, first.map_or(mode, |first| first.mode))
                }
            }
        };
        let expands = AtomicBool::new(false);
        let renames = RenameSearch {
            repository: &self.repository,
            objects: &self.objects,
            attributes: &self.attributes,
            missed: &self.missed_attributes,
            converter: &self.converter,
        };
        let staged = renames.staged(request, &diff, has_commit, is_asked_for_staged, |path| {
            if let Some(sparse) = &sparse
                && sparse.expands_for_attributes(path)
            {
                expands.store(true, Ordering::Relaxed);
            }
        })?;
        let is_expanded_late = stays_sparse && expands.into_inner();
        if is_expanded_late {
            let advice = SPARSE_INDEX_IS_EXPANDED.messages(&self.repository)?;
            self.messages.extend(&advice);
        }
        let stays_sparse = stays_sparse && !is_expanded_late;
        question.check()?;
        let submodules = self.submodules();
        let said_before_submodules = self.messages.len();
        let unstaged = unstaged(&submodules, request, tracked, &findings)?;
        let conflicts = ConflictSearch {
            submodules,
            stat_rules: &self.settings.stat_rules,
        };
        let mut conflicts = conflicts.find(request, tracked, &findings, is_asked_for)?;
        let (unstaged, searches_renames) =
            renames.unstaged(request, tracked, &mut conflicts, unstaged)?;
        status.changes = merge(ObjectId::null(self.repository.hash), staged, unstaged);
        add_unmerged(
            tracked,
            &conflicts,
            searches_renames,
            has_commit,
            &mut status.changes,
            is_asked_for,
        );
        status
            .changes
            .sort_by(|(left, _), (right, _)| left.cmp(right));
        merged_in_conflict::join(tracked, has_commit, &conflicts, &mut status.changes);
        self.check_attributes()?;
        self.check_order_file(has_commit, &status.changes)?;
        if !self.uses_untracked_cache(request, &state.file)? {
            let text = "untracked cache is disabled on this system or location";
            status.warnings.push(text.into());
        }
        status.untracked = findings.untracked;
        status.ignored = findings.ignored;
        status
            .warnings
            .extend(git_system::warnings(&findings.unlisted, findings.warnings));
        for text in &mut status.warnings {
            text.insert_str(0, "warning: ");
        }
        notices.extend(git_system::unknown(&findings.unknown));
        status.warnings.splice(..0, notices);
        status
            .warnings
            .extend(self.messages_in_order(said_before_submodules));
        if request.branch {
            match self.branch_status(request, &head, &mut status.warnings) {
                Ok(branch) => status.branch = Some(branch),
                Err(error @ branch::Error::Refs(_)) => return Err(error.into()),
                Err(error) => return Ok(cut_short(head, error, status.warnings)),
            }
        }
        if request.stash {
            status.stash_count = Some(self.refs.stash_count()?);
        }
        if request.action {
            status.action = Operation::detect(&self.repository, &self.refs)?.action();
        }
        if request.long {
            let question = LongQuestion {
                repository: &self.repository,
                settings: &self.settings,
                refs: &self.refs,
                objects: &self.objects,
                index: state,
            };
            let mut long = question.status(request, &head, stays_sparse, &mut status.warnings)?;
            long.searched_in = searched_in;
            let patches = PatchQuestion {
                submodules,
                request,
                tracked,
                changes: &status.changes,
                sparse: sparse.as_ref().filter(|_| stays_sparse),
            };
            long.patches = patches.rules(&diff, is_asked_for)?;
            status.long = Some(long);
        }
        Ok(status)
    }

    /// Returns what git says when it opens the index and, if HEAD has a commit, the objects.
    fn opening_notices(
        &self,
        index: &IndexFile,
        of_promisors: Vec<String>,
        has_commit: bool,
    ) -> Vec<BString> {
        let mut notices: Vec<BString> = index.notices.iter().map(|text| bytes_of(text)).collect();
        notices.extend(of_promisors.into_iter().map(|line| bytes_of(&line)));
        if has_commit {
            let messages = self.objects.opening_messages().into_iter();
            notices.extend(messages.map(|line| bytes_of(&line)));
            notices.extend_from_slice(self.objects.history().notices());
        }
        notices
    }

    /// Takes the messages so far. Those about what is in submodules come after the first `before_submodules` others.
    fn messages_in_order(&self, before_submodules: usize) -> Vec<BString> {
        let mut line_end_warnings = HashSet::new();
        let mut is_new = |text: &BString| {
            // git looks at each file once, so it warns once.
            !text.starts_with(b"warning: in the working copy of '")
                || line_end_warnings.insert(text.clone())
        };
        let mut messages = self.messages.take();
        let later = messages.split_off(before_submodules.min(messages.len()));
        messages.retain(&mut is_new);
        messages.extend(self.said_in_submodules.take());
        messages.extend(later.into_iter().filter(is_new));
        messages
    }

    /// Returns the rules at the top, if the search for untracked files may reach a directory that is one entry of a sparse
    /// index and ignored paths are left out.
    fn rules_beside_sparse_directories(&mut self, request: &StatusRequest) -> Option<RulesIn> {
        let written = self.index.as_ref()?.written_sparse.as_ref();
        let is_asked = request.ignored == IgnoredMode::No
            && written.is_some_and(|written| !written.expanded.is_empty());
        is_asked.then(|| {
            let base = self.excludes.rules();
            self.directory_rules().at_top(&base)
        })
    }

    /// Whether the search for untracked files meets anything in the directory `dir` that pathspecs do not rule out by the
    /// beginning of its path: git then looks in the index for the ignore rules there. If `rules` are given, it enters no
    /// ignored directory.
    fn is_searched(
        &self,
        dir: &BStr,
        question: &PathQuestion<'_>,
        rules: Option<&RulesIn>,
    ) -> bool {
        let Ok(top) = self.top() else { return true };
        let is_ignored = rules.is_some_and(|rules| {
            let rules = self.directory_rules().below(rules.clone(), dir);
            rules.excluded.is_some()
        });
        if is_ignored || !question.may_match_below(dir) {
            return false;
        }
        let on_disk = top.join(std::ffi::OsStr::from_bytes(dir));
        let mut entries = std::fs::read_dir(on_disk).into_iter().flatten().flatten();
        entries.any(|entry| {
            let name = entry.file_name();
            let path = vigil_model::path::join(dir, BStr::new(name.as_bytes()));
            name != ".git" && question.may_match_below(path.as_bstr())
        })
    }

    /// Checks `diff.orderFile`: git reads it whenever anything changed, though the order has no effect here.
    fn check_order_file(
        &self,
        has_head: bool,
        changes: &[(BString, Change)],
    ) -> Result<(), SessionError> {
        let Some(name) = &self.settings.order_file else {
            return Ok(());
        };
        let is_compared = changes.iter().any(|(_, change)| match change {
            Change::Tracked(change) => {
                change.unstaged.is_some() || has_head && change.staged.is_some()
            }
            Change::Unmerged(_) => true,
        });
        let path = match name.as_os_str().is_empty() {
            true => name.clone(),
            false => self.top()?.join(name),
        };
        match vigil_stamp::file::read(&path) {
            Err(error) if is_compared => {
                let (name, reason) = (raw_path(name), errno::text_of(&error));
                let text = format!("failed to read orderfile '{name}': {reason}");
                Err(repository::Error::Refused(text).into())
            }
            _ => Ok(()),
        }
    }

    pub(super) fn parse_pathspecs(&self, specs: &[BString]) -> Result<Pathspec, SessionError> {
        if specs.is_empty() {
            return Ok(Pathspec::default());
        }
        let prefix = self.repository.prefix.as_bstr();
        let top = self.repository.work_tree.as_deref();
        let settings =
            pathspec::Settings::from_variables(|name| self.repository.environment.get(name));
        match settings {
            Ok(settings) => Ok(pathspec::parse(specs, prefix, top, settings)?),
            // git checks for empty pathspecs before it looks at the settings.
            Err(_) if specs.iter().any(|spec| spec.is_empty()) => {
                Err(pathspec::Error::Empty.into())
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Whether git says nothing about the untracked cache. It warns if it would use the cache, but the cache was made in
    /// another place. True if there is none.
    fn uses_untracked_cache(
        &self,
        request: &StatusRequest,
        file: &IndexFile,
    ) -> Result<bool, SessionError> {
        let (Some(origin), Some(top)) = (&file.untracked_cache_origin, &self.repository.work_tree)
        else {
            return Ok(true);
        };
        let repository = &self.repository;
        let is_asked = request.untracked != UntrackedMode::No
            && request.ignored == IgnoredMode::No
            && request.pathspecs.is_empty();
        let configured = repository.config.string("core.untrackedCache");
        let is_kept = configured
            .is_none_or(|value| config_value::boolean(Some(value.as_bstr())).is_none())
            && repository.config.boolean("feature.manyFiles")? != Some(true);
        let is_off = repository
            .environment
            .get("GIT_DISABLE_UNTRACKED_CACHE")
            .and_then(|value| config_value::boolean(Some(value)))
            == Some(true);
        let here = [b"Location ", top.as_os_str().as_bytes(), b", system Linux"].concat();
        Ok(!is_asked || !is_kept || is_off || *origin == here)
    }

    /// Returns the question which of the `tracked` and other paths `pathspec` selects.
    pub(super) fn question<'a>(
        &'a self,
        pathspec: &'a Pathspec,
        tracked: &'a Tracked,
    ) -> Result<PathQuestion<'a>, SessionError> {
        let modes = ObjectModes::new(self.top()?, &self.repository, tracked);
        Ok(PathQuestion::new(pathspec, &self.attributes, modes))
    }

    /// Whether the submodule at `path` is configured so that all its changes are ignored, which for some commands includes
    /// staged ones. The index must have been read; the submodule need not be in it.
    pub(crate) fn ignores_all_of_submodule(&self, path: &BStr) -> Result<bool, SessionError> {
        match &self.index {
            Some(state) => self.submodules().leaves_out(path, &state.tracked),
            None => Ok(false),
        }
    }

    pub(super) fn submodules(&self) -> Submodules<'_> {
        Submodules {
            repository: &self.repository,
            objects: &self.objects,
            messages: &self.messages,
            said_inside: &self.said_in_submodules,
            configured: self.settings.ignore_submodules,
            stderr: self.stderr,
            check: self.check_in_submodules,
        }
    }

    /// Compares HEAD with the index. With `max`, may stop after that many changes.
    pub(super) fn staged(
        &mut self,
        head: &Head,
        max: Option<usize>,
        pathspec: &Pathspec,
    ) -> Result<Arc<StagedDiff>, SessionError> {
        let comparison = HeadComparison {
            repository: &self.repository,
            settings: &self.settings,
            objects: &self.objects,
            attributes: &self.attributes,
            state: self.state.as_ref().filter(|_| !self.is_kept),
            session_started_at: self.session_started_at,
        };
        comparison.staged(self.index.as_mut(), head, max, pathspec)
    }

    /// Whether anything that HEAD has differs before `end` in the order of paths, when what is at `end` cannot be read.
    /// Differences in submodules do not count.
    pub(crate) fn differs_before(
        &mut self,
        end: &BStr,
        request: &StatusRequest,
    ) -> Result<bool, SessionError> {
        let head = self.refs.head()?;
        let everything = Pathspec::default();
        // The walk stops at the first change, and does not reach what lies behind it.
        if let Ok(diff) = self.staged(&head, Some(1), &everything) {
            return Ok(diff.changes.iter().any(|change| change.path < end));
        }
        let findings = self.scan(request, &everything)?;
        let Some(state) = &self.index else {
            return Ok(false);
        };
        let mut entries = ByNumber::new(&state.tracked);
        let mut found = findings
            .tracked
            .iter()
            .filter_map(|(number, _)| entries.get(*number));
        Ok(found.any(|entry| {
            entry.path < end && !entry.mode.is_gitlink() && !entry.flags.is_intent_to_add()
        }))
    }

    /// Returns where `head` points, and what it is compared with. Appends git's messages about settings to `messages`.
    fn branch_status(
        &self,
        request: &StatusRequest,
        head: &Head,
        messages: &mut Vec<BString>,
    ) -> Result<BranchStatus, branch::Error> {
        if let Head::Branch { name, id } = head {
            // The long format compares with nothing else.
            let is_compared = id.is_some() && name.starts_with(b"refs/heads/");
            if !name.is_empty() && !head.is_lost() && (is_compared || !request.long) {
                let name = branch::short_name(name.as_bstr());
                let config = &self.repository.config;
                branch::check_settings(config, name, messages)?;
                if let Some(entry) = config.entry("status.compareBranches")
                    && request.long
                {
                    entry.required()?;
                }
                if request.long {
                    // It also compares with the branch that a push would update, on whatever remote.
                    branch::check_credentials_in_url(config)?;
                }
            }
        }
        branch::branch_status(
            &self.repository,
            &self.refs,
            &self.objects,
            request.ahead_behind,
        )
    }
}

/// Returns an answer that stops at where HEAD points, because of `error`.
fn cut_short(head: Head, error: branch::Error, warnings: Vec<BString>) -> Status {
    let is_before_name = error.is_of_settings();
    let error = SessionError::from(error);
    Status {
        branch: Some(BranchStatus {
            head,
            upstream: None,
        }),
        warnings,
        cut_short: Some(CutShort {
            messages: error.messages(),
            label: error.label(),
            text: error.to_string(),
            is_before_name,
        }),
        ..Status::default()
    }
}
