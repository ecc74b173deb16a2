//! The question "what changed?" and its whole answer.

use std::sync::Arc;
use std::time::Duration;

use bstr::BString;
use gix_hash::ObjectId;
use vigil_model::change::{ChangeKind, RenameSource};
use vigil_model::mode::FileMode;
use vigil_model::request::{IgnoreSubmodules, IgnoredMode, RenameRule, UntrackedMode};

use vigil_git::operation::under_way::UnderWay;
use vigil_history::branch::{BranchStatus, ComparedBranch};
use vigil_scan::progress::Progress;

/// What is asked.
#[derive(Clone, Debug, Default)]
pub struct StatusRequest {
    /// Untracked files.
    pub untracked: UntrackedMode,
    /// Ignored files.
    pub ignored: IgnoredMode,
    /// `--ignore-submodules`, where it was given; else each submodule's configuration decides.
    pub ignore_submodules: Option<IgnoreSubmodules>,
    /// Rename detection, `None` for none.
    pub renames: Option<RenameRule>,
    /// The pathspecs as given on the command line, still with magic, relative to the repository's prefix.
    pub pathspecs: Vec<BString>,
    /// Count commits ahead and behind (`--ahead-behind`); without, only whether the two differ.
    pub ahead_behind: bool,
    /// Find branch and upstream (formats without a branch line do not ask).
    pub branch: bool,
    /// Count stash entries (`--show-stash`).
    pub stash: bool,
    /// Find what is under way, in gitstatusd's words ([`Status::action`]).
    pub action: bool,
    /// Find what only the long format tells ([`Status::long`]): it costs more files and objects.
    pub long: bool,
    /// Find how patches of the working tree are made ([`PatchRules`]), too.
    pub unstaged_patches: bool,
    /// The most threads the scan may use; `None` lets it choose.
    pub threads_max: Option<usize>,
    /// Where the scan counts what it looked at, submodules apart.
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
    /// Mode in HEAD (of the rename's source, if renamed); `NONE` where not in HEAD.
    pub head_mode: FileMode,
    /// Mode in the index; `NONE` where not in the index.
    pub index_mode: FileMode,
    /// Mode in the working tree; `NONE` where deleted.
    pub worktree_mode: FileMode,
    /// Object in HEAD, null where not in HEAD.
    pub head_id: ObjectId,
    /// Object in the index, null where not in the index (and for intent-to-add).
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
    /// Mode in the working tree; `NONE` where the file is not there.
    pub worktree_mode: FileMode,
    /// For a submodule, what is dirty in it.
    pub submodule: Option<SubmoduleState>,
    /// The working tree could be looked at there; where not, nothing is known to differ from the index.
    pub is_observed: bool,
    /// How the working tree differs from a merged entry of the path that the index has on an unborn branch, too.
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

/// How much of a sparse checkout is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SparseState {
    /// git works with a sparse index, and does not count.
    SparseIndex,
    /// So many percent of the tracked files are present.
    Percent(usize),
}

/// What only the long format tells.
#[derive(Clone, Debug, Default)]
pub struct LongStatus {
    /// What is under way.
    pub under_way: UnderWay,
    /// The branches with which the current one is compared, in the order in which they are told.
    pub compared: Vec<ComparedBranch>,
    /// How long that comparison took: git gives advice when it is slow.
    pub compared_in: Duration,
    /// How long it took to find untracked files: git gives advice when that is slow.
    pub searched_in: Duration,
    /// For a sparse checkout, how much of it is there.
    pub sparse: Option<SparseState>,
    /// How the patches of git's `status` differ from those of git's `diff`.
    pub patches: PatchRules,
}

/// Where the patches that `status --verbose` shows are unlike those of git's `diff`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PatchRules {
    /// Staged changes without a patch: those further down in a directory that is one entry of a sparse index.
    pub staged_without: Vec<BString>,
    /// Name and value of configuration by which git's `diff` of what is staged goes as deep as that, beyond
    /// `core.maxTreeDepth`.
    pub staged_configuration: Vec<(BString, BString)>,
    /// Submodules without a patch of the working tree: those that were found unchanged by what was asked.
    pub unstaged_without: Vec<BString>,
    /// git reads the empty tree for the first patch of all before it says so, and dies of a bad `shallow` file by that.
    pub has_bad_history: bool,
    /// Name and value of configuration by which git's `diff` of the working tree looks into no submodule with something
    /// else there than the commit that is recorded.
    pub configuration: Vec<(BString, BString)>,
}

/// The whole answer.
#[derive(Clone, Debug, Default)]
pub struct Status {
    /// Changed tracked paths, in byte order.
    pub changes: Vec<(BString, Change)>,
    /// Untracked paths, in byte order; directories end in `/`.
    pub untracked: Vec<BString>,
    /// Ignored paths, in byte order; directories end in `/`.
    pub ignored: Vec<BString>,
    /// The branch, where it was asked for.
    pub branch: Option<BranchStatus>,
    /// The number of stash entries, where it was asked for.
    pub stash_count: Option<usize>,
    /// What is under way, in gitstatusd's words, where that was asked for; empty for nothing.
    pub action: BString,
    /// What only the long format tells, where it was asked for.
    pub long: Option<LongStatus>,
    /// What git would say on stderr, each line whole.
    pub warnings: Vec<BString>,
    /// Where the answer ends with where HEAD points, since the history of the branches cannot be read or a setting of one is bad:
    /// nothing else is filled in then.
    pub cut_short: Option<CutShort>,
}

/// What git says where it ends in the middle of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CutShort {
    /// The lines before, each whole.
    pub said: Vec<String>,
    /// How the last line begins.
    pub label: &'static str,
    /// The reason.
    pub text: String,
    /// Whether the short format has not named the branch by then.
    pub is_before_name: bool,
}
