//! The answer to a prompt: what gitstatusd answers.

use std::os::unix::ffi::OsStrExt;

use bstr::{BString, ByteSlice};
use gix_hash::ObjectId;

use super::changes::Unstaged;
use super::findings::ScanScope;
use super::prompt_memory::LastAnswer;
use super::unstaged::unstaged;
use super::*;
use crate::prompt::{Counts, Prompt, PromptRequest, RemoteBranch};
use vigil_git::operation::Operation;
use vigil_git::repository::RefFormat;
use vigil_history::branch::{self as branches, RemoteBranch as Remote};
use vigil_model::change::ChangeKind;
use vigil_scan::Focus;
use vigil_stamp::Observation;

impl Session {
    /// Answers a prompt.
    ///
    /// # Errors
    /// The repository cannot be read, or is damaged.
    pub fn prompt(
        &mut self,
        request: &PromptRequest,
        unchanged: Option<UnchangedProof>,
    ) -> Result<Prompt, SessionError> {
        let mut answer = match self.unchanged_answer(request, unchanged) {
            Some(answer) => self.answer_again(answer),
            None => self.answer_prompt(request),
        };
        if self.doubt_after_links_in_submodules() {
            answer = self.answer_prompt(request);
        }
        let answer = match self.drop_damaged_state() {
            true => self.answer_prompt(request),
            false => answer,
        };
        self.free_rereadable();
        answer
    }

    /// Takes the last answer to `request`, if nothing but the working tree can have changed since.
    fn unchanged_answer(
        &mut self,
        request: &PromptRequest,
        unchanged: Option<UnchangedProof>,
    ) -> Option<LastAnswer> {
        let answer = self.prompt.answer.take()?;
        (unchanged.is_some() && answer.request == *request && self.holds_index(|_| true))
            .then_some(answer)
    }

    /// Gives the same answer as before, except for the working tree.
    fn answer_again(&mut self, answer: LastAnswer) -> Result<Prompt, SessionError> {
        if self.repository.git_dir.parent() != self.repository.work_tree.as_deref() {
            self.top()?;
        }
        let mut prompt = answer.prompt.clone();
        self.count_working_tree(&answer.of_work_tree, &mut prompt.counts)?;
        self.prompt.answer = Some(answer);
        self.drop_messages();
        Ok(prompt)
    }

    fn answer_prompt(&mut self, request: &PromptRequest) -> Result<Prompt, SessionError> {
        let top = self.top()?.as_os_str().as_bytes();
        let mut prompt = Prompt {
            work_tree: top.into(),
            ..Prompt::default()
        };
        let unread_before = self.refs.unread_count();
        self.refresh_history()?;
        let head = self.refs.head()?;
        prompt.commit = head.commit();
        prompt.action = self.action()?;
        let mut of_work_tree = None;
        if !request.skip_index {
            let (counts, question) = self.counts(request, &head)?;
            prompt.counts = counts;
            of_work_tree = Some(question);
        }
        let mut references = vec![BString::from("logs/refs/stash")];
        let mut are_counted = true;
        if let Head::Branch { name, id } = &head {
            prompt.branch = name.strip_prefix(b"refs/heads/").unwrap_or_default().into();
            let upstream = branches::tracked_branch(&self.repository, &self.refs, name.as_bstr())?;
            let push = branches::push_remote(&self.repository, &self.refs, name.as_bstr())?;
            references.push(name.clone());
            let remotes = [&upstream, &push].into_iter().flatten();
            references.extend(remotes.map(|remote| remote.reference.clone()));
            prompt.upstream = self.describe(upstream, *id, &mut are_counted)?;
            prompt.push = self.describe(push, *id, &mut are_counted)?;
        }
        prompt.stashes = self.refs.stash_count()?;
        if let Some(id) = prompt.commit {
            let watch = self.repository_watch.as_mut();
            let stayed = watch.is_some_and(RepositoryWatch::tags_stayed);
            prompt.tag = self
                .tags
                .tag_of(&self.refs, &self.objects, &id, stayed)?
                .unwrap_or_default();
            let (_, encoding, summary) = match self.prompt.commit.take() {
                Some(known) if known.0 == id => known,
                _ => {
                    let commit = self.objects.commit(&id)?;
                    (
                        id,
                        commit.encoding.clone().unwrap_or_default(),
                        commit.summary(),
                    )
                }
            };
            prompt.commit_encoding = encoding.clone();
            prompt.commit_summary = summary.clone();
            self.prompt.commit = Some((id, encoding, summary));
        }
        // An operation in progress has files of its own, and so have tags that lead nowhere and commits that are not here.
        let is_by_folders = self.prompt.idle_git_dir.is_some()
            && self.tags.is_settled()
            && are_counted
            && self.refs.unread_count() == unread_before;
        if let Some(of_work_tree) = of_work_tree {
            let watch = self.repository_watch.as_mut();
            if watch.is_some_and(|watch| watch.answered(is_by_folders, references)) {
                self.prompt.answer = Some(LastAnswer {
                    request: *request,
                    of_work_tree,
                    prompt: prompt.clone(),
                });
            }
            self.count_working_tree(&of_work_tree, &mut prompt.counts)?;
        }
        self.drop_messages();
        Ok(prompt)
    }

