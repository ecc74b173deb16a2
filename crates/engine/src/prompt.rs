//! The question that a shell prompt asks: counts instead of lists, and no more work than needed.

use bstr::BString;
use gix_hash::ObjectId;

/// What a prompt asks. The caps are gitstatusd's: a count stops at its cap, and the work stops when all counts
/// have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PromptRequest {
    /// Leave out everything that needs the index.
    pub skip_index: bool,
    /// The staged changes to count, at most.
    pub staged_max: usize,
    /// The unstaged changes to count, at most.
    pub unstaged_max: usize,
    /// The conflicts to count, at most.
    pub conflicted_max: usize,
    /// The untracked paths to count, at most.
    pub untracked_max: usize,
    /// With more index entries than this, do not look for unstaged and untracked changes.
    pub index_size_max: usize,
    /// Count each file in an untracked directory.
    pub each_untracked_file: bool,
    /// Count untracked files whatever `status.showUntrackedFiles` says.
    pub ignore_status_show_untracked_files: bool,
    /// Count untracked files whatever `bash.showUntrackedFiles` says.
    pub ignore_bash_show_untracked_files: bool,
    /// Count changes whatever `bash.showDirtyState` says.
    pub ignore_bash_show_dirty_state: bool,
    /// The maximum number of threads that a scan may use.
    pub threads_max: Option<usize>,
}

impl PromptRequest {
    /// Everything, without limits.
    pub const EVERYTHING: Self = Self {
        skip_index: false,
        staged_max: usize::MAX,
        unstaged_max: usize::MAX,
        conflicted_max: usize::MAX,
        untracked_max: usize::MAX,
        index_size_max: usize::MAX,
        each_untracked_file: false,
        ignore_status_show_untracked_files: false,
        ignore_bash_show_untracked_files: false,
        ignore_bash_show_dirty_state: false,
        threads_max: None,
    };
}

/// How many paths are in which state. No count exceeds its cap, where it has one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Entries in the index.
    pub index_size: usize,
    /// Changes between HEAD and index, conflicts not included.
    pub staged: usize,
    /// Of these, new files.
    pub staged_new: usize,
    /// Of these, deleted files.
    pub staged_deleted: usize,
    /// Changes between index and working tree, conflicts not included.
    pub unstaged: usize,
    /// Of these, deleted files.
    pub unstaged_deleted: usize,
    /// Paths in conflict.
    pub conflicted: usize,
    /// Untracked paths.
    pub untracked: usize,
    /// Index entries marked skip-worktree; not capped.
    pub skip_worktree: usize,
    /// Index entries marked assume-unchanged; not capped.
    pub assume_unchanged: usize,
}

/// A branch of a remote.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RemoteBranch {
    /// The branch's name on the remote; empty if it has none.
    pub branch: BString,
    /// The remote's name, `.` for this repository itself.
    pub remote: BString,
    /// The remote's URL; may be empty.
    pub url: BString,
    /// The number of commits that the current branch has and this one lacks.
    pub ahead: usize,
    /// The number of commits that this branch has and the current one lacks.
    pub behind: usize,
}

/// The answer to a prompt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prompt {
    /// The top of the working tree, absolute, without a trailing slash.
    pub work_tree: BString,
    /// The commit of HEAD; `None` on an unborn branch.
    pub commit: Option<ObjectId>,
    /// The current branch without `refs/heads/`; empty if HEAD is detached.
    pub branch: BString,
    /// The upstream, if its reference exists.
    pub upstream: Option<RemoteBranch>,
    /// The branch that the current one is pushed to, if that is configured and its reference exists.
    pub push: Option<RemoteBranch>,
    /// The operation in progress and its step, as `rebase-i 2/5`; empty if there is none.
    pub action: BString,
    /// The counts; all zero with [`PromptRequest::skip_index`].
    pub counts: Counts,
    /// The number of stash entries.
    pub stashes: usize,
    /// The last tag in byte order that points to the commit; empty if none does.
    pub tag: BString,
    /// The encoding of the commit's message; empty for UTF-8.
    pub commit_encoding: BString,
    /// The first paragraph of the commit's message on one line.
    pub commit_summary: BString,
}
