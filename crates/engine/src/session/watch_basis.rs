//! What a session's answers rest on, among the changes that the kernel reports.

use std::sync::Arc;

use bstr::BString;
use vigil_model::timestamp::Timestamp;
use vigil_watch::{Position, WatchedTree};

/// The position up to which the last answer covers changes, for each watched tree that it rests on.
#[derive(Clone, Debug, Default)]
pub struct WatchPositions(pub(crate) Vec<(Arc<WatchedTree>, Position)>);

impl WatchPositions {
    /// The number of changes heard since, in any session: 0 if the answer still holds.
    pub fn since(&self) -> u64 {
        let since = self.0.iter().map(|(tree, position)| {
            let until = tree.heard_until().number();
            until.saturating_sub(position.number())
        });
        since.fold(0, u64::saturating_add)
    }

    /// Returns the same trees, with everything that was heard until now.
    pub fn until_now(&self) -> Self {
        let trees = self.0.iter();
        Self(
            trees
                .map(|(tree, _)| (tree.clone(), tree.heard_until()))
                .collect(),
        )
    }
}

/// What is watched in a working copy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WatchReport {
    /// The number of folders that are watched.
    pub watches: usize,
    /// The paths that are looked at for each question even so, and why. Only the first ones are
    /// named.
    pub looked_at: Vec<(BString, BString)>,
    /// How many more there are.
    pub looked_at_more: usize,
}

/// What is known about one path, on which any answer about it is based.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Basis {
    /// When the whole working tree was last looked at, for the most recent question.
    pub looked_at_all: Timestamp,
    /// The last change of the path that was heard after that.
    pub last_change: Option<LastChange>,
    /// Why the path is looked at for each question, if it is.
    pub each_time: Option<String>,
}

/// The last change of one path that was heard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastChange {
    /// The path, or the folder or governing file above it that changed.
    pub path: BString,
    /// When the change was heard.
    pub at: Timestamp,
    /// Whether the path was looked at since.
    pub is_looked_at: bool,
}
