//! The question "what changed?" and its full answer.

use std::sync::Arc;
use std::time::Duration;

use bstr::BString;
use gix_hash::ObjectId;
use vigil_model::change::{ChangeKind, RenameSource};
use vigil_model::mode::FileMode;
use vigil_model::request::{IgnoreSubmodules, IgnoredMode, RenameRule, UntrackedMode};

use vigil_git::operation::under_way::OperationState;
use vigil_history::branch::{BranchStatus, ComparedBranch};
use vigil_history::detached::DetachedFrom;
use vigil_scan::progress::Progress;

/// A status question.
#[derive(Clone, Debug, Default)]
pub struct StatusRequest {
    /// Which untracked files to find.
    pub untracked: UntrackedMode,
    /// Which ignored files to find.
    pub ignored: IgnoredMode,
    /// `--ignore-submodules`, if given; else each submodule's configuration decides.
    pub ignore_submodules: Option<IgnoreSubmodules>,
    /// Rename detection, `None` for none.
    pub renames: Option<RenameRule>,
    /// The pathspecs as given on the command line, still with magic, relative to the repository's prefix.
    pub pathspecs: Vec<BString>,
    /// Count commits ahead and behind (`--ahead-behind`); if false, find only whether the two differ.
    pub ahead_behind: bool,
    /// Find branch and upstream (formats without a branch line do not need them).
    pub branch: bool,
    /// If HEAD is detached, find the upstream of a branch that is called like the place where it was detached, or onto which a
    /// branch is rebased: git shows that in porcelain v2.
    pub upstream_by_place: bool,
    /// Count stash entries (`--show-stash`).
    pub stash: bool,
    /// Find the operation in progress, in gitstatusd's words ([`Status::action`]).
    pub action: bool,
    /// Find what only the long format shows ([`Status::long`]), which needs more files and objects.
    pub long: bool,
    /// Find how patches of the working tree are made, too ([`PatchRules`]).
    pub unstaged_patches: bool,
    /// Look as `git diff-index --quiet HEAD` does, and not as `git status`: HEAD is looked up once, and a submodule whose commit
    /// differs is not looked into.
    pub as_diff_index: bool,
    /// The maximum number of threads that the scan may use; `None` lets it choose.
    pub threads_max: Option<usize>,
    /// Counts what the scan looked at, not including submodules.
    pub progress: Option<Arc<Progress>>,
}

/// What is dirty in a submodule (the `S<c><m><u>` field of porcelain v2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SubmoduleState {
    /// Its HEAD is not the commit in the index.
    pub new_commits: bool,
    /// It has changes to tracked files.
    pub modified: bool,
    /// It has untracked files.
    pub untracked: bool,
}

/// A tracked path that differs between HEAD and index, between index and working tree, or both.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrackedChange {
    /// HEAD against index.
    pub staged: Option<ChangeKind>,
    /// Index against working tree.
    pub unstaged: Option<ChangeKind>,
    /// Mode in HEAD (of the rename's source, if renamed); `NONE` if not in HEAD.
    pub head_mode: FileMode,
    /// Mode in the index; `NONE` if not in the index.
    pub index_mode: FileMode,
    /// Mode in the working tree; `NONE` if deleted.
    pub worktree_mode: FileMode,
    /// Object in HEAD; null if not in HEAD.
    pub head_id: ObjectId,
    /// Object in the index; null if not in the index (and for intent-to-add).
    pub index_id: ObjectId,
    /// Where it came from in HEAD, if the staged change is a rename or copy.
    pub staged_source: Option<RenameSource>,
    /// Where it came from in the index, if the unstaged change is a rename or copy (of an intent-to-add entry).
    pub unstaged_source: Option<RenameSource>,
    /// For a submodule, what is dirty in it.
    pub submodule: Option<SubmoduleState>,
}

/// One side of an unmerged path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnmergedSide {
    /// The mode recorded for the stage.
    pub mode: FileMode,
    /// The object recorded for the stage.
    pub id: ObjectId,
}

/// A path with conflicts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnmergedChange {
    /// Stages 1 (base), 2 (ours) and 3 (theirs), as far as present.
    pub stages: [Option<UnmergedSide>; 3],
    /// Mode in the working tree; `NONE` if the file is missing.
    pub worktree_mode: FileMode,
    /// For a submodule, what is dirty in it.
    pub submodule: Option<SubmoduleState>,
    /// Whether the path could be looked at in the working tree; if not, no difference from the index is known.
    pub is_observed: bool,
    /// How the working tree differs from a merged entry of the same path, which the index may have besides, on an unborn branch.
    pub merged: Option<ChangeKind>,
}

