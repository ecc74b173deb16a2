//! What is checked out, apart from the files: the branch, the active bookmark, the topic, the phase of the first
//! parent, and the unfinished operation.

mod merging;
pub(crate) mod phase;

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use bstr::{BString, ByteSlice};
use vigil_linux::stat::stat_path;

pub use merging::MergeState;
pub use phase::Phase;

use crate::abort::Abort;
use crate::bookmarks::{self, BookmarkSharing};
use crate::bytes::trim;
use crate::node::Node;
use crate::repository::Repository;
use crate::text_file;

/// The state of the working copy, apart from its files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkout {
    /// The parents of the working copy. The second one is null unless a merge is in progress.
    pub parents: [Node; 2],
    /// The branch of the next commit.
    pub branch: BString,
    /// The active bookmark.
    pub bookmark: Option<BString>,
    /// The topic of the next commit.
    pub topic: Option<BString>,
    /// The phase of the first parent, or `None` if the store cannot be read.
    pub phase: Option<Phase>,
    /// The unfinished operation.
    pub operation: Option<Operation>,
    /// The number of files with unresolved conflicts.
    pub unresolved: usize,
}

/// An operation that can be left unfinished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// `hg rebase`.
    Rebase,
    /// `hg histedit`.
    Histedit,
    /// `hg transplant`.
    Transplant,
    /// `hg fixup`, of the extension evolve.
    Fixup,
    /// `hg pick`, of the extension evolve.
    Pick,
    /// `hg evolve`.
    Evolve,
    /// `hg unshelve`.
    Unshelve,
    /// `hg graft`.
    Graft,
    /// `hg bisect`.
    Bisect,
    /// `hg update`.
    Update,
    /// `hg merge`.
    Merge,
}

/// The state files, and the operation of each. If there are several, Mercurial reports the first in this order.
const STATES: [(&str, Operation); 10] = [
    ("rebasestate", Operation::Rebase),
    ("histedit-state", Operation::Histedit),
    ("transplant/journal", Operation::Transplant),
    ("fixup-state", Operation::Fixup),
    ("pickstate", Operation::Pick),
    ("evolvestate", Operation::Evolve),
    ("shelvedstate", Operation::Unshelve),
    ("graftstate", Operation::Graft),
    ("bisect.state", Operation::Bisect),
    ("updatestate", Operation::Update),
];

impl Operation {
    /// Returns Mercurial's name for the operation.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rebase => "rebase",
            Self::Histedit => "histedit",
            Self::Transplant => "transplant",
            Self::Fixup => "fixup",
            Self::Pick => "pick",
            Self::Evolve => "evolve",
            Self::Unshelve => "unshelve",
            Self::Graft => "graft",
            Self::Bisect => "bisect",
            Self::Update => "update",
            Self::Merge => "merge",
        }
    }
}

impl Checkout {
    /// Reads what is checked out in `repository`, whose working copy has `parents`, the first in this `phase`. What cannot be
    /// read counts as missing: the result is only displayed, and nothing else depends on it.
    pub fn read(
        repository: &Repository,
        parents: [Node; 2],
        phase: Option<Phase>,
        sharing: BookmarkSharing,
    ) -> Self {
        let dot_hg = &repository.dot_hg;
        let is_merge = parents.get(1).is_some_and(|second| !second.is_null());
        let mut states = STATES.iter();
        let state = states.find(|(name, _)| stat_path(&dot_hg.join(name)).is_ok());
        Self {
            parents,
            branch: word(&branch_path(repository)).unwrap_or_else(|| "default".into()),
            bookmark: active_bookmark(repository, &parents, sharing),
            topic: word(&dot_hg.join("topic")),
            phase,
            operation: state
                .map(|(_, operation)| *operation)
                .or(is_merge.then_some(Operation::Merge)),
            unresolved: MergeState::count_unresolved(repository),
        }
    }
}

/// Checks that the branch can be read, as Mercurial does for every question about the working copy. Returns whether all of its
/// name is ASCII, so that Mercurial need not convert it.
///
/// # Errors
/// The branch cannot be read.
pub fn check_branch(repository: &Repository) -> Result<bool, Abort> {
    let text = text_file::read_if_there(&branch_path(repository))?;
    Ok(text.is_none_or(|text| text.is_ascii()))
}

/// Returns the path of the file with the branch of the next commit.
fn branch_path(repository: &Repository) -> PathBuf {
    repository.dot_hg.join("branch")
}

/// Reads a small file, without surrounding white space.
fn word(path: &Path) -> Option<BString> {
    let text = text_file::read(path).ok()?;
    let word = trim(&text);
    (!word.is_empty()).then(|| word.into())
}

/// Returns the active bookmark, or `None` if that bookmark no longer exists, or its changeset does not. The `parents` are known.
fn active_bookmark(
    repository: &Repository,
    parents: &[Node; 2],
    sharing: BookmarkSharing,
) -> Option<BString> {
    let text = text_file::read(&bookmarks::active_path(repository)).ok()?;
    let name = text.lines().next().filter(|name| !name.is_empty())?;
    let text = text_file::read(&bookmarks::path(repository, sharing)).ok()?;
    let lines = text
        .split(|byte| *byte == b'\n')
        .filter_map(bookmarks::line);
    let named = lines.filter(|(_, known)| *known == name);
    let nodes: HashSet<Node> = named.map(|(node, _)| node).collect();
    let is_at_hand = |node: &Node| node.is_null() || parents.contains(node);
    // The changelog may be long, and the bookmark is mostly at a parent.
    let is_known = nodes.iter().any(is_at_hand)
        || !nodes.is_empty() && {
            let changelog = repository.store().changelog().ok()?;
            !changelog.find_all(nodes).is_empty()
        };
    is_known.then(|| name.into())
}

/// The entry point of the fuzzer.
#[cfg(feature = "fuzzing")]
pub fn fuzz(bytes: &[u8]) {
    merging::fuzz(bytes);
    phase::fuzz(bytes);
    for line in bytes.split(|byte| *byte == b'\n') {
        let _ = bookmarks::line(line);
    }
}
