//! The state of one working copy on disk: the tracked files of an index, how HEAD differs from it, and what scans saw
//! (docs/state-file.md). It saves work and is never needed: whatever is wrong with it, there is an answer without it.

mod blocks;
mod head_tree;
mod origin;
pub(crate) mod recorded_listing;
mod report;
mod staged;

use std::borrow::Cow;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gix_hash::Kind;
use rustix::fs::{CWD, Mode, OFlags};
use vigil_model::clock::{ClockMark, untrusted_since};
use vigil_model::timestamp::Timestamp;
use vigil_model::tracked::{Block, Tracked, TreeDiff};

use self::blocks::{PublishedBlocks, has_plausible_counts};
use vigil_git::index_file::{IndexFile, SeenFile};
use vigil_git::repository::Repository;
use vigil_git::staged::StagedDiff;
use vigil_git::state_place::{self, places};
use vigil_scan::ScanMemory;
use vigil_stamp::trust::{self, FileSystem, FileSystemTrust};
use vigil_store::{
    BlockSource, Changes, NoState, PublishOutcome, Snapshot, StateTable, Steps, Store, StoreError,
};

pub(crate) use head_tree::HeadTree;
pub use recorded_listing::ListingValidity;
pub use report::{
    DirectoryReport, IndexRelation, IndexReport, ListingReport, PlaceReport, PublishedReport,
    StateReport, TableReport,
};
pub(crate) use staged::StagedBase;

/// The keys of the general blocks.
const ORIGIN: u32 = 0;
const STAGED: u32 = 1;
const HEAD_TREE: u32 = 2;

/// The state of a working copy, as far as it has one.
pub(crate) struct State {
    /// The state's place inside the repository.
    in_repository: PathBuf,
    /// The possible places, the first choice first.
    stores: Vec<Store>,
    /// The index of the place in use.
    chosen: usize,
    snapshot: Option<Snapshot>,
    /// The clocks when this process began to look.
    mark: ClockMark,
    /// The time from which recorded stamps prove nothing, if any.
    untrusted_since: Option<Timestamp>,
    /// The file system of the working tree.
    file_system: Option<FileSystem>,
    trust: FileSystemTrust,
    /// Whether another writer has published since.
    is_superseded: bool,
    is_damaged: bool,
    /// Why existing states were not used, in words.
    dropped: Vec<String>,
}

/// What a state holds of the index.
pub(crate) struct Recorded {
    pub(crate) file: IndexFile,
    pub(crate) tracked: Tracked,
    /// Whether the stamps of the index files prove anything.
    is_believed: bool,
}

impl Recorded {
    /// Whether the index at `path` is still the recorded one.
    pub(crate) fn is_current(&self, path: &Path) -> bool {
        self.is_believed && self.file.own.path == path && self.file.is_current()
    }
}

/// What is to be written.
pub(crate) struct ToSave<'a> {
    pub(crate) file: &'a IndexFile,
    pub(crate) tracked: &'a Tracked,
    /// How the tree of tracked files differs from the published one; `None` if none is published.
    pub(crate) tree_diff: Option<&'a TreeDiff>,
    pub(crate) memory: Option<&'a ScanMemory>,
    /// How the index differs from HEAD's tree.
    pub(crate) staged: Option<(StagedBase, &'a StagedDiff)>,
    /// HEAD's tree, if it can be known without reading its objects.
    pub(crate) head_tree: Option<&'a HeadTree>,
}

/// The blocks of tracked files, some of which may lie in a mapped file.
#[derive(Debug)]
struct TrackedBlocks<'a>(&'a Tracked);

impl BlockSource for TrackedBlocks<'_> {
    fn is_whole(&self) -> bool {
        self.0.check().is_ok()
    }
}

/// Whether the clock was set back since `mark`, before which nothing was looked at. If so, that is now, and nothing that
/// `state` recorded earlier proves anything.
pub(crate) fn clock_went_back(mark: &mut ClockMark, state: Option<&mut State>) -> bool {
    let now = trust::mark_of_run(mark.boot);
    let went_back = untrusted_since(mark, &now).is_some();
    if went_back {
        *mark = now;
        if let Some(state) = state {
            state.distrust(now);
        }
    }
    went_back
}