    /// Forgets what was read of objects if their replacements changed (git-replace(1)).
    pub(super) fn refresh_history(&mut self) -> Result<(), SessionError> {
        if self.objects.refresh(&self.repository, &self.refs)? {
            self.prompt.commit = None;
            self.tags = TagIndex::default();
            if let Some(state) = &mut self.index {
                state.staged = None;
            }
        }
        Ok(())
    }

    /// Describes how `remote` differs from `ours`. Clears `are_counted` if a commit is not here.
    fn describe(
        &self,
        remote: Option<Remote>,
        ours: Option<ObjectId>,
        are_counted: &mut bool,
    ) -> Result<Option<RemoteBranch>, SessionError> {
        let Some(remote) = remote else {
            return Ok(None);
        };
        let counted = match ours {
            Some(ours) => branches::ahead_behind(&self.objects, &ours, &remote.id)?,
            None => Some((0, 0)),
        };
        *are_counted &= counted.is_some();
        let (ahead, behind) = counted.unwrap_or_default();
        Ok(Some(RemoteBranch {
            branch: remote.branch,
            remote: remote.remote,
            url: remote.url,
            ahead,
            behind,
        }))
    }

    /// Returns the operation in progress, in gitstatusd's words.
    fn action(&mut self) -> Result<BString, SessionError> {
        let git_dir = self.repository.git_dir.as_path();
        if let Some(idle) = self.prompt.idle_git_dir
            && idle.is_current(git_dir).unwrap_or(false)
        {
            return Ok(BString::default());
        }
        let seen = Observation::of(git_dir).ok();
        let operation = Operation::detect(&self.repository, &self.refs)?;
        // With reftables, references are not files in this folder.
        let are_here = self.repository.ref_format == RefFormat::Files
            && !self.repository.keeps_references_elsewhere();
        let is_idle =
            operation == Operation::default() && are_here && !Operation::may_come(&self.repository);
        self.prompt.idle_git_dir = seen.filter(|_| is_idle);
        Ok(operation.action())
    }

    /// Counts what does not need the working tree, and returns what remains to be asked about that.
    fn counts(
        &mut self,
        request: &PromptRequest,
        head: &Head,
    ) -> Result<(Counts, PromptRequest), SessionError> {
        let is_off =
            |key| Ok::<_, SessionError>(self.repository.config.boolean(key)? == Some(false));
        let mut request = *request;
        if !request.ignore_status_show_untracked_files
            && self.settings.untracked == UntrackedMode::No
            || !request.ignore_bash_show_untracked_files && is_off("bash.showUntrackedFiles")?
        {
            request.untracked_max = 0;
        }
        if !request.ignore_bash_show_dirty_state && is_off("bash.showDirtyState")? {
            request.staged_max = 0;
            request.unstaged_max = 0;
            request.conflicted_max = 0;
        }
        self.refresh_index()?;
        let mut counts = Counts::default();
        let Some(state) = self.index.as_ref() else {
            return Ok((counts, request));
        };
        let sums = state.tracked.sums();
        counts.index_size = sums.entries as usize;
        if request.staged_max > 0 || request.conflicted_max > 0 {
            counts.skip_worktree = sums.skip_worktree as usize;
            counts.assume_unchanged = sums.assume_unchanged as usize;
            counts.conflicted = (sums.conflicted as usize).min(request.conflicted_max);
            let max = Some(request.staged_max).filter(|max| *max < usize::MAX);
            let diff = self.staged(head, max, &Pathspec::default())?;
            let mut staged: Vec<_> = diff.changes.iter().collect();
            // git may leave an entry several times in a sparse index.
            staged.dedup_by_key(|change| &change.path);
            let of = |kind| staged.iter().filter(|change| change.kind == kind).count();
            counts.staged = staged.len().min(request.staged_max);
            counts.staged_new = of(ChangeKind::Added).min(counts.staged);
            counts.staged_deleted = of(ChangeKind::Deleted).min(counts.staged);
        }
        if counts.index_size > request.index_size_max {
            request.unstaged_max = 0;
            request.untracked_max = 0;
        }
        Ok((counts, request))
    }

