//! What a session rests on of all that the kernel tells.

use std::sync::Arc;

use bstr::BString;
use vigil_model::timestamp::Timestamp;
use vigil_watch::{Position, WatchedTree};

/// Up to where the last answer takes in what happened, in each tree that is watched for it.
#[derive(Clone, Debug, Default)]
pub struct Heard(pub(crate) Vec<(Arc<WatchedTree>, Position)>);

impl Heard {
    /// How much was heard since, by whoever listened: 0 where the answer still holds.
    pub fn since(&self) -> u64 {
        let since = self.0.iter().map(|(tree, position)| {
            let until = tree.heard_until().number();
            until.saturating_sub(position.number())
        });
        since.fold(0, u64::saturating_add)
    }

    /// The same trees, with all that was heard until now.
    pub fn until_now(&self) -> Self {
        let trees = self.0.iter();
        Self(
            trees
                .map(|(tree, _)| (tree.clone(), tree.heard_until()))
                .collect(),
        )
    }
}

/// What of a working copy is watched.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WatchReport {
    /// How many folders are.
    pub watches: usize,
    /// What is looked at for each question all the same, and why: the first of it.
    pub looked_at: Vec<(BString, BString)>,
}

/// By what is known whatever is said of one path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Basis {
    /// When all of the working tree was looked at, for the question that was asked last.
    pub looked_at_all: Timestamp,
    /// The last change of it that was heard of after that.
    pub heard: Option<HeardChange>,
    /// Why it is looked at for each question, if it is.
    pub each_time: Option<&'static str>,
}

/// The last change that was heard of, of one path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeardChange {
    /// The path, or the folder or governing file above it that changed.
    pub path: BString,
    /// When it was heard of.
    pub at: Timestamp,
    /// Whether it was looked at since.
    pub is_looked_at: bool,
}
