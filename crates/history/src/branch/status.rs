//! What is known of the current branch.

use bstr::BString;

use vigil_git::refs::Head;

/// How far a branch is from its upstream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Distance {
    /// The upstream is configured, but its reference does not exist.
    Gone,
    /// Both are one commit.
    Equal,
    /// They differ, and nobody asked by how much.
    Different,
    /// Commits only here, and only there.
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

/// A branch with which the current one is compared (`status.compareBranches`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ComparedBranch {
    /// The name as git prints it (`origin/main`).
    pub short_name: BString,
    /// How far the current branch is from it.
    pub distance: Distance,
    /// It is the upstream: commits are pulled from it.
    pub is_upstream: bool,
    /// It is where commits are pushed to.
    pub is_push: bool,
    /// The remote and the name there by which it is to be pulled, since it is not the upstream.
    pub pulled_from: Option<(BString, BString)>,
}
