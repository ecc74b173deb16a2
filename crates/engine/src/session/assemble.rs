//! The whole answer: HEAD against index, index against working tree, and the branch, in one list.

use std::sync::Arc;
use std::time::Instant;

use bstr::{BStr, BString, ByteVec};
use gix_hash::ObjectId;
use vigil_model::index::{Entry, Index};
use vigil_model::mode::FileMode;

use super::submodules::{SubmoduleRules, state};
use super::surroundings::{Host, PathQuestion, RenameBlobs};
use super::*;
use crate::git::staged::{StagedChange, StagedDiff};
use crate::scan::{Focus, Observed, PathFilter};
use crate::status::{
    BranchStatus, Change, ChangeKind, IgnoreSubmodules, RenameSource, SubmoduleState,
    TrackedChange, UnmergedChange, UnmergedSide,
};

/// An index entry as it differs from the working tree.
pub(super) struct Unstaged {
    pub(super) number: usize,
    pub(super) kind: ChangeKind,
    pub(super) mode: FileMode,
    submodule: Option<SubmoduleState>,
    /// Where it came from in the index, if it was renamed or copied.
    pub(super) origin: Option<Origin>,
}

/// The file in the index that one in the working tree was renamed or copied from.
pub(super) struct Origin {
    pub(super) mode: FileMode,
    pub(super) id: ObjectId,
    pub(super) source: RenameSource,
}

/// How much of the working tree is looked at.
pub(super) struct Part {
    /// Where; `None` for everywhere.
    pub(super) focus: Option<Focus>,
    /// How many changed tracked files are enough; with 0 none is looked at.
    pub(super) tracked_enough: usize,
    /// How many untracked paths are enough; with 0 none is looked for.
    pub(super) untracked_enough: usize,
}

impl Part {
    const ALL: Self = Self {
        focus: None,
        tracked_enough: usize::MAX,
        untracked_enough: usize::MAX,
    };
}

impl Session {
    /// Answers `git status`.
    pub fn status(&mut self, request: &StatusRequest) -> Result<Status, SessionError> {
        let mut status = Status::default();
        let pathspec = self.parse_pathspecs(&request.pathspecs)?;
        if pathspec.common_prefix() == "/" && request.untracked != UntrackedMode::No {
            // git sets out from the root of the file system, and notices.
            let text = "oops in prep_exclude".to_owned();
            return Err(repository::Error::Refused(text).into());
        }
        self.refresh_index()?;
        let head = self.refs.head()?;
        let diff = self.staged(&head, None)?;
        let search_start = Instant::now();
        let findings = self.scan(request, &pathspec, &mut status.warnings)?;
        let searched_in = search_start.elapsed();
        let Some(loaded) = self.index.as_ref().map(|state| state.loaded.clone()) else {
            return Ok(status);
        };
        let index = &loaded.index;
        let question = PathQuestion::new(&pathspec, &self.attributes);
        let is_asked_for = |path: &BStr, mode: FileMode| question.matches(path, mode.is_gitlink());
        let staged = self.staged_for(request, &diff, head_id(&head).is_some(), is_asked_for)?;
        let unstaged = self.unstaged(request, index, &findings)?;
        let (unstaged, searches_renames) =
            self.rename_unstaged(request, index, &findings, unstaged)?;
        status.changes = merge(index, staged, unstaged);
        add_unmerged(
            index,
            &findings,
            &mut status.changes,
            is_asked_for,
            |ours, worktree, path| match ours {
                Some(ours) => self.submodule_in_conflict(request, index, ours, worktree, path),
                // Where git looks for renames, it gives a repository without a side of its own an id.
                None => Ok(worktree.is_gitlink().then_some(SubmoduleState {
                    new_commits: searches_renames,
                    ..SubmoduleState::default()
                })),
            },
        )?;
        status
            .changes
            .sort_by(|(left, _), (right, _)| left.cmp(right));
        // A damaged index may hold a path twice.
        status
            .changes
            .dedup_by(|(later, _), (earlier, _)| later == earlier);
        status.untracked = findings.untracked;
        status.ignored = findings.ignored;
        status.warnings.extend(findings.warnings);
        for text in &mut status.warnings {
            text.insert_str(0, "warning: ");
        }
        let notices = loaded.notices.iter().map(|text| text.as_str().into());
        status
            .warnings
            .splice(..0, notices.chain(findings.messages));
        status.warnings.extend(self.messages.take());
        if request.branch {
            status.branch = Some(self.branch_status(request)?);
        }
        if request.stash {
            status.stash_count = Some(self.refs.stash_count()?);
        }
        if request.long {
            let mut long = self.long_status(request, &head, &mut status.warnings)?;
            long.searched_in = searched_in;
            status.long = Some(long);
        }
        Ok(status)
    }

