//! The index as a session has it: the tracked files always, the whole only while something needs it.

use std::path::Path;
use std::sync::OnceLock;

use bstr::{BStr, BString};
use gix_hash::ObjectId;
use vigil_linux::stat::stat_path;
use vigil_model::index::{Entry, Index};
use vigil_model::tracked::Tracked;

use super::surroundings::ObjectPool;
use super::{Session, SessionError, StagedMemory, head_id, is_present};
use crate::git::index_file::{self, IndexFile};
use crate::git::refs::Refs;
use crate::git::repository::{self, Repository};
use crate::git::staged;
use crate::scan::ScanMemory;

/// An index and what was made of it.
pub(super) struct IndexState {
    /// The files that it came from.
    pub(super) file: IndexFile,
    /// All of it, if it was read.
    whole: OnceLock<Index>,
    pub(super) tracked: Tracked,
    /// What of the index was written as a sparse one, if it was.
    pub(super) written_sparse: Option<WrittenSparse>,
    /// What scans of this index remember.
    pub(super) memory: Option<ScanMemory>,
    pub(super) staged: Option<StagedMemory>,
}

/// An index that was written as a sparse one.
pub(super) struct WrittenSparse {
    /// A directory that is one entry is in the working tree: git then works with all entries.
    pub(super) has_present_directory: bool,
    /// Directories that are one entry, beside others of what is below them.
    pub(super) crowded: Vec<BString>,
}

/// From this length of the index on, in bytes, HEAD's tree is read at the same time: either may have to come from a
/// disk, and a thread costs less than that.
const LARGE_INDEX_LEN: u64 = 4 << 20;

impl IndexState {
    /// The whole index, which is read now if it was not before.
    pub(super) fn whole(&self, repository: &Repository) -> Result<&Index, SessionError> {
        if self.whole.get().is_none() {
            let loaded = read(repository)?;
            // Only sparse directories are expanded in memory, and such an index is kept.
            let _ = self.whole.set(loaded.index);
        }
        self.whole
            .get()
            .ok_or_else(|| repository::Error::Refused("the index is gone".to_owned()).into())
    }

    /// Frees what can be read again.
    pub(super) fn let_go(&mut self) {
        if self.written_sparse.is_none() {
            self.whole.take();
        }
    }

    /// Whether a directory that the sparse index does not list is in the working tree now.
    fn has_new_sparse_directory(&self, top: Option<&Path>) -> bool {
        let Some(top) = top.filter(|_| self.tracked.sums().sparse_directories > 0) else {
            return false;
        };
        self.whole.get().is_some_and(|index| {
            let mut entries = index.entries().iter();
            entries.any(|entry| entry.is_sparse_directory() && is_present(top, index.path(entry)))
        })
    }
}

impl Session {
    /// Reads the index if it is not the one in memory.
    pub(super) fn refresh_index(&mut self) -> Result<(), SessionError> {
        let top = self.repository.work_tree.as_deref();
        if let Some(state) = &self.index
            && state.file.is_current()
            && !state.has_new_sparse_directory(top)
        {
            return Ok(());
        }
        let mut loaded = self.read_index()?;
        if loaded.file.exists()
            && let Some(threads) = self.repository.config.entry("index.threads")
        {
            threads.bool_or_int()?;
        }
        let mut written_sparse = None;
        if loaded.index.is_sparse() {
            let top = self.top()?;
            let mut has_present_directory = false;
            let trees = &self.objects;
            let crowded = crowded_sparse_directories(&loaded.index);
            loaded.index = staged::expand_sparse_directories(loaded.index, trees, |path| {
                let is_present = is_present(top, path);
                has_present_directory |= is_present;
                is_present || crowded.iter().any(|other| other == path)
            })?;
            written_sparse = Some(WrittenSparse {
                has_present_directory,
                crowded,
            });
        }
        let state = IndexState {
            tracked: Tracked::of(&loaded.index),
            file: loaded.file,
            whole: OnceLock::from(loaded.index),
            written_sparse,
            memory: None,
            staged: None,
        };
        if self.repository.config.boolean("core.splitIndex")? == Some(true)
            && self.collapsing_rules(&state, &mut Vec::new())?.is_some()
        {
            let text = "cannot use split index with a sparse index".to_owned();
            return Err(repository::Error::Refused(text).into());
        }
        self.index = Some(state);
        Ok(())
    }

    fn read_index(&self) -> Result<index_file::LoadedIndex, SessionError> {
        let repository = &self.repository;
        let is_large =
            || stat_path(&repository.index_path).is_ok_and(|stat| stat.size >= LARGE_INDEX_LEN);
        if self.index.is_some() || !is_large() {
            return read(repository);
        }
        let (refs, pool) = (&self.refs, &self.object_pool);
        std::thread::scope(|scope| {
            scope.spawn(|| read_head_ahead(refs, pool));
            read(repository)
        })
    }
}

fn read(repository: &Repository) -> Result<index_file::LoadedIndex, SessionError> {
    Ok(index_file::load(
        &repository.index_path,
        &repository.git_dir,
        repository.require_work_tree()?,
        repository.hash,
    )?)
}

/// Has HEAD's tree brought into memory. Whatever is wrong with it is said when it is used.
fn read_head_ahead(refs: &Refs, pool: &ObjectPool) {
    if let Ok(head) = refs.head()
        && let Some(id) = head_id(&head)
    {
        pool.with(|objects| {
            let tree: Result<ObjectId, _> = objects.peel_to_tree(&id);
            tree.and_then(|tree| objects.read(&tree, &mut Vec::new()))
                .is_ok()
        });
    }
}

/// The sparse directories below which the index has entries of their own, as a conflict leaves them.
fn crowded_sparse_directories(index: &Index) -> Vec<BString> {
    let mut entries = index.entries().iter().peekable();
    let mut crowded = Vec::new();
    while let Some(entry) = entries.next() {
        let path: &BStr = index.path(entry);
        let is_below = |other: &&Entry| index.path(other).starts_with(path);
        if entry.is_sparse_directory() && entries.peek().is_some_and(is_below) {
            crowded.push(path.to_owned());
        }
    }
    crowded
}
