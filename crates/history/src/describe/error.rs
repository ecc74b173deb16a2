//! Why there is no description.

use bstr::BString;
use gix_hash::ObjectId;

use crate::revision;
use vigil_git::{objects, refs};
use vigil_model::raw_text::raw;

/// Why there is no description. The text is git's, without "fatal: ".
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No reference counts at all.
    #[error("No names found, cannot describe anything.")]
    NoNames,
    /// A name that does not resolve, or resolves to something that cannot be described.
    #[error("{text}", text = raw(text))]
    Name {
        /// git's message, with the raw bytes of the name.
        text: BString,
    },
    /// No tag is at this very commit, and only such a tag is acceptable.
    #[error("no tag exactly matches '{id}'")]
    NotExact {
        /// The commit.
        id: ObjectId,
    },
    /// All tags in its history are lightweight.
    #[error(
        "No annotated tags can describe '{id}'.\nHowever, there were unannotated tags: try --tags."
    )]
    OnlyLightweight {
        /// The commit.
        id: ObjectId,
    },
    /// No tag is in its history.
    #[error("No tags can describe '{id}'.\nTry --always, or create some tags.")]
    NoTags {
        /// The commit.
        id: ObjectId,
    },
    /// There is no commit in which to look for a blob.
    #[error("cannot search for blob '{id}' on an unborn branch")]
    Unborn {
        /// The blob.
        id: ObjectId,
    },
    /// No commit in the history of HEAD has the blob.
    #[error("blob '{id}' not reachable from HEAD")]
    NotReachable {
        /// The blob.
        id: ObjectId,
    },
    /// A parent of a commit in which to look for a blob cannot be read.
    #[error("Failed to traverse parents of commit {id}")]
    NoParent {
        /// The commit.
        id: ObjectId,
    },
    /// Directories are nested too deep.
    #[error("exceeded maximum allowed tree depth")]
    TooDeep,
    /// No reference leads to the commit.
    #[error("cannot describe '{id}'")]
    Undescribed {
        /// The commit.
        id: ObjectId,
    },
    /// A reference cannot be read.
    #[error(transparent)]
    Refs(#[from] refs::Error),
    /// An object cannot be read.
    #[error(transparent)]
    Objects(#[from] objects::Error),
    /// A name cannot be resolved.
    #[error(transparent)]
    Revision(#[from] revision::Error),
}

impl Error {
    pub(super) fn of_name(parts: &[&[u8]]) -> Self {
        let text = parts.concat().into();
        Self::Name { text }
    }
}