    /// Counts changed and untracked paths. The paths found last time are looked at first: if there are still
    /// enough of them, the rest of the working tree is not searched.
    fn count_working_tree(
        &mut self,
        request: &PromptRequest,
        counts: &mut Counts,
    ) -> Result<(), SessionError> {
        let mut enough = Enough {
            unstaged: request.unstaged_max,
            untracked: request.untracked_max,
        };
        if let Some(scope) = self.part_of_last_time(enough) {
            let found = self.look(request, &scope)?;
            if found.unstaged.len() >= enough.unstaged {
                found.count_unstaged(request, counts);
                enough.unstaged = 0;
            }
            if found.untracked.len() >= enough.untracked {
                found.count_untracked(request, counts);
                enough.untracked = 0;
            }
        }
        if enough.unstaged == 0 && enough.untracked == 0 {
            return Ok(());
        }
        let scope = ScanScope {
            focus: None,
            stop_after_tracked: enough.unstaged,
            stop_after_untracked: enough.untracked,
            ..ScanScope::ALL
        };
        let found = self.look(request, &scope)?;
        if enough.unstaged > 0 {
            found.count_unstaged(request, counts);
            self.remember_unstaged(&found, enough.unstaged);
        }
        if enough.untracked > 0 {
            found.count_untracked(request, counts);
            self.prompt.untracked = if enough.untracked < usize::MAX {
                found.untracked.into_iter().take(enough.untracked).collect()
            } else {
                Vec::new()
            };
        }
        Ok(())
    }

    /// Returns the part of the working tree in which enough changed or untracked paths were found last time.
    fn part_of_last_time(&self, enough: Enough) -> Option<ScanScope> {
        if self.watched.is_some() {
            // With a watch, either everything is known or everything is looked at.
            return None;
        }
        let state = self.index.as_ref()?;
        let of = |paths: &[BString], enough| {
            let is_enough = enough > 0 && paths.len() >= enough;
            if is_enough { enough } else { 0 }
        };
        let memory = &self.prompt;
        let stop_after_tracked = of(&memory.unstaged, enough.unstaged);
        let stop_after_untracked = of(&memory.untracked, enough.untracked);
        let tracked = memory.unstaged.get(..stop_after_tracked)?;
        let untracked = memory.untracked.get(..stop_after_untracked)?;
        if tracked.is_empty() && untracked.is_empty() {
            return None;
        }
        Some(ScanScope {
            focus: Some(Focus::new(&state.tracked, tracked, untracked)),
            stop_after_tracked,
            stop_after_untracked,
            ..ScanScope::ALL
        })
    }

    fn look(
        &mut self,
        request: &PromptRequest,
        scope: &ScanScope,
    ) -> Result<PromptFindings, SessionError> {
        let question = StatusRequest {
            untracked: match (request.untracked_max, request.each_untracked_file) {
                (0, _) => UntrackedMode::No,
                (_, true) => UntrackedMode::All,
                (_, false) => UntrackedMode::Normal,
            },
            threads_max: request.threads_max,
            ..StatusRequest::default()
        };
        let findings = self.scan_part(&question, &Pathspec::default(), scope)?;
        self.check_attributes()?;
        let mut unstaged = match &self.index {
            Some(state) => unstaged(&self.submodules(), &question, &state.tracked, &findings)?,
            None => Vec::new(),
        };
        unstaged.dedup_by(|later, earlier| later.entry.path == earlier.entry.path);
        Ok(PromptFindings {
            unstaged,
            untracked: findings.untracked,
        })
    }

    fn remember_unstaged(&mut self, found: &PromptFindings, enough: usize) {
        self.prompt.unstaged.clear();
        if enough == usize::MAX {
            return;
        }
        let paths = found
            .unstaged
            .iter()
            .map(|change| change.entry.path.clone());
        self.prompt.unstaged.extend(paths.take(enough));
    }
}

/// How many paths of each kind need to be found; 0 for a kind that is not asked for.
#[derive(Clone, Copy)]
struct Enough {
    unstaged: usize,
    untracked: usize,
}

/// What was found in a part of the working tree.
struct PromptFindings {
    unstaged: Vec<Unstaged>,
    untracked: Vec<BString>,
}

impl PromptFindings {
    fn count_unstaged(&self, request: &PromptRequest, counts: &mut Counts) {
        let deleted = self
            .unstaged
            .iter()
            .filter(|change| change.kind == ChangeKind::Deleted)
            .count();
        counts.unstaged = self.unstaged.len().min(request.unstaged_max);
        counts.unstaged_deleted = deleted.min(counts.unstaged);
    }

    fn count_untracked(&self, request: &PromptRequest, counts: &mut Counts) {
        counts.untracked = self.untracked.len().min(request.untracked_max);
    }
}

#[cfg(test)]
mod tests;
