//! One working copy, kept in memory between questions.
//!
//! A one-shot command asks a session one question; a long-lived process keeps it, and then only what changed is
//! read again: each file that an answer rests on is remembered with its stamp.

mod assemble;
mod excludes;
mod prompt;
mod submodules;
mod surroundings;

use std::path::Path;
use std::sync::Arc;

use bstr::{BStr, BString, ByteSlice};
use gix_hash::ObjectId;
use vigil_linux::stat::lstat_path;
use vigil_model::timestamp::Timestamp;

use self::excludes::Excludes;
use self::surroundings::Host;
use crate::git::attributes::{Attributes, Messages};
use crate::git::convert::Converter;
use crate::git::index_file::{self, LoadedIndex};
use crate::git::pathspec::{self, Pathspec};
use crate::git::refs::Refs;
use crate::git::repository::{self, Repository, Settings};
use crate::git::tags::TagIndex;
use crate::git::{branch, config, operation, refs, staged};
use crate::objects::{self, Objects};
use crate::scan::{DirTree, Findings, Scan, ScanError, ScanMemory};
use crate::status::{Head, IgnoredMode, Status, StatusRequest, UntrackedMode};

/// Why a question has no answer. The text is git's own where git has one, without "fatal: ".
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// There is no repository, or none that may be used.
    #[error(transparent)]
    Repository(#[from] repository::Error),
    /// The configuration.
    #[error(transparent)]
    Config(#[from] config::Error),
    /// The index.
    #[error(transparent)]
    Index(#[from] index_file::Error),
    /// An object.
    #[error(transparent)]
    Objects(#[from] objects::Error),
    /// A reference.
    #[error(transparent)]
    Refs(#[from] refs::Error),
    /// HEAD against the index.
    #[error(transparent)]
    Staged(#[from] staged::Error),
    /// Branches and their upstreams.
    #[error(transparent)]
    Branch(#[from] branch::Error),
    /// The operation in progress.
    #[error(transparent)]
    Operation(#[from] operation::Error),
    /// The working tree.
    #[error(transparent)]
    Scan(#[from] ScanError),
    /// A pathspec.
    #[error(transparent)]
    Pathspec(#[from] pathspec::Error),
    /// Attributes.
    #[error(transparent)]
    Attributes(#[from] crate::git::attributes::Error),
    /// Content filters.
    #[error(transparent)]
    Convert(#[from] crate::git::convert::Error),
    /// A submodule has no answer; the text is git's.
    #[error("{text}")]
    Submodule {
        /// What git says of it.
        text: String,
        /// Why.
        source: Box<SessionError>,
    },
}