impl UnmergedChange {
    /// The two letters of git's short formats: `DD`, `AU`, `UD`, `UA`, `DU`, `AA` or `UU`.
    pub fn letters(&self) -> [u8; 2] {
        match self.stages.map(|side| side.is_some()) {
            [true, false, false] => *b"DD",
            [false, true, false] => *b"AU",
            [true, true, false] => *b"UD",
            [false, false, true] => *b"UA",
            [true, false, true] => *b"DU",
            [false, true, true] => *b"AA",
            _ => *b"UU",
        }
    }
}

/// How one path changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Tracked and merged.
    Tracked(TrackedChange),
    /// In conflict.
    Unmerged(UnmergedChange),
}

/// How much of a sparse checkout is present.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SparseState {
    /// git works with a sparse index, and does not count.
    SparseIndex,
    /// This percentage of the tracked files is present.
    Percent(usize),
}

/// What only the long format shows.
#[derive(Clone, Debug, Default)]
pub struct LongStatus {
    /// The operation in progress.
    pub under_way: OperationState,
    /// Where HEAD was detached, if it is.
    pub detached: Option<DetachedFrom>,
    /// The branches that the current one is compared with, in the order in which they are shown.
    pub compared: Vec<ComparedBranch>,
    /// How long that comparison took: git gives advice when it is slow.
    pub compared_in: Duration,
    /// How long it took to find untracked files: git gives advice when that is slow.
    pub searched_in: Duration,
    /// How much of a sparse checkout is present, if it is one.
    pub sparse: Option<SparseState>,
    /// How the patches of git's `status` differ from those of git's `diff`.
    pub patches: PatchRules,
}

/// How the patches that `status --verbose` shows differ from those of git's `diff`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PatchRules {
    /// Staged changes without a patch: those further down in a directory that is one entry of a sparse index.
    pub staged_without: Vec<BString>,
    /// Name and value of the configuration by which git's `diff` of what is staged goes as deep as `status` does, beyond
    /// `core.maxTreeDepth`.
    pub staged_configuration: Vec<(BString, BString)>,
    /// Submodules without a patch of the working tree: those that the question found unchanged.
    pub unstaged_without: Vec<BString>,
    /// The only paths with patches of the working tree, if they are known and not so many that git is slow to tell them from others.
    pub unstaged_only: Option<Vec<BString>>,
    /// Whether git fails because of a bad `shallow` file: before the first patch of all, it reads the empty tree.
    pub has_bad_history: bool,
    /// Name and value of the configuration by which git's `diff` of the working tree does not look into submodules with something
    /// else there than the recorded commit.
    pub configuration: Vec<(BString, BString)>,
}

/// The full answer.
#[derive(Clone, Debug, Default)]
pub struct Status {
    /// Changed tracked paths, in byte order.
    pub changes: Vec<(BString, Change)>,
    /// Untracked paths, in byte order; directories end in `/`.
    pub untracked: Vec<BString>,
    /// Ignored paths, in byte order; directories end in `/`.
    pub ignored: Vec<BString>,
    /// The branch, if asked for.
    pub branch: Option<BranchStatus>,
    /// The number of stash entries, if asked for.
    pub stash_count: Option<usize>,
    /// The operation in progress, in gitstatusd's words, if asked for; empty if there is none.
    pub action: BString,
    /// What only the long format shows, if asked for.
    pub long: Option<LongStatus>,
    /// The whole lines that git would write to stderr.
    pub warnings: Vec<BString>,
    /// Whether some of the `warnings` may be given only once, so that the session's next answer may lack them.
    pub warns_once: bool,
    /// Set if the answer stops at where HEAD points, because the history of the branches cannot be read or a branch's setting is
    /// invalid: nothing else is then filled in.
    pub cut_short: Option<CutShort>,
}

/// What git writes when it fails in the middle of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CutShort {
    /// The lines before the error, each whole.
    pub messages: Vec<String>,
    /// The prefix of the last line.
    pub label: &'static str,
    /// The error.
    pub text: String,
    /// Whether the short format fails before it has named the branch.
    pub is_before_name: bool,
}
