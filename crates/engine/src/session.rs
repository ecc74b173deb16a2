//! One working copy, kept in memory between questions.
//!
//! A one-shot command asks a session one question; a long-lived process keeps it, and then only what changed is
//! read again: each file that an answer rests on is remembered with its stamp.

mod assemble;
mod changes;
mod conflicts;
mod doubled;
mod excludes;
mod long;
mod object_mode;
mod prompt;
mod renamed;
mod submodules;
mod surroundings;
mod unstaged;

use std::path::Path;
use std::sync::Arc;

use bstr::{BStr, BString, ByteSlice};
use gix_hash::ObjectId;
use vigil_linux::stat::lstat_path;

use self::excludes::Excludes;
use self::surroundings::{MissedAttributes, ObjectPool, SourceOfAttributes};
use crate::git::attributes::{self, Attributes, Messages, SourceTree};
use crate::git::convert::{self, Converter, FilterStderr};
use crate::git::index_file::{self, LoadedIndex};
use crate::git::operation::under_way;
use crate::git::pathspec::{self, Pathspec};
use crate::git::refs::Refs;
use crate::git::repository::settings::Settings;
use crate::git::repository::{self, Repository};
use crate::git::tags::{self, TagIndex};
use crate::git::{branch, config, refs, renames, revision, staged};
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
    /// Tags.
    #[error(transparent)]
    Tags(#[from] tags::Error),
    /// Rename detection.
    #[error(transparent)]
    Renames(#[from] renames::Error),
    /// The working tree.
    #[error(transparent)]
    Scan(#[from] ScanError),
    /// A pathspec.
    #[error(transparent)]
    Pathspec(#[from] pathspec::Error),
    /// Attributes.
    #[error(transparent)]
    Attributes(#[from] attributes::Error),
    /// HEAD leads to nothing.
    #[error("bad object HEAD")]
    BadHead,
    /// The tree of HEAD is not there.
    #[error("bad tree object HEAD")]
    BadHeadTree,
    /// A pathspec asks for the mode of what is not there.
    #[error("unable to stat '{path}': {reason}")]
    NoMode {
        /// What is not there.
        path: BString,
        /// What the system says.
        reason: String,
    },
    /// What is under way.
    #[error(transparent)]
    UnderWay(#[from] under_way::Error),
    /// A submodule has no answer; the text is git's.
    #[error("{text}")]
    Submodule {
        /// What git says of it.
        text: String,
        /// Why.
        source: Box<SessionError>,
    },
}

impl SessionError {
    /// What git puts before the text.
    pub fn label(&self) -> &'static str {
        match self {
            Self::BadHeadTree | Self::Repository(repository::Error::LinkedSubmodule(_)) => {
                "error: "
            }
            _ => "fatal: ",
        }
    }

    /// The lines that git writes to stderr before the one that begins with "fatal: ", whole.
    pub fn said(&self) -> Vec<String> {
        match self {
            Self::Repository(error) => error.said().to_vec(),
            Self::Config(error)
            | Self::Objects(objects::Error::Config(error))
            | Self::Branch(branch::Error::Config(error)) => error.said().to_vec(),
            Self::Index(error) => error
                .error_lines()
                .iter()
                .map(|line| format!("error: {line}"))
                .collect(),
            Self::Submodule { source, .. } => {
                let mut lines = source.said();
                lines.push(format!("{}{source}", source.label()));
                lines
            }
            _ => Vec::new(),
        }
    }
}

/// From this length of the index on, in bytes, HEAD's tree is read at the same time: either may have to come from a
/// disk, and a thread costs less than that.
const LARGE_INDEX_LEN: u64 = 4 << 20;

/// One working copy and what is known of it.
pub struct Session {
    repository: Repository,
    settings: Settings,
    objects: Objects,
    object_pool: ObjectPool,
    refs: Refs,
    converter: Converter,
    attributes: Arc<Attributes>,
    messages: Arc<Messages>,
    /// Attributes were asked for that should come from a tree that is not there.
    missed_attributes: Arc<MissedAttributes>,
    excludes: Excludes,
    index: Option<IndexState>,
    tags: TagIndex,
    prompt: prompt::Memory,
    /// Whether scans are remembered: not for a single question.
    is_kept: bool,
    stderr: FilterStderr,
}

/// An index and what was made of it.
struct IndexState {
    loaded: Arc<LoadedIndex>,
    tree: DirTree,
    /// What of the index was written as a sparse one, if it was.
    written_sparse: Option<WrittenSparse>,
    /// What scans of this index remember, and of which kind of question.
    memory: Option<(Question, ScanMemory)>,
    staged: Option<StagedMemory>,
    counted: Option<MarkCounts>,
}

/// An index that was written as a sparse one.
#[derive(Clone)]
struct WrittenSparse {
    /// A directory that is one entry is in the working tree: git then works with all entries.
    has_present_directory: bool,
    /// Directories that are one entry, beside others of what is below them.
    crowded: Vec<BString>,
}

/// The kind of question that a memory of scans holds for.
#[derive(Clone, PartialEq, Eq)]
struct Question {
    untracked: UntrackedMode,
    ignored: IgnoredMode,
}

/// HEAD against the index, as long as neither moves.
struct StagedMemory {
    head: Option<ObjectId>,
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
    ///
    /// Filters of contents write their complaints where `stderr` says.
    pub fn open(
        repository: Repository,
        is_kept: bool,
        stderr: FilterStderr,
    ) -> Result<Self, SessionError> {
        let settings = Settings::new(&repository)?;
        Self::open_with(repository, settings, is_kept, stderr)
    }

    /// As [`Self::open`], with settings that were read already.
    pub fn open_with(
        repository: Repository,
        settings: Settings,
        is_kept: bool,
        stderr: FilterStderr,
    ) -> Result<Self, SessionError> {
        let refs = Refs::open(&repository)?;
        let objects = Objects::open_with(&repository, &refs)?;
        let object_pool = ObjectPool::new(&objects);
        let messages = Arc::new(Messages::default());
        let nothing = Arc::new(LoadedIndex::none(repository.hash));
        let attributes = Arc::new(Attributes::new(
            attributes::Settings::of(&repository)?,
            surroundings::blobs(&nothing, &objects, SourceOfAttributes::Index),
            messages.clone(),
        ));
        let converter = Converter::new(
            convert::Settings::of(&repository, stderr)?,
            attributes.clone(),
        );
        let excludes = Excludes::new(&repository, &settings);
        Ok(Self {
            repository,
            settings,
            objects,
            object_pool,
            refs,
            converter,
            attributes,
            messages,
            missed_attributes: Arc::default(),
            excludes,
            index: None,
            tags: TagIndex::default(),
            prompt: prompt::Memory::default(),
            is_kept,
            stderr,
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
        if self
            .index
            .as_ref()
            .is_some_and(|state| state.loaded.is_current() && !self.has_new_sparse_directory(state))
        {
            return Ok(());
        }
        let top = self.top()?.to_owned();
        let repository = &self.repository;
        let load = || {
            index_file::load(
                &repository.index_path,
                &repository.git_dir,
                &top,
                repository.hash,
            )
        };
        let is_large = || {
            vigil_linux::stat::stat_path(&repository.index_path)
                .is_ok_and(|stat| stat.size >= LARGE_INDEX_LEN)
        };
        let mut loaded = match self.index.is_none() && is_large() {
            true => {
                let (refs, pool) = (&self.refs, &self.object_pool);
                std::thread::scope(|scope| {
                    scope.spawn(|| read_head_ahead(refs, pool));
                    load()
                })
            }
            false => load(),
        }?;
        if loaded.stat.is_some()
            && let Some(threads) = self.repository.config.entry("index.threads")
        {
            threads.bool_or_int()?;
        }
        if self.repository.config.boolean("core.splitIndex")? == Some(true)
            && self.collapsing_rules(&loaded, &mut Vec::new())?.is_some()
        {
            let text = "cannot use split index with a sparse index".to_owned();
            return Err(repository::Error::Refused(text).into());
        }
        let mut written_sparse = None;
        if loaded.index.is_sparse() {
            let mut has_present_directory = false;
            let trees = &self.objects;
            let crowded = crowded_sparse_directories(&loaded.index);
            loaded.index = staged::expand_sparse_directories(loaded.index, trees, |path| {
                let is_present = is_present(&top, path);
                has_present_directory |= is_present;
                is_present || crowded.iter().any(|other| other == path)
            })?;
            written_sparse = Some(WrittenSparse {
                has_present_directory,
                crowded,
            });
        }
        let tree = DirTree::new(&loaded.index);
        self.index = Some(IndexState {
            loaded: Arc::new(loaded),
            tree,
            written_sparse,
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

    /// Makes attributes and filters see files and index as they are now.
    fn refresh_attributes(&self) -> Result<(), SessionError> {
        let Some(state) = &self.index else {
            return Ok(());
        };
        let tree = match SourceTree::of(&self.repository) {
            None => SourceOfAttributes::Index,
            Some(source) => {
                match revision::resolve(source.name.as_bstr(), &self.refs, &self.objects) {
                    Ok(Some(id)) => {
                        SourceOfAttributes::Tree(self.objects.peel_to_tree(&id).unwrap_or(id))
                    }
                    _ if source.required => {
                        SourceOfAttributes::Missing(self.missed_attributes.clone())
                    }
                    _ => SourceOfAttributes::Index,
                }
            }
        };
        self.missed_attributes
            .reset(matches!(tree, SourceOfAttributes::Missing(_)));
        self.converter
            .refresh(surroundings::blobs(&state.loaded, &self.objects, tree));
        Ok(())
    }

    /// An error if attributes were asked for, and the tree that they come from is not there. git finds out when it looks
    /// at the first path, and so it does without where nothing asks.
    fn check_attributes(&self) -> Result<(), SessionError> {
        if self.missed_attributes.is_asked_for() {
            let text = SourceTree::UNRESOLVED.to_owned();
            return Err(repository::Error::Refused(text).into());
        }
        Ok(())
    }

    /// The tree of the commit that HEAD names; `None` on an unborn branch. It is there, whether or not it is needed:
    /// git gives up without it.
    fn head_tree(&self, head: &Head) -> Result<Option<ObjectId>, SessionError> {
        let Some(id) = head_id(head) else {
            return Ok(None);
        };
        let tree = match self.objects.peel_to_tree(&id) {
            Err(objects::Error::Missing { id: missing }) if missing == id => {
                return Err(SessionError::BadHead);
            }
            tree => tree?,
        };
        match self.objects.kind(&tree)? {
            Some(_) => Ok(Some(tree)),
            None => Err(SessionError::BadHeadTree),
        }
    }

    /// What attributes and filters said since the last answer, each line whole.
    pub fn take_messages(&self) -> Vec<BString> {
        self.messages.take()
    }
}

/// The commit that HEAD names.
fn head_id(head: &Head) -> Option<ObjectId> {
    match head {
        Head::Branch { id, .. } => *id,
        Head::Detached(id) => Some(*id),
    }
}

/// Has HEAD's tree brought into memory. Whatever is wrong with it is said when it is used.
fn read_head_ahead(refs: &Refs, pool: &ObjectPool) {
    if let Ok(head) = refs.head()
        && let Some(id) = head_id(&head)
    {
        pool.with(|objects| {
            let tree = objects.peel_to_tree(&id);
            tree.and_then(|tree| objects.read(&tree, &mut Vec::new()))
                .is_ok()
        });
    }
}

/// The sparse directories below which the index has entries of their own, as a conflict leaves them.
fn crowded_sparse_directories(index: &vigil_model::index::Index) -> Vec<BString> {
    let mut entries = index.entries().iter().peekable();
    let mut crowded = Vec::new();
    while let Some(entry) = entries.next() {
        let path = index.path(entry);
        let is_below = |other: &&vigil_model::index::Entry| index.path(other).starts_with(path);
        if entry.is_sparse_directory() && entries.peek().is_some_and(is_below) {
            crowded.push(path.to_owned());
        }
    }
    crowded
}

/// Whether there is anything at `path`; a directory, or a link to one, where it ends in `/`.
fn is_present(top: &Path, path: &BStr) -> bool {
    path.to_path()
        .is_ok_and(|path| lstat_path(&top.join(path)).is_ok())
}
