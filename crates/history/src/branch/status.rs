//! The status of the current branch.

use bstr::BString;

use vigil_git::refs::Head;

/// How far a branch is from its upstream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Distance {
    /// The upstream is configured, but its reference does not exist.
    Gone,
    /// Both are the same commit.
    Equal,
    /// They differ, and commits were not counted.
    Different,
    /// Each may have commits that the other lacks.
    Counted {
        /// Commits of the branch that the upstream lacks.
        ahead: usize,
        /// Commits of the upstream that the branch lacks.
        behind: usize,
    },
}

/// The upstream of the current branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Upstream {
    /// The full reference name (`refs/remotes/origin/main`).
    pub reference: BString,
    /// The name as git prints it (`origin/main`).
    pub short_name: BString,
    /// How far the branch is from it.
    pub distance: Distance,
}

/// The current branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BranchStatus {
    /// Where HEAD points.
    pub head: Head,
    /// The upstream, if one is configured.
    pub upstream: Option<Upstream>,
}

/// A branch that the current one is compared with (`status.compareBranches`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ComparedBranch {
    /// The name as git prints it (`origin/main`).
    pub short_name: BString,
    /// How far the current branch is from it.
    pub distance: Distance,
    /// Whether it is the upstream, which commits are pulled from.
    pub is_upstream: bool,
    /// Whether it is the push target.
    pub is_push: bool,
    /// The remote and the branch's name there to pull from, if it is not the upstream.
    pub pulled_from: Option<(BString, BString)>,
}