/// Whether `state` turned out to be damaged, by the files `tracked` that came from it. If so, nothing more is taken from it.
pub(crate) fn forget_if_damaged(state: Option<&mut State>, tracked: Option<&Tracked>) -> bool {
    let Some(Err(damage)) = tracked.map(Tracked::check) else {
        return false;
    };
    if let Some(state) = state {
        state.forget(&damage);
    }
    true
}

impl State {
    /// Opens the state of `repository`, unless it may have none. Nothing was looked at before `mark`.
    pub(crate) fn of(repository: &Repository, mark: ClockMark) -> Option<Self> {
        let stores = places(repository);
        let top = repository
            .work_tree
            .as_deref()
            .filter(|_| !stores.is_empty())?;
        Some(Self::open(
            state_place::in_repository(repository),
            stores,
            top,
            mark,
        ))
    }

    /// Opens the most recent state in `stores`, for the working tree at `top`.
    pub(crate) fn open(
        in_repository: PathBuf,
        stores: Vec<Store>,
        top: &Path,
        mark: ClockMark,
    ) -> Self {
        let mut dropped = Vec::new();
        let found = stores.iter().map(Store::open).enumerate();
        let found = found
            .filter_map(|(at, opened)| match opened {
                Ok(snapshot) => Some((at, snapshot)),
                Err(NoState::Absent { .. }) => None,
                Err(reason) => {
                    dropped.push(reason.to_string());
                    None
                }
            })
            .max_by_key(|(_, snapshot)| ClockMark::from_bytes(snapshot.clock()).wall);
        let (chosen, snapshot) = match found {
            Some((at, snapshot)) => {
                snapshot.read_ahead();
                (at, Some(snapshot))
            }
            None => (0, None),
        };
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let file_system = rustix::fs::openat(CWD, top, flags, Mode::empty())
            .and_then(|top| FileSystem::of(top.as_fd()))
            .ok();
        let trust = file_system.map(|file_system| file_system.trust());
        let mut state = Self {
            in_repository,
            stores,
            chosen,
            snapshot,
            mark,
            untrusted_since: None,
            file_system,
            trust: trust.unwrap_or_default(),
            is_superseded: false,
            is_damaged: false,
            dropped,
        };
        state.ask_the_clock();
        if let Some(snapshot) = &state.snapshot
            && !has_plausible_counts(snapshot)
        {
            let path = snapshot.data_path().display();
            state.forget(&format!("{path} has too many numbers for what is in it"));
        }
        state
    }

    /// Replaces the mapping of the state by a copy, if there is room.
    pub(crate) fn copy_to_memory(&self) {
        if let Some(snapshot) = &self.snapshot {
            snapshot.copy_to_memory();
        }
    }

    fn ask_the_clock(&mut self) {
        let recorded = self
            .snapshot
            .as_ref()
            .map(Snapshot::clock)
            .map(ClockMark::from_bytes);
        self.untrusted_since = recorded.and_then(|recorded| untrusted_since(&recorded, &self.mark));
    }

    /// Returns the tracked files as they were recorded, from whatever index.
    pub(crate) fn recorded(&self, hash: Kind) -> Option<Recorded> {
        let snapshot = self.usable()?;
        let block = snapshot.block(StateTable::General, ORIGIN).ok()??;
        let file = origin::read(block)?;
        Some(Recorded {
            is_believed: self.trusts_index_stamps(&file),
            file,
            tracked: Tracked::new(hash, Arc::new(PublishedBlocks(snapshot.clone()))),
        })
    }

    /// Whether the recorded stamps of an index's files prove anything.
    fn trusts_index_stamps(&self, file: &IndexFile) -> bool {
        self.trust.contents
            && self
                .untrusted_since
                .is_none_or(|time| file.is_entirely_before(time))
    }