    fn parse_pathspecs(&self, specs: &[BString]) -> Result<Pathspec, SessionError> {
        if specs.is_empty() {
            return Ok(Pathspec::default());
        }
        let settings = pathspec::Settings::from_environment(&self.repository.environment)?;
        let prefix = self.repository.prefix.as_bstr();
        Ok(pathspec::parse(
            specs,
            prefix,
            self.repository.work_tree.as_deref(),
            settings,
        )?)
    }

    fn branch_status(&self, request: &StatusRequest) -> Result<BranchStatus, SessionError> {
        Ok(branch::branch_status(
            &self.repository,
            &self.refs,
            &self.objects,
            request.ahead_behind,
        )?)
    }

    /// HEAD against the index, from memory if neither moved. With `max`, at least so many changes, if there are.
    pub(super) fn staged(
        &mut self,
        head: &Head,
        max: Option<usize>,
    ) -> Result<Arc<StagedDiff>, SessionError> {
        let head_id = head_id(head);
        if let Some(known) = self.index.as_ref().and_then(|state| state.staged.as_ref())
            && known.head == head_id
            && (known.max.is_none() || known.max == max)
        {
            return Ok(known.diff.clone());
        }
        let head_tree = self.head_tree(head)?;
        let Some(state) = self.index.as_mut() else {
            return Ok(Arc::default());
        };
        let diff = staged::diff(
            head_tree.as_deref(),
            &state.loaded.index,
            &self.objects,
            max,
        )?;
        let diff = Arc::new(diff);
        state.staged = Some(StagedMemory {
            head: head_id,
            diff: diff.clone(),
            max,
        });
        Ok(diff)
    }

    /// Compares the working tree with the index.
    pub(super) fn scan(
        &mut self,
        request: &StatusRequest,
        pathspec: &Pathspec,
        warnings: &mut Vec<BString>,
    ) -> Result<Findings, SessionError> {
        self.scan_part(request, pathspec, warnings, &Part::ALL)
    }

    /// [`Self::scan`] of a part.
    pub(super) fn scan_part(
        &mut self,
        request: &StatusRequest,
        pathspec: &Pathspec,
        warnings: &mut Vec<BString>,
        part: &Part,
    ) -> Result<Findings, SessionError> {
        let Some(top) = self.repository.work_tree.clone() else {
            return Ok(Findings::default());
        };
        self.refresh_attributes()?;
        let ignore_rules = self.excludes.rules(warnings);
        let question = Question {
            untracked: request.untracked,
            ignored: request.ignored,
        };
        let Some(state) = self.index.as_mut() else {
            return Ok(Findings::default());
        };
        if self.is_kept
            && state
                .memory
                .as_ref()
                .is_none_or(|(known, _)| *known != question)
        {
            state.memory = Some((question, ScanMemory::new(state.tree.len())));
        }
        let filter = PathQuestion::new(pathspec, &self.attributes);
        let host = Host {
            repository: &self.repository,
            objects: &self.object_pool,
            converter: &self.converter,
        };
        let findings = Scan {
            work_tree: &top,
            index: &state.loaded.index,
            tree: &state.tree,
            index_written_at: state.loaded.written_at(),
            stat_rules: self.settings.stat_rules,
            ignore_case: self.settings.ignore_case,
            looks_at_present_skipped_files: self.settings.sparse_checkout,
            surroundings: &host,
            ignore_rules,
            filter: (!pathspec.is_empty()).then_some(&filter),
            focus: part.focus.as_ref(),
            tracked: part.tracked_enough > 0,
            untracked: request.untracked,
            ignored: request.ignored,
            tracked_enough: part.tracked_enough,
            untracked_enough: part.untracked_enough,
            threads_max: request.threads_max.or(self.settings.threads_max),
            memory: state
                .memory
                .as_ref()
                .filter(|_| pathspec.is_empty())
                .map(|(_, memory)| memory),
        }
        .run()?;
        Ok(findings)
    }

