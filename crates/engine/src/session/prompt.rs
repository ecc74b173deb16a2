//! The answer to a prompt: what gitstatusd answers.

use std::os::unix::ffi::OsStrExt;

use bstr::{BString, ByteSlice};
use gix_hash::ObjectId;
use vigil_model::index::Index;

use super::*;
use crate::git::branch::{self as branches, RemoteBranch as Remote};
use crate::git::operation::Operation;
use crate::prompt::{Counts, Prompt, PromptRequest, RemoteBranch};
use crate::status::ChangeKind;

/// What prompts remember beside what the session does.
#[derive(Default)]
pub(super) struct Memory {
    /// The commit of HEAD, with the encoding and summary of its message.
    commit: Option<(ObjectId, BString, BString)>,
}

impl Session {
    /// Answers a prompt.
    pub fn prompt(&mut self, request: &PromptRequest) -> Result<Prompt, SessionError> {
        let top = self.top()?.as_os_str().as_bytes();
        let mut prompt = Prompt {
            work_tree: top.into(),
            ..Prompt::default()
        };
        let head = self.refs.head()?;
        prompt.commit = head_id(&head);
        prompt.action = Operation::detect(&self.repository, &self.refs)?.action();
        if !request.skip_index {
            prompt.counts = self.counts(request, &head)?;
        }
        self.objects.refresh(&self.repository, &self.refs)?;
        if let Head::Branch { name, id } = &head {
            prompt.branch = name.strip_prefix(b"refs/heads/").unwrap_or_default().into();
            let upstream = branches::tracked_branch(&self.repository, &self.refs, name.as_bstr())?;
            prompt.upstream = self.describe(upstream, *id)?;
            let push = branches::push_remote(&self.repository, &self.refs, name.as_bstr())?;
            prompt.push = self.describe(push, *id)?;
        }
        prompt.stashes = self.refs.stash_count()?;
        if let Some(id) = prompt.commit {
            prompt.tag = self
                .tags
                .tag_of(&self.refs, &self.objects, &id)?
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
        // Nobody reads what git would say on the side.
        drop(self.messages.take());
        Ok(prompt)
    }

    fn describe(
        &self,
        remote: Option<Remote>,
        ours: Option<ObjectId>,
    ) -> Result<Option<RemoteBranch>, SessionError> {
        let Some(remote) = remote else {
            return Ok(None);
        };
        let (ahead, behind) = match ours {
            Some(ours) => branches::ahead_behind(&self.objects, &ours, &remote.id)?,
            None => (0, 0),
        };
        Ok(Some(RemoteBranch {
            branch: remote.branch,
            remote: remote.remote,
            url: remote.url,
            ahead,
            behind,
        }))
    }

    fn counts(&mut self, request: &PromptRequest, head: &Head) -> Result<Counts, SessionError> {
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
        let Some(state) = self.index.as_mut() else {
            return Ok(counts);
        };
        counts.index_size = state.loaded.index.entries().len();
        if request.staged_max > 0 || request.conflicted_max > 0 {
            let marks = *state
                .counted
                .get_or_insert_with(|| count_marks(&state.loaded.index));
            counts.skip_worktree = marks.skip_worktree;
            counts.assume_unchanged = marks.assume_unchanged;
            counts.conflicted = marks.conflicted.min(request.conflicted_max);
            let max = Some(request.staged_max).filter(|max| *max < usize::MAX);
            let diff = self.staged(head, max)?;
            let of = |kind| {
                diff.changes
                    .iter()
                    .filter(|change| change.kind == kind)
                    .count()
            };
            counts.staged = diff.changes.len().min(request.staged_max);
            counts.staged_new = of(ChangeKind::Added).min(counts.staged);
            counts.staged_deleted = of(ChangeKind::Deleted).min(counts.staged);
        }
        if counts.index_size > request.index_size_max {
            request.unstaged_max = 0;
            request.untracked_max = 0;
        }
        if request.unstaged_max > 0 || request.untracked_max > 0 {
            self.count_working_tree(&request, &mut counts)?;
        }
        Ok(counts)
    }

    fn count_working_tree(
        &mut self,
        request: &PromptRequest,
        counts: &mut Counts,
    ) -> Result<(), SessionError> {
        let untracked = match (request.untracked_max, request.each_untracked_file) {
            (0, _) => UntrackedMode::No,
            (_, true) => UntrackedMode::All,
            (_, false) => UntrackedMode::Normal,
        };
        let question = StatusRequest {
            untracked,
            threads_max: request.threads_max,
            ..StatusRequest::default()
        };
        let mut warnings = Vec::new();
        let wants_tracked = request.unstaged_max > 0;
        let findings = self.scan_until(
            &question,
            &Pathspec::default(),
            &mut warnings,
            wants_tracked,
            request.unstaged_max,
            request.untracked_max,
        )?;
        counts.untracked = findings.untracked.len().min(request.untracked_max);
        let Some(loaded) = self.index.as_ref().map(|state| state.loaded.clone()) else {
            return Ok(());
        };
        if wants_tracked {
            let unstaged = self.unstaged(&question, &loaded.index, &findings)?;
            counts.unstaged = unstaged.len().min(request.unstaged_max);
            let deleted = unstaged
                .iter()
                .filter(|change| change.kind == ChangeKind::Deleted)
                .count();
            counts.unstaged_deleted = deleted.min(counts.unstaged);
        }
        Ok(())
    }
}

fn count_marks(index: &Index) -> MarkCounts {
    let mut counts = MarkCounts::default();
    let mut previous_conflict = None;
    for entry in index.entries() {
        counts.skip_worktree = counts
            .skip_worktree
            .saturating_add(usize::from(entry.flags.is_skip_worktree()));
        counts.assume_unchanged = counts
            .assume_unchanged
            .saturating_add(usize::from(entry.flags.is_assume_valid()));
        if entry.flags.stage() > 0 {
            let path = index.path(entry);
            if previous_conflict != Some(path) {
                counts.conflicted = counts.conflicted.saturating_add(1);
            }
            previous_conflict = Some(path);
        }
    }
    counts
}