    /// Returns the memory of scans of the recorded tree.
    pub(crate) fn memory(&self, tracked: &Tracked) -> ScanMemory {
        let dirs = tracked.directory_number_end() as usize;
        match self.usable() {
            Some(snapshot) if self.trust.is_whole() => {
                let blocks = Arc::new(PublishedBlocks(snapshot.clone()));
                ScanMemory::with_blocks(dirs, blocks, self.untrusted_since)
            }
            _ => ScanMemory::new(dirs),
        }
    }

    /// Returns how the recorded index differs from what it was compared with.
    pub(crate) fn staged(&self) -> Option<(StagedBase, StagedDiff)> {
        let block = |key| self.usable()?.block(StateTable::General, key).ok()?;
        staged::read(block(STAGED)?, block(ORIGIN)?)
    }

    /// Returns HEAD's tree as recorded.
    pub(crate) fn head_tree(&self) -> Option<HeadTree> {
        let block = self
            .usable()?
            .block(StateTable::General, HEAD_TREE)
            .ok()??;
        head_tree::read(block).filter(|head| self.trusts_stamps_of(&head.files))
    }

    /// Whether the stamps of `files`, which may be directories, prove anything.
    pub(crate) fn trusts_stamps_of(&self, files: &[SeenFile]) -> bool {
        let device = self.file_system.map(|file_system| file_system.device);
        let mut stamps = files.iter().filter_map(|file| file.stamp);
        self.trust.is_whole()
            && stamps.all(|stamp| {
                device == Some(stamp.device())
                    && self
                        .untrusted_since
                        .is_none_or(|time| stamp.is_entirely_before(time))
            })
    }

    /// Notes that the clock was set back: nothing that was recorded before `mark` proves anything.
    fn distrust(&mut self, mark: ClockMark) {
        self.untrusted_since = Some(Timestamp::MIN);
        self.mark = mark;
    }

    /// Notes that the state is damaged: nothing more is taken from it, and the next save replaces it.
    pub(crate) fn forget(&mut self, damage: &dyn std::fmt::Display) {
        self.dropped.push(damage.to_string());
        self.is_damaged = true;
    }

    /// Takes the reasons why existing states were not used since the last call.
    pub(crate) fn take_dropped(&mut self) -> Vec<String> {
        std::mem::take(&mut self.dropped)
    }

    /// Returns the published state, if it can be used.
    fn usable(&self) -> Option<&Snapshot> {
        self.snapshot.as_ref().filter(|_| !self.is_damaged)
    }

    /// Whether another writer has published, so that what is in memory does not belong to the published state.
    pub(crate) fn is_superseded(&self) -> bool {
        self.is_superseded
    }

    /// Publishes what is not published yet.
    pub(crate) fn save(
        &mut self,
        save: &ToSave<'_>,
        steps: &dyn Steps,
    ) -> Result<PublishOutcome, StoreError> {
        let is_whole = save.tree_diff.is_none()
            || self.snapshot.is_none()
            || self.untrusted_since.is_some()
            || self.is_damaged;
        let changes = self.changes(save, is_whole);
        let mark = self.mark.to_bytes();
        if self.snapshot.is_none() {
            self.create_parents();
        }
        let mut published = self.publish(changes, is_whole, mark, steps);
        while let Err(StoreError::Io(_) | StoreError::Foreign { .. } | StoreError::Shared { .. }) =
            published
            && self.in_repository.parent().is_some_and(Path::exists)
            && let Some(next) = self.stores.get(self.chosen.saturating_add(1))
        {
            self.snapshot = next.open().ok();
            self.chosen = self.chosen.saturating_add(1);
            self.create_parents();
            published = self.publish(self.changes(save, true), true, mark, steps);
        }
        if let Err(StoreError::Damaged(_)) = published
            && self.snapshot.is_some()
        {
            self.is_damaged = true;
            published = self.publish(self.changes(save, true), true, mark, steps);
        }
        let (published, snapshot) = published?;
        if published == PublishOutcome::Superseded {
            self.is_superseded = true;
        }
        if published.is_new() {
            if let Some(memory) = save.memory {
                memory.mark_written();
            }
            self.snapshot = snapshot;
            self.untrusted_since = None;
            self.is_damaged = false;
        }
        Ok(published)
    }