    /// The staged changes that are asked for, with renames.
    fn staged_for(
        &self,
        request: &StatusRequest,
        diff: &StagedDiff,
        has_head: bool,
        is_asked_for: impl Fn(&BStr, FileMode) -> bool,
    ) -> Result<Vec<StagedChange>, SessionError> {
        // On an unborn branch all that is in the index is listed.
        let hides_submodules = has_head && request.ignore_submodules == Some(IgnoreSubmodules::All);
        let mut changes: Vec<StagedChange> = diff
            .changes
            .iter()
            .filter(|change| {
                let mode = if change.index_mode == FileMode::NONE {
                    change.head_mode
                } else {
                    change.index_mode
                };
                let is_hidden = hides_submodules
                    && [change.head_mode, change.index_mode]
                        .iter()
                        .all(|mode| mode.is_gitlink() || *mode == FileMode::NONE);
                !is_hidden && is_asked_for(change.path.as_bstr(), mode)
            })
            .cloned()
            .collect();
        if let Some(rule) = request.renames {
            let blobs = RenameBlobs {
                objects: &self.object_pool,
                attributes: &self.attributes,
                files: None,
            };
            changes = renames::detect(changes, &diff.unmerged, &rule, &blobs, threads())?;
        }
        Ok(changes)
    }

    /// What the scan found, with submodules asked.
    pub(super) fn unstaged(
        &self,
        request: &StatusRequest,
        index: &Index,
        findings: &Findings,
    ) -> Result<Vec<Unstaged>, SessionError> {
        let mut all = Vec::with_capacity(findings.tracked.len());
        let mut rules: Option<SubmoduleRules> = None;
        for &(number, observed) in &findings.tracked {
            let number = number as usize;
            let Some(entry) = index.entries().get(number) else {
                continue;
            };
            if entry.flags.stage() > 0 {
                continue;
            }
            let path = index.path(entry);
            let mode = match observed {
                Observed::Missing => FileMode::NONE,
                Observed::Present(mode) => mode,
                Observed::Submodule => FileMode::GITLINK,
            };
            // Only an intent to add: what is there is new, whatever is recorded.
            let is_new = entry.flags.is_intent_to_add() && observed != Observed::Missing;
            let mut submodule = None;
            if (if is_new { mode } else { entry.mode }).is_gitlink() {
                let rules = match &mut rules {
                    Some(rules) => rules,
                    none => none.insert(self.submodule_rules(request, index)?),
                };
                let ignored = rules.ignored(path)?;
                if ignored.all {
                    continue;
                }
                if is_new {
                    submodule = Some(SubmoduleState::default());
                } else if observed == Observed::Submodule {
                    let found = state(
                        &self.repository,
                        path,
                        &entry.id,
                        ignored,
                        request.threads_max,
                        self.stderr,
                    )?;
                    if found.is_none() {
                        continue;
                    }
                    submodule = found;
                }
            }
            let kind = match observed {
                Observed::Missing => ChangeKind::Deleted,
                _ if is_new => ChangeKind::Added,
                _ if entry.mode.same_type(mode) => ChangeKind::Modified,
                _ => ChangeKind::TypeChanged,
            };
            if mode.is_gitlink() && submodule.is_none() {
                // A repository in place of a file has other commits than the file, as git sees it.
                let new_commits = kind == ChangeKind::TypeChanged;
                submodule = Some(SubmoduleState {
                    new_commits,
                    ..SubmoduleState::default()
                });
            }
            all.push(Unstaged {
                number,
                kind,
                mode,
                submodule,
                origin: None,
            });
        }
        Ok(all)
    }

    fn submodule_rules(
        &self,
        request: &StatusRequest,
        index: &Index,
    ) -> Result<SubmoduleRules, SessionError> {
        SubmoduleRules::new(
            &self.repository,
            index,
            &self.objects,
            request,
            self.settings.ignore_submodules,
        )
    }

    /// What of a path in conflict is a submodule, by stage 2 and what is in the working tree.
    fn submodule_in_conflict(
        &self,
        request: &StatusRequest,
        index: &Index,
        ours: &Entry,
        worktree_mode: FileMode,
        path: &BStr,
    ) -> Result<Option<SubmoduleState>, SessionError> {
        let is_in_worktree = worktree_mode.is_gitlink();
        let unchanged = SubmoduleState::default();
        if !ours.mode.is_gitlink() {
            // A repository in place of a file has other commits than the file, as git sees it.
            return Ok(is_in_worktree.then_some(SubmoduleState {
                new_commits: true,
                ..unchanged
            }));
        }
        let ignored = self.submodule_rules(request, index)?.ignored(path)?;
        if !is_in_worktree {
            return Ok((!ignored.all).then_some(unchanged));
        }
        let state = state(
            &self.repository,
            path,
            &ours.id,
            ignored,
            request.threads_max,
            self.stderr,
        )?;
        Ok(Some(state.unwrap_or_default()))
    }
}

