//! The full answer: what the comparison found, the branch, and what git says meanwhile, in one list.

use std::collections::HashSet;
use std::os::unix::ffi::OsStrExt;
use std::sync::atomic::{AtomicBool, Ordering};

use bstr::{BStr, BString, ByteSlice, ByteVec};
use vigil_linux::errno;
use vigil_model::config_value;
use vigil_model::mode::FileMode;
use vigil_model::raw_text::{raw_path, text_bytes};

use super::changes::{add_unmerged, merge};
use super::collapsed::Collapsed;
use super::compare::Comparison;
use super::conflicts::ConflictSearch;
use super::long::LongQuestion;
use super::patches::PatchQuestion;
use super::path_question::PathQuestion;
use super::renamed::RenameSearch;
use super::unstaged::unstaged;
use super::*;
use crate::git_system;
use crate::status::{Change, CutShort, LongStatus};
use vigil_git::advice::SPARSE_INDEX_IS_EXPANDED;
use vigil_git::operation::Operation;
use vigil_git::operation::under_way::{may_be_picking, rebased_onto, sequencer_complaint};
use vigil_git::staged::StagedChange;
use vigil_history::branch::BranchStatus;
use vigil_history::detached::{DetachedFrom, detached_from};
use vigil_history::revision::{Memory, Options, resolve_in_context};
use vigil_scan::{Observed, PathFilter};

/// How git works with a sparse index.
struct SparseIndex<'s> {
    collapsed: Option<Collapsed<'s>>,
    /// Whether the index has not been expanded so far.
    stays_sparse: bool,
}

impl<'s> SparseIndex<'s> {
    /// Returns the sparse index if it has not been expanded.
    fn unexpanded(&self) -> Option<&Collapsed<'s>> {
        self.collapsed.as_ref().filter(|_| self.stays_sparse)
    }
}

/// The steps from a comparison to its answer, each in git's order: what git says is shown in it, and its first error ends the
/// answer.
struct Assembly<'s> {
    session: &'s Session,
    request: &'s StatusRequest,
    pathspec: &'s Pathspec,
    /// Which paths `pathspec` selects.
    question: PathQuestion<'s>,
    index: &'s IndexState,
    comparison: &'s Comparison,
    /// Whether nothing changed in the repository's own folders since an answer for which git had nothing to say of references.
    is_head_known: bool,
}

impl Session {
    /// Answers `git status`.
    ///
    /// # Errors
    /// git would exit. The text is git's.
    pub fn status(&mut self, request: &StatusRequest) -> Result<Status, SessionError> {
        self.status_with(request, None)
    }

    /// Like [`Self::status`], with HEAD as it is known to be still. The index in memory must be known to be the right one, too.
    pub(super) fn status_with(
        &mut self,
        request: &StatusRequest,
        head: Option<&HeadByName>,
    ) -> Result<Status, SessionError> {
        let mut answer = self.answer(request, head);
        if self.doubt_after_links_in_submodules() {
            answer = self.answer(request, head);
        }
        match self.drop_damaged_state() {
            true => self.answer(request, None),
            false => answer,
        }
    }

    fn answer(
        &mut self,
        request: &StatusRequest,
        known_head: Option<&HeadByName>,
    ) -> Result<Status, SessionError> {
        let pathspec = self.parse_pathspecs(&request.pathspecs)?;
        if pathspec.common_prefix() == "/" && request.untracked != UntrackedMode::No {
            // git starts at the root of the file system, and fails.
            let text = "oops in prep_exclude".to_owned();
            return Err(repository::Error::Refused(text).into());
        }
        // git would fetch what is lacked, if it needs it still.
        if let Some(watched) = &mut self.watched {
            watched.forget_lacking();
        }
        let mut warnings = Vec::new();
        let (comparison, findings) =
            self.read_and_compare(request, &pathspec, known_head, &mut warnings)?;
        let Some(index) = &self.index else {
            return Ok(Status {
                warnings,
                ..Status::default()
            });
        };
        let assembly = Assembly {
            session: self,
            request,
            pathspec: &pathspec,
            question: self.question(&pathspec, &index.tracked)?,
            index,
            comparison: &comparison,
            is_head_known: known_head.is_some(),
        };
        assembly.status(findings, warnings)
    }
}

