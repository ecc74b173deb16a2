//! Why an object could not be read.

use bstr::BString;
use gix_hash::{ObjectId, oid};
use gix_object::Kind;
use vigil_model::raw_text::raw;
use vigil_objects::Reason;

use crate::refs;

/// Why an object could not be read. If git has a text for the error, it is git's, without "fatal: ".
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A tree does not exist.
    #[error("unable to read tree ({id})")]
    MissingTree {
        /// The tree.
        id: ObjectId,
    },
    /// A commit, or something that should lead to one, does not exist.
    #[error("bad object {id}")]
    Missing {
        /// The object.
        id: ObjectId,
    },
    /// An object or its pack exists, but cannot be read.
    #[error(transparent)]
    Unreadable(#[from] Reason),
    /// An object of another type than required in its place.
    #[error("object {id} is a {actual}, not a {expected}")]
    WrongKind {
        /// The object.
        id: ObjectId,
        /// The type that it has.
        actual: Kind,
        /// The type that it should have.
        expected: Kind,
    },
    /// An object of another type than a tag claims.
    #[error("object {id} is a {known}, not a {actual}")]
    Contradiction {
        /// The object.
        id: ObjectId,
        /// The type that was known before.
        known: Kind,
        /// The type that is now claimed or found.
        actual: Kind,
    },
    /// A commit points to an object that cannot be its tree or a parent.
    #[error("{problem} {target} in commit {id}")]
    BadPointer {
        /// The commit.
        id: ObjectId,
        /// What it points to.
        target: ObjectId,
        /// What is wrong with that.
        problem: &'static str,
    },
    /// The commit-graph has a commit whose parent is not a commit.
    #[error("could not find commit {id}")]
    NoCommit {
        /// The parent.
        id: ObjectId,
    },
    /// A commit or tag with a format error.
    #[error("{problem} {id}")]
    Malformed {
        /// The object.
        id: ObjectId,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// A tree with a format error. The text is git's.
    #[error("{0}")]
    MalformedTree(&'static str),
    /// The replacement of an object does not exist.
    #[error("replacement {replacement} not found for {id}")]
    NoReplacement {
        /// The object.
        id: ObjectId,
        /// Its replacement.
        replacement: ObjectId,
    },
    /// Two references replace the same object.
    #[error("duplicate replace ref: {name}", name = raw(name))]
    DuplicateReplacement {
        /// The name of the second one.
        name: BString,
    },
    /// Replacements form a circle, or a chain that is too long.
    #[error("replace depth too high for object {id}")]
    ReplaceDepth {
        /// The object.
        id: ObjectId,
    },
    /// A line of the `shallow` file is not an id.
    #[error("bad shallow line: {line}", line = raw(line))]
    BadShallowLine {
        /// The line, with its line feed.
        line: BString,
    },
    /// The replacement references cannot be read.
    #[error(transparent)]
    Refs(#[from] refs::Error),
    /// A configured value is invalid.
    #[error(transparent)]
    Config(#[from] crate::config::Error),
}

impl Error {
    /// Whether an object is missing that a partial clone left out, and it was not fetched.
    pub fn is_of_fetching(&self) -> bool {
        matches!(self, Self::Unreadable(reason) if reason.is_of_fetching())
    }

    pub(super) fn contradiction(id: &oid, known: Kind, actual: Kind) -> Self {
        Self::Contradiction {
            id: id.to_owned(),
            known,
            actual,
        }
    }
}

/// The error that the contents of the object `id` have the `problem` that is passed.
pub(super) fn malformed(id: &oid) -> impl FnOnce(&'static str) -> Error {
    let id = id.to_owned();
    move |problem| Error::Malformed { id, problem }
}