    /// Makes `tracked` and the memory of scans, which were just published as of `file`, use the published blocks, so that
    /// nothing is in memory twice. Call this if most of it is rarely needed: it is then read again.
    pub(crate) fn use_published_blocks(
        &self,
        file: &IndexFile,
        tracked: &mut Tracked,
        memory: Option<&mut ScanMemory>,
    ) {
        let published = self.usable().zip(self.recorded(tracked.hash_kind()));
        let Some((snapshot, recorded)) = published.filter(|(_, recorded)| recorded.file == *file)
        else {
            return;
        };
        *tracked = recorded.tracked;
        if let Some(memory) = memory.filter(|_| self.trust.is_whole()) {
            memory.back_with(Arc::new(PublishedBlocks(snapshot.clone())));
        }
    }

    /// Creates the parents of the chosen store's folder, if it is in the user's cache. In a repository they are the repository's
    /// own, which may be gone by now.
    fn create_parents(&self) {
        if let Some(store) = self.stores.get(self.chosen)
            && store.folder() != self.in_repository
        {
            state_place::create_parents(store.folder());
        }
    }

    fn publish(
        &self,
        changes: Changes<'_>,
        is_whole: bool,
        mark: [u8; ClockMark::LEN],
        steps: &dyn Steps,
    ) -> Result<(PublishOutcome, Option<Snapshot>), StoreError> {
        let Some(store) = self.stores.get(self.chosen) else {
            return Ok((PublishOutcome::Unchanged, None));
        };
        match (&self.snapshot, is_whole) {
            (Some(base), true) => store.replace(base, changes, mark, steps),
            (base, _) => store.publish(base.as_ref(), changes, mark, steps),
        }
    }

    fn changes<'a>(&self, save: &ToSave<'a>, is_whole: bool) -> Changes<'a> {
        let mut changes = Changes::new();
        changes.set_source(TrackedBlocks(save.tracked));
        match save.tree_diff.filter(|_| !is_whole) {
            None => save.tracked.each_block(|block| match block {
                Block::Directory(number, bytes) => changes.set(StateTable::Tracked, number, bytes),
                Block::Files(key, bytes) => changes.set(StateTable::Files, key, bytes),
            }),
            Some(tree_diff) => {
                for &number in tree_diff.directories.keys() {
                    if let Some(block) = save.tracked.block(number) {
                        changes.set(StateTable::Tracked, number, block);
                    }
                }
                for &key in &tree_diff.files {
                    if let Some(block) = save.tracked.files_block(key) {
                        changes.set(StateTable::Files, key, block);
                    }
                }
                for &key in &tree_diff.removed_files {
                    changes.remove(StateTable::Files, key);
                }
            }
        }
        if let Some(memory) = save.memory.filter(|_| self.trust.is_whole()) {
            let blocks = match is_whole {
                true => memory.all(),
                false => memory.dirty_blocks(),
            };
            for (number, block) in blocks {
                match block {
                    Some(block) => changes.set(StateTable::Seen, number, Cow::Owned(block)),
                    None => changes.remove(StateTable::Seen, number),
                }
            }
        }
        if let Some(tree_diff) = save.tree_diff {
            for &number in &tree_diff.removed {
                changes.remove(StateTable::Tracked, number);
                changes.remove(StateTable::Seen, number);
            }
        }
        let origin = origin::write(save.file);
        if let Some((compared, diff)) = &save.staged {
            match staged::write(compared, &origin, diff) {
                Some(block) => changes.set(StateTable::General, STAGED, Cow::Owned(block)),
                None => changes.remove(StateTable::General, STAGED),
            }
        }
        if let Some(block) = save.head_tree.and_then(head_tree::write) {
            changes.set(StateTable::General, HEAD_TREE, Cow::Owned(block));
        }
        changes.set(StateTable::General, ORIGIN, Cow::Owned(origin));
        changes
    }
}