impl Assembly<'_> {
    /// Returns the answer, given what the scan found and the warnings so far.
    fn status(
        &self,
        mut findings: Findings,
        warnings: Vec<BString>,
    ) -> Result<Status, SessionError> {
        let mut notices = self.opening_notices();
        let mut sparse = self.sparse_index(&mut notices)?;
        let staged = self.staged(&mut sparse)?;
        self.question.check()?;
        let said_before_submodules = self.session.messages.len();
        let mut status = Status {
            changes: self.changes(staged, &findings)?,
            ..Status::default()
        };
        self.session.check_attributes()?;
        self.session.check_left_out()?;
        self.check_order_file(&status.changes)?;
        status.untracked = std::mem::take(&mut findings.untracked);
        status.ignored = std::mem::take(&mut findings.ignored);
        notices.extend(git_system::unknown(&findings.unknown, &status.changes));
        let differing = std::mem::take(&mut findings.tracked);
        notices.extend(self.warnings(warnings, findings)?);
        // What was read only once causes a message only once.
        let messages = self.messages_in_order(said_before_submodules);
        status.warns_once = !messages.is_empty();
        notices.extend(messages);
        if !self.request.as_diff_index {
            if !self.is_head_known {
                self.warn_of_namesakes(&mut notices)?;
            }
            notices.extend(sequencer_complaint(&self.session.repository));
        }
        let detached = self.detached_from(&mut notices)?;
        status.warnings = notices;
        if self.request.branch {
            let other = self.shown_as_branch(detached.as_ref())?;
            match self.branch_status(other.as_ref(), &mut status.warnings) {
                Ok(branch) => status.branch = Some(branch),
                Err(error @ branch::Error::Refs(_)) => return Err(error.into()),
                Err(error) => {
                    let head = self.comparison.head.own.clone();
                    return Ok(cut_short(head, error, status.warnings));
                }
            }
        }
        let session = self.session;
        if self.request.stash {
            status.stash_count = Some(session.refs.stash_count()?);
        }
        if self.request.action {
            status.action = Operation::detect(&session.repository, &session.refs)?.action();
        }
        if self.request.long {
            let mut long = self.long(&sparse, &differing, &mut status)?;
            long.detached = detached;
            status.long = Some(long);
        }
        Ok(status)
    }

    /// Returns how git works with a sparse index after it has looked at the working tree.
    fn sparse_index(&self, notices: &mut Vec<BString>) -> Result<SparseIndex<'_>, SessionError> {
        let (session, index) = (self.session, self.index);
        let is_written_sparse = index.written_sparse.is_some() && index.file.shared.is_none();
        let collapsed = Collapsed::of(&session.repository, &session.settings, index, notices)?;
        let stays_sparse = collapsed.as_ref().is_some_and(|collapsed| {
            collapsed.stays_sparse(self.request, |dir| self.is_searched(dir))
        });
        if is_written_sparse && !stays_sparse {
            notices.extend(SPARSE_INDEX_IS_EXPANDED.messages(&session.repository)?);
        }
        Ok(SparseIndex {
            collapsed,
            stays_sparse,
        })
    }

    /// Whether the path of a file with this mode is asked for.
    fn is_asked_for(&self, path: &BStr, mode: FileMode) -> bool {
        self.question.matches(path, mode.is_gitlink())
    }

    fn renames(&self) -> RenameSearch<'_> {
        let session = self.session;
        let staged = self.index.staged.as_ref();
        let staged = staged.filter(|known| Arc::ptr_eq(&known.diff, &self.comparison.staged));
        RenameSearch {
            repository: &session.repository,
            objects: &session.objects,
            attributes: &session.attributes,
            missed: &session.missed_rules,
            converter: &session.converter,
            known: staged
                .filter(|_| session.is_kept)
                .map(|known| &known.renames),
        }
    }

    /// Returns the staged changes, with renames. The search for these may expand a sparse index.
    fn staged(&self, sparse: &mut SparseIndex<'_>) -> Result<Vec<StagedChange>, SessionError> {
        let (session, comparison) = (self.session, self.comparison);
        let collapsed = sparse.collapsed.as_ref();
        let is_asked_for = |path: &BStr, mode: FileMode| {
            let directory = collapsed.and_then(|collapsed| collapsed.directory_above(path));
            // git matches a directory that is one entry of the index as one, and any other path by the mode of its first
            // entry, even if that is a conflict or only an intent to add.
            match directory {
                _ if self.pathspec.is_empty() => true,
                Some(directory) => self.question.matches(directory, true),
                None => {
                    let first = self.index.tracked.find_first(path);
                    self.is_asked_for(path, first.map_or(mode, |first| first.mode))
                }
            }
        };
        let expands = AtomicBool::new(false);
        let asks = |path: &BStr| {
            if collapsed.is_some_and(|collapsed| collapsed.expands_for_attributes(path)) {
                expands.store(true, Ordering::Relaxed);
            }
        };
        let (diff, has_commit) = (&comparison.staged, comparison.has_commit);
        let renames = self.renames();
        let staged = renames.staged(self.request, diff, has_commit, is_asked_for, asks)?;
        if sparse.stays_sparse && expands.into_inner() {
            let advice = SPARSE_INDEX_IS_EXPANDED.messages(&session.repository)?;
            session.messages.extend(&advice);
            sparse.stays_sparse = false;
        }
        Ok(staged)
    }

    /// Returns all changes of tracked files, in order: those that are `staged`, those that the scan found, and conflicts.
    fn changes(
        &self,
        staged: Vec<StagedChange>,
        findings: &Findings,
    ) -> Result<Vec<(BString, Change)>, SessionError> {
        let (request, tracked) = (self.request, &self.index.tracked);
        let has_commit = self.comparison.has_commit;
        let is_asked_for = |path: &BStr, mode: FileMode| self.is_asked_for(path, mode);
        let submodules = self.session.submodules();
        let unstaged = unstaged(&submodules, request, tracked, findings)?;
        let conflicts = ConflictSearch {
            submodules,
            stat_rules: &self.session.settings.stat_rules,
        };
        let mut conflicts = conflicts.find(request, tracked, findings, is_asked_for)?;
        let renames = self.renames();
        let (unstaged, searches_renames) =
            renames.unstaged(request, tracked, &mut conflicts, unstaged)?;
        let null = ObjectId::null(self.session.repository.hash);
        let mut changes = merge(null, staged, unstaged);
        add_unmerged(
            tracked,
            &conflicts,
            searches_renames,
            has_commit,
            &mut changes,
            is_asked_for,
        );
        changes.sort_by(|(left, _), (right, _)| left.cmp(right));
        merged_in_conflict::join(tracked, has_commit, &conflicts, &mut changes);
        Ok(changes)
    }

    /// Returns the warnings: those before the scan, that about the untracked cache, and those of the scan.
    fn warnings(
        &self,
        mut warnings: Vec<BString>,
        findings: Findings,
    ) -> Result<Vec<BString>, SessionError> {
        if !self.uses_untracked_cache()? {
            let text = "untracked cache is disabled on this system or location";
            warnings.push(text.into());
        }
        warnings.extend(git_system::warnings(&findings.unlisted, findings.warnings));
        for text in &mut warnings {
            text.insert_str(0, "warning: ");
        }
        Ok(warnings)
    }

    /// Returns what only the long format shows.
    fn long(
        &self,
        sparse: &SparseIndex<'_>,
        differing: &[(u32, Observed)],
        status: &mut Status,
    ) -> Result<LongStatus, SessionError> {
        let (session, comparison) = (self.session, self.comparison);
        let question = LongQuestion {
            repository: &session.repository,
            settings: &session.settings,
            refs: &session.refs,
            objects: &session.objects,
            index: self.index,
            watched: session.watched.as_ref(),
        };
        let mut long = question.status(
            self.request,
            &comparison.head.own,
            sparse.stays_sparse,
            &mut status.warnings,
        )?;
        long.searched_in = comparison.searched_in;
        let patches = PatchQuestion {
            submodules: session.submodules(),
            request: self.request,
            tracked: &self.index.tracked,
            changes: &status.changes,
            differing,
            sparse: sparse.unexpanded(),
        };
        let is_asked_for = |path: &BStr, mode: FileMode| self.is_asked_for(path, mode);
        long.patches = patches.rules(&comparison.staged, is_asked_for)?;
        Ok(long)
    }

    /// Returns what git says when it opens the index and, if HEAD has a commit, the objects.
    fn opening_notices(&self) -> Vec<BString> {
        let Comparison {
            of_promisors,
            head,
            has_commit,
            ..
        } = self.comparison;
        let of_index = self.index.file.notices.iter();
        let mut notices: Vec<BString> = of_index.map(|text| text_bytes(text)).collect();
        notices.extend(of_promisors.iter().map(|line| text_bytes(line)));
        if *has_commit {
            let objects = &self.session.objects;
            let messages = objects.opening_messages().into_iter();
            notices.extend(messages.map(|line| text_bytes(&line)));
            notices.extend(objects.commit_notices());
        }
        let lookups = if self.request.as_diff_index { 1 } else { 2 };
        notices.extend((0..lookups).flat_map(|_| head.messages.iter().cloned()));
        notices
    }

    /// Appends what git says if other references have the names of those that it looks up to tell what is picked or reverted.
    fn warn_of_namesakes(&self, notices: &mut Vec<BString>) -> Result<(), SessionError> {
        let session = self.session;
        let (repository, refs, objects) = (&session.repository, &session.refs, &session.objects);
        let mut names = vec![BStr::new("REVERT_HEAD")];
        if may_be_picking(repository) {
            names.insert(0, BStr::new("CHERRY_PICK_HEAD"));
        }
        for name in names {
            if refs.resolve(name)?.is_some() {
                let (options, memory) = (Options::default(), Memory::new());
                let found = resolve_in_context(name, &options, repository, refs, objects, &memory);
                notices.extend(found.messages);
            }
        }
        Ok(())
    }

    /// Returns where HEAD was detached, if it is. What git says meanwhile is appended to `notices`.
    fn detached_from(
        &self,
        notices: &mut Vec<BString>,
    ) -> Result<Option<DetachedFrom>, SessionError> {
        let (session, head) = (self.session, &self.comparison.head);
        let shows_place = self.request.long || self.request.upstream_by_place;
        let is_told = !self.request.as_diff_index && !self.is_head_known;
        let id = match head.own {
            Head::Detached(id) if shows_place || is_told => id,
            _ => return Ok(None),
        };
        let (repository, refs, objects) = (&session.repository, &session.refs, &session.objects);
        let detached = detached_from(&id, repository, refs, objects, notices)?;
        if detached.is_some() {
            // git looks HEAD up by its name once more, to tell whether it is still there.
            notices.extend_from_slice(&head.messages);
        }
        Ok(detached)
    }

    /// Returns the name under which git looks for an upstream of a detached HEAD, if the format shows that.
    fn shown_as_branch(
        &self,
        detached: Option<&DetachedFrom>,
    ) -> Result<Option<BString>, SessionError> {
        let is_detached = matches!(self.comparison.head.own, Head::Detached(_));
        if !is_detached || !self.request.upstream_by_place {
            return Ok(None);
        }
        let session = self.session;
        let onto = rebased_onto(&session.repository, &session.refs, &session.objects)?;
        let from = detached.map(|from| from.name.clone());
        Ok(Some(onto.unwrap_or(from).unwrap_or_default()))
    }

    /// Takes the messages so far. Those about what is in submodules come after the first `before_submodules` others.
    fn messages_in_order(&self, before_submodules: usize) -> Vec<BString> {
        let mut line_end_warnings = HashSet::new();
        let mut is_new = |text: &BString| {
            // git looks at each file once, so it warns once.
            !text.starts_with(b"warning: in the working copy of '")
                || line_end_warnings.insert(text.clone())
        };
        let mut messages = self.session.messages.take();
        let later = messages.split_off(before_submodules.min(messages.len()));
        messages.retain(&mut is_new);
        messages.extend(self.session.said_in_submodules.take());
        messages.extend(later.into_iter().filter(is_new));
        messages
    }

    /// Whether the search for untracked files meets anything in the directory `dir` that pathspecs do not rule out by the
    /// beginning of its path: git then looks in the index for the ignore rules there. If ignored paths are left out, it enters
    /// no ignored directory.
    fn is_searched(&self, dir: &BStr) -> bool {
        let (session, question) = (self.session, &self.question);
        let Ok(top) = session.top() else { return true };
        let is_ignored = self.comparison.rules.as_ref().is_some_and(|rules| {
            let rules = session.directory_rules().below(rules.clone(), dir);
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
    fn check_order_file(&self, changes: &[(BString, Change)]) -> Result<(), SessionError> {
        let has_head = self.comparison.has_commit;
        let Some(name) = &self.session.settings.order_file else {
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
            false => self.session.top()?.join(name),
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

    /// Whether git says nothing about the untracked cache. It warns if it would use the cache, but the cache was made in
    /// another place. True if there is none.
    fn uses_untracked_cache(&self) -> Result<bool, SessionError> {
        let (request, repository) = (self.request, &self.session.repository);
        let origin = &self.index.file.untracked_cache_origin;
        let (Some(origin), Some(top)) = (origin, &repository.work_tree) else {
            return Ok(true);
        };
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

    /// Returns where HEAD points, and what it is compared with. Appends git's messages about settings to `messages`. If HEAD is
    /// detached, `other` is the name of a branch whose upstream is shown.
    fn branch_status(
        &self,
        other: Option<&BString>,
        messages: &mut Vec<BString>,
    ) -> Result<BranchStatus, branch::Error> {
        let (session, request) = (self.session, self.request);
        let HeadByName {
            own: head, found, ..
        } = &self.comparison.head;
        let repository = &session.repository;
        if let Head::Branch { name, id } = head {
            // The long format compares with nothing else.
            let is_compared = id.is_some() && name.starts_with(b"refs/heads/");
            if !name.is_empty() && !head.is_lost() && (is_compared || !request.long) {
                let name = branch::short_name(name.as_bstr());
                let config = &repository.config;
                branch::check_settings(config, name, messages)?;
                if let Some(entry) = config.entry("status.compareBranches")
                    && request.long
                {
                    entry.required()?;
                }
                if request.long {
                    // It also compares with the branch that a push would update, on whatever remote.
                    branch::check_push_remote_of(config, name, messages)?;
                }
            }
        }
        let (refs, objects, counts) = (&session.refs, &session.objects, request.ahead_behind);
        let mut status = branch::branch_status(repository, refs, objects, counts, messages)?;
        status.head = found.clone();
        if let Some(name) = other {
            let name = name.as_bstr();
            branch::check_settings(&repository.config, name, messages)?;
            status.upstream =
                branch::upstream_of(name, repository, refs, objects, counts, messages)?;
        }
        Ok(status)
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
