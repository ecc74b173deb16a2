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

/// One working copy and what is known of it.
pub struct Session {
    repository: Repository,
    settings: Settings,
    objects: Objects,
    refs: Refs,
    converter: Converter,
    attributes: Arc<Attributes>,
    messages: Arc<Messages>,
    excludes: Excludes,
    index: Option<IndexState>,
    tags: TagIndex,
    prompt: prompt::Memory,
    /// Whether scans are remembered: not for a single question.
    is_kept: bool,
}

/// An index and what was made of it.
struct IndexState {
    loaded: Arc<LoadedIndex>,
    tree: DirTree,
    /// What scans of this index remember, and of which kind of question.
    memory: Option<(Question, ScanMemory)>,
    staged: Option<StagedMemory>,
    counted: Option<MarkCounts>,
}

/// The kind of question that a memory of scans holds for.
#[derive(Clone, PartialEq, Eq)]
struct Question {
    untracked: UntrackedMode,
    ignored: IgnoredMode,
}

/// HEAD against the index, as long as neither moves.
struct StagedMemory {
    head_tree: Option<ObjectId>,
    diff: Arc<staged::StagedDiff>,
    max: Option<usize>,
}

/// How many entries bear which mark.
#[derive(Clone, Copy, Debug, Default)]
struct MarkCounts {
    skip_worktree: usize,
    assume_unchanged: usize,
    conflicted: usize,
}

impl Session {
    /// Opens `repository` for one question, or with `is_kept` for many.
    pub fn open(repository: Repository, is_kept: bool) -> Result<Self, SessionError> {
        let settings = Settings::new(&repository)?;
        let objects = Objects::open(&repository)?;
        let refs = Refs::open(&repository)?;
        let messages = Arc::new(Messages::default());
        let attributes = Arc::new(surroundings::attributes(&repository, &objects, messages.clone())?);
        let converter = Converter::new(&repository, attributes.clone(), messages.clone())?;
        let excludes = Excludes::new(&repository, &settings);
        Ok(Self {
            repository,
            settings,
            objects,
            refs,
            converter,
            attributes,
            messages,
            excludes,
            index: None,
            tags: TagIndex::default(),
            prompt: prompt::Memory::default(),
            is_kept,
        })
    }

    /// The repository.
    pub fn repository(&self) -> &Repository {
        &self.repository
    }

    /// What the configuration says.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Whether the repository is still set up as it was: if not, a new session is needed.
    pub fn is_fresh(&self) -> bool {
        self.repository.is_fresh()
    }

    /// The top of the working tree.
    fn top(&self) -> Result<&Path, SessionError> {
        Ok(self.repository.require_work_tree()?)
    }

    /// Reads the index if it is not the one in memory.
    fn refresh_index(&mut self) -> Result<(), SessionError> {
        if self.index.as_ref().is_some_and(|state| state.loaded.is_current() && !self.has_new_sparse_directory(state)) {
            return Ok(());
        }
        let top = self.top()?.to_owned();
        let repository = &self.repository;
        let mut loaded =
            index_file::load(&repository.index_path, &repository.git_dir, &top, repository.hash)?;
        if loaded.index.is_sparse() {
            let trees = &self.objects;
            loaded.index = staged::expand_sparse_directories(loaded.index, trees, |path| {
                is_present(&top, path)
            })?;
        }
        let tree = DirTree::new(&loaded.index);
        self.attributes.refresh(surroundings::blobs(&loaded.index, &self.objects));
        self.index = Some(IndexState {
            loaded: Arc::new(loaded),
            tree,
            memory: None,
            staged: None,
            counted: None,
        });
        Ok(())
    }

    /// Whether a directory that the sparse index does not list is in the working tree now.
    fn has_new_sparse_directory(&self, state: &IndexState) -> bool {
        let index = &state.loaded.index;
        index.is_sparse()
            && self.repository.work_tree.as_deref().is_some_and(|top| {
                let mut entries = index.entries().iter();
                entries.any(|entry| entry.mode.is_tree() && is_present(top, index.path(entry)))
            })
    }

    /// The tree of the commit that HEAD names; `None` on an unborn branch.
    fn head_tree(&self, head: &Head) -> Result<Option<ObjectId>, SessionError> {
        match head_id(head) {
            Some(id) => Ok(Some(self.objects.peel_to_tree(&id)?)),
            None => Ok(None),
        }
    }
}

/// The commit that HEAD names.
fn head_id(head: &Head) -> Option<ObjectId> {
    match head {
        Head::Branch { id, .. } => *id,
        Head::Detached(id) => Some(*id),
    }
}

fn is_present(top: &Path, path: &BStr) -> bool {
    let path = path.strip_suffix(b"/").unwrap_or(path).as_bstr();
    path.to_path().is_ok_and(|path| lstat_path(&top.join(path)).is_ok())
}