/// One list of both kinds of changes to merged paths; `staged` and `unstaged` are in byte order of paths.
fn merge(
    index: &Index,
    staged: Vec<StagedChange>,
    unstaged: Vec<Unstaged>,
) -> Vec<(BString, Change)> {
    let null = ObjectId::null(index.hash_kind());
    let mut all = Vec::with_capacity(staged.len().saturating_add(unstaged.len()));
    let mut unstaged = unstaged.into_iter().peekable();
    let of = |change: &Unstaged| index.entries().get(change.number);
    let only_unstaged = |change: Unstaged| {
        let entry = of(&change)?;
        // Only an intent to add is no place in the index, unless the file is gone again.
        let is_new = change.kind == ChangeKind::Added;
        let (mode, id) = match &change.origin {
            Some(origin) => (origin.mode, origin.id),
            None if is_new => (FileMode::NONE, null),
            None => (entry.mode, entry.id),
        };
        let tracked = TrackedChange {
            staged: None,
            unstaged: Some(change.kind),
            head_mode: mode,
            index_mode: mode,
            worktree_mode: change.mode,
            head_id: id,
            index_id: id,
            staged_source: None,
            unstaged_source: change.origin.map(|origin| origin.source),
            submodule: submodule_of(&[mode, change.mode], change.submodule),
        };
        Some((index.path(entry).to_owned(), Change::Tracked(tracked)))
    };
    for change in staged {
        while let Some(other) =
            unstaged.next_if(|other| of(other).is_some_and(|entry| index.path(entry) < change.path))
        {
            all.extend(only_unstaged(other));
        }
        let same = unstaged
            .next_if(|other| of(other).is_some_and(|entry| index.path(entry) == change.path));
        let mut tracked = TrackedChange {
            staged: Some(change.kind),
            unstaged: None,
            head_mode: change.head_mode,
            index_mode: change.index_mode,
            worktree_mode: change.index_mode,
            head_id: change.head_id,
            index_id: change.index_id,
            staged_source: change.source,
            unstaged_source: None,
            submodule: None,
        };
        let mut submodule = None;
        if let Some(same) = same {
            tracked.unstaged = Some(same.kind);
            tracked.worktree_mode = same.mode;
            tracked.unstaged_source = same.origin.map(|origin| origin.source);
            submodule = same.submodule;
        }
        let modes = [tracked.head_mode, tracked.index_mode, tracked.worktree_mode];
        tracked.submodule = submodule_of(&modes, submodule);
        all.push((change.path, Change::Tracked(tracked)));
    }
    all.extend(unstaged.filter_map(only_unstaged));
    all
}

/// A path is shown as a submodule if it is one on any side.
fn submodule_of(modes: &[FileMode], state: Option<SubmoduleState>) -> Option<SubmoduleState> {
    modes
        .iter()
        .any(|mode| mode.is_gitlink())
        .then(|| state.unwrap_or_default())
}

/// Adds the paths in conflict.
fn add_unmerged(
    index: &Index,
    findings: &Findings,
    changes: &mut Vec<(BString, Change)>,
    is_asked_for: impl Fn(&BStr, FileMode) -> bool,
    submodule: impl Fn(Option<&Entry>, FileMode, &BStr) -> Result<Option<SubmoduleState>, SessionError>,
) -> Result<(), SessionError> {
    let mut entries = index
        .entries()
        .iter()
        .enumerate()
        .filter(|(_, entry)| entry.flags.stage() > 0)
        .peekable();
    while let Some((number, first)) = entries.next() {
        let path = index.path(first);
        let mut stages = [None; 3];
        let mut set = |entry: &Entry| {
            if let Some(side) = stages.get_mut(usize::from(entry.flags.stage()).saturating_sub(1)) {
                *side = Some((
                    UnmergedSide {
                        mode: entry.mode,
                        id: entry.id,
                    },
                    *entry,
                ));
            }
        };
        set(first);
        while let Some((_, entry)) = entries.next_if(|(_, entry)| index.path(entry) == path) {
            set(entry);
        }
        if !is_asked_for(path, first.mode) {
            continue;
        }
        let found = findings
            .tracked
            .binary_search_by_key(&number, |&(number, _)| number as usize);
        let observed = found
            .ok()
            .and_then(|at| findings.tracked.get(at))
            .map(|&(_, observed)| observed);
        let worktree_mode = match observed {
            Some(Observed::Present(mode)) => mode,
            Some(Observed::Submodule) => FileMode::GITLINK,
            _ => FileMode::NONE,
        };
        let ours = stages.get(1).copied().flatten();
        let submodule = submodule(ours.as_ref().map(|(_, entry)| entry), worktree_mode, path)?;
        let stages = stages.map(|side| side.map(|(side, _)| side));
        changes.push((
            path.to_owned(),
            Change::Unmerged(UnmergedChange {
                stages,
                worktree_mode,
                submodule,
            }),
        ));
    }
    Ok(())
}

pub(super) fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
