//! The index in a session: the tracked files always, the full index only while something needs it.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use bstr::{BString, ByteSlice};
use gix_hash::ObjectId;
use vigil_linux::process::thread_builder;
use vigil_linux::stat::stat_path;
use vigil_model::index::{CacheTree, Index};
use vigil_model::raw_text::text_bytes;
use vigil_model::tracked::{DirNumber, Tracked, TrackedEntry, TreeDiff};
use vigil_model::verdict::{is_racy_entry, leaves_no_more_in_doubt};

use super::Session;
use super::error::SessionError;
use super::excludes::read_pattern_file;
use super::known_presence::KnownPresence;
use super::known_renames::KnownRenames;
use super::sparse_directories::{self, Presence, WrittenSparse};
use crate::git_ignore_files::too_large;
use crate::state::{self, HeadTree, Recorded, StagedBase};
use vigil_git::index_file::{self, IndexFile, LoadedIndex, LoadedTree};
use vigil_git::objects::Objects;
use vigil_git::refs::Refs;
use vigil_git::repository::settings::Settings;
use vigil_git::repository::{self, Repository};
use vigil_git::staged::StagedDiff;
use vigil_rules::sparse::SparseCheckout;
use vigil_scan::ScanMemory;

/// An index and what was derived from it.
pub(super) struct IndexState {
    /// The files that it came from.
    pub(super) file: IndexFile,
    /// The full index, if it was read.
    whole: OnceLock<Index>,
    pub(super) tracked: Tracked,
    /// The cache-tree (the inner `None`: there is none), if the index was read but not kept in full.
    pub(super) cache_tree: Option<Option<CacheTree>>,
    /// What was sparse in the index file, if it was written as a sparse index.
    pub(super) written_sparse: Option<WrittenSparse>,
    /// What scans of this index remember.
    pub(super) memory: Option<ScanMemory>,
    pub(super) staged: Option<StagedMemory>,
    /// How the index differs from a tree that may still be HEAD's, from the state on disk.
    pub(super) recorded_staged: Option<(StagedBase, StagedDiff)>,
    /// HEAD's tree, if the next process may rely on it.
    pub(super) head_tree: Option<HeadTree>,
    /// How the tracked files differ from those in the state on disk; `None` if it has none.
    pub(super) tree_diff: Option<TreeDiff>,
    /// Whether anything else is not in the state on disk.
    pub(super) is_dirty: bool,
    /// A unique number for each index that was read.
    pub(super) serial: u64,
    /// How much of a sparse checkout was present.
    pub(super) presence: KnownPresence,
}

/// HEAD compared with the index, valid as long as neither changes.
pub(super) struct StagedMemory {
    pub(super) head: Option<ObjectId>,
    /// What the index was compared with.
    pub(super) compared: StagedBase,
    pub(super) diff: Arc<StagedDiff>,
    pub(super) max: Option<usize>,
    /// The renames that were found in it.
    pub(super) renames: KnownRenames,
}

/// The length of the index, in bytes, from which HEAD's tree is read at the same time: either may have to come from a disk, and a
/// thread costs less than that.
pub(super) const LARGE_INDEX_LEN: u64 = 4 << 20;

/// Returns a number that no index had before.
fn next_serial() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

impl IndexState {
    /// Creates the state of `file`, of which only the tracked files are known.
    fn of(file: IndexFile, tracked: Tracked) -> Self {
        Self {
            file,
            whole: OnceLock::new(),
            tracked,
            cache_tree: None,
            written_sparse: None,
            memory: None,
            staged: None,
            recorded_staged: None,
            head_tree: None,
            tree_diff: None,
            is_dirty: true,
            serial: next_serial(),
            presence: KnownPresence::default(),
        }
    }

    /// Returns the full index, reading it now if it was not read before.
    pub(super) fn whole(&self, repository: &Repository) -> Result<&Index, SessionError> {
        if self.whole.get().is_none() {
            let loaded = read(repository)?;
            // Only directories of a sparse index are expanded in memory, and such an index is kept in full.
            let _ = self.whole.set(loaded.index);
        }
        self.whole
            .get()
            .ok_or_else(|| repository::Error::Refused("the index is gone".to_owned()).into())
    }

    /// Whether the state on disk has the same names in the directory `number` as now, so that the listings that it recorded
    /// apply.
    pub(super) fn has_recorded_names(&self, number: DirNumber) -> bool {
        self.has_recorded(number, |tree_diff| tree_diff.other_names.contains(&number))
    }

    /// Whether the state on disk has the very same entries, so that the comparisons that it recorded apply.
    pub(super) fn has_recorded_entries(&self, number: DirNumber) -> bool {
        self.has_recorded(number, |tree_diff| {
            tree_diff.directories.contains_key(&number)
        })
    }

    fn has_recorded(&self, number: DirNumber, is_new: impl Fn(&TreeDiff) -> bool) -> bool {
        let is_old =
            |tree_diff: &TreeDiff| !is_new(tree_diff) && !tree_diff.removed.contains(&number);
        self.memory.is_some() && self.tree_diff.as_ref().is_some_and(is_old)
    }

    /// Whether anything is not in the state on disk.
    pub(super) fn needs_saving(&self) -> bool {
        let tree_diff = self.tree_diff.as_ref();
        self.is_dirty
            || tree_diff.is_none_or(|tree_diff| !tree_diff.is_empty())
            || self.memory.as_ref().is_some_and(ScanMemory::is_dirty)
    }

    /// Notes that everything is in the state on disk.
    pub(super) fn mark_saved(&mut self) {
        self.tree_diff = Some(TreeDiff::default());
        self.is_dirty = false;
    }

    fn dirs(&self) -> usize {
        self.tracked.directory_number_end() as usize
    }

    /// Frees what can be read again.
    pub(super) fn free_rereadable(&mut self) {
        if self.is_as_written() {
            self.whole.take();
        }
    }

    /// Whether the entries are those of the file: no directory that is one entry there was expanded.
    pub(super) fn is_as_written(&self) -> bool {
        let written = self.written_sparse.as_ref();
        written.is_none_or(|written| written.expanded.is_empty())
    }

    /// Whether the right directories are expanded, given what is in the working tree `top` now.
    fn is_expansion_current(&mut self, top: Option<&Path>) -> bool {
        let written = self.written_sparse.as_ref();
        if written.is_some_and(|written| written.has_present_directory) {
            return false;
        }
        let presence = sparse_directories::presence_of_any(&self.tracked, top);
        self.note(presence);
        presence != Presence::Present
    }

    fn note(&mut self, presence: Presence) {
        if let Some(written) = &mut self.written_sparse {
            written.are_absent = presence == Presence::Absent;
        }
    }

    /// Whether every directory that is one entry is known to be absent.
    pub(super) fn lacks_sparse_directories(&self) -> bool {
        let written = self.written_sparse.as_ref();
        written.is_some_and(|written| written.are_absent)
    }

    /// Returns the rules of the sparse checkout, if git would make the index sparse by them.
    pub(super) fn collapsing_rules(
        &self,
        repository: &Repository,
        settings: &Settings,
        warnings: &mut Vec<BString>,
    ) -> Result<Option<SparseCheckout>, SessionError> {
        let is_wanted = settings.sparse_checkout
            && settings.sparse_checkout_cone
            && self.file.shared.is_none()
            && repository.config.boolean("index.sparse")? == Some(true);
        if !is_wanted {
            return Ok(None);
        }
        let Some(rules) = read_sparse_rules(repository, warnings) else {
            return Ok(None);
        };
        let checkout = SparseCheckout::parse(&rules, true, settings.ignore_case);
        for text in checkout.warnings() {
            warnings.push([b"warning: ", text.as_slice()].concat().into());
        }
        // git reads the rules before it looks at the entries. To it, a missing index is a sparse one; an index without entries stays
        // as it is.
        let sums = self.tracked.sums();
        let is_empty = sums.entries == 0 && self.file.exists();
        let may_become_sparse = !is_empty && sums.conflicted == 0;
        let is_sparse = checkout.is_cone() && (self.written_sparse.is_some() || may_become_sparse);
        Ok(is_sparse.then_some(checkout))
    }
}

/// Reads the rules of the sparse checkout. `None` if they cannot be read, or are too large, of which git warns.
fn read_sparse_rules(repository: &Repository, warnings: &mut Vec<BString>) -> Option<Vec<u8>> {
    let path = repository.git_dir.join("info/sparse-checkout");
    let rules = read_pattern_file(&path).ok()?;
    if rules.is_none() {
        let shown = repository.shown(&path).as_os_str().as_bytes();
        let text = format!("warning: {}", too_large(shown.as_bstr()));
        warnings.push(text_bytes(&text));
    }
    rules
}

impl Session {
    /// Whether the index in memory is still valid: its file is the same by `is_same`, and the right directories are expanded.
    pub(super) fn holds_index(&mut self, is_same: impl FnOnce(&IndexFile) -> bool) -> bool {
        self.forget_if_clock_went_back();
        let top = self.repository.work_tree.as_deref();
        let state = self.index.as_mut();
        state.is_some_and(|state| is_same(&state.file) && state.is_expansion_current(top))
    }

    /// Reads the index unless it is the one in memory.
    pub(super) fn refresh_index(&mut self) -> Result<(), SessionError> {
        if self.holds_index(IndexFile::is_current) {
            // The rules of the sparse checkout are in another file.
            return match &self.index {
                Some(state) => self.check_split(state),
                None => Ok(()),
            };
        }
        let top = self.repository.work_tree.as_deref();
        let recorded = self.recorded_tree();
        if let Some(recorded) = &recorded
            && recorded.is_current(&self.repository.index_path)
            && let presence = sparse_directories::presence_of_any(&recorded.tracked, top)
            && presence != Presence::Present
        {
            self.check_threads(&recorded.file)?;
            let mut state = self.recorded_state(recorded);
            if let Some(state) = &mut state {
                state.note(presence);
                self.check_split(state)?;
            }
            self.index = state;
            return Ok(());
        }
        if self.index.is_none()
            && recorded.is_none()
            && let Some(loaded) = self.read_index(read_tree)?
            && let presence = sparse_directories::presence_of_any(&loaded.tracked, top)
            && presence != Presence::Present
            && !sparse_directories::has_crowded(&loaded.tracked)
        {
            self.check_threads(&loaded.file)?;
            let mut state = self.first_state(loaded);
            state.note(presence);
            self.check_split(&state)?;
            self.index = Some(state);
            return Ok(());
        }
        if self.follow_index()? {
            return Ok(());
        }
        let LoadedIndex { index, file } = self.read_index(read)?;
        self.check_threads(&file)?;
        let (index, written_sparse) = match file.is_sparse {
            true => {
                let (index, written_sparse) = sparse_directories::expand(
                    index,
                    self.top()?,
                    self.settings.ignore_case,
                    &self.objects,
                )?;
                (index, Some(written_sparse))
            }
            false => (index, None),
        };
        let mut state = IndexState {
            written_sparse,
            ..IndexState::of(file, Tracked::empty(self.repository.hash))
        };
        self.take_over(&mut state, &index, recorded);
        state.whole = OnceLock::from(index);
        self.check_split(&state)?;
        self.index = Some(state);
        Ok(())
    }

    /// Reads the index as its difference from the one in memory, and returns whether that was possible. The full index is read
    /// again when something needs it.
    fn follow_index(&mut self) -> Result<bool, SessionError> {
        let earlier = self.index.as_ref();
        let earlier = earlier.filter(|state| {
            state.written_sparse.is_none() && state.file.exists() && state.file.shared.is_none()
        });
        let following = match earlier {
            Some(earlier) => self.read_index(|of| read_following(of, &earlier.tracked))?,
            None => None,
        };
        let Some((loaded, tree_diff)) = following else {
            return Ok(false);
        };
        self.check_threads(&loaded.file)?;
        let mut state = IndexState {
            cache_tree: Some(loaded.cache_tree),
            ..IndexState::of(loaded.file, loaded.tracked)
        };
        if let Some(earlier) = self.index.take() {
            self.carry_over(&mut state, earlier, tree_diff);
        }
        self.check_split(&state)?;
        self.index = Some(state);
        Ok(true)
    }

    /// Forgets everything that rests on stamps if the clock was set back since the session began to look.
    fn forget_if_clock_went_back(&mut self) {
        if self.index.is_some() && state::clock_went_back(&mut self.mark, self.state.as_mut()) {
            self.index = None;
        }
    }

    /// Returns the tree in the state on disk, if none is in memory.
    fn recorded_tree(&self) -> Option<Recorded> {
        let state = self.state.as_ref().filter(|_| self.index.is_none())?;
        state.recorded(self.repository.hash)
    }

    /// Returns the state of an index that was just read, when nothing is known from earlier.
    fn first_state(&self, loaded: LoadedTree) -> IndexState {
        let dirs = loaded.tracked.directory_number_end() as usize;
        IndexState {
            cache_tree: Some(loaded.cache_tree),
            written_sparse: loaded.file.is_sparse.then(WrittenSparse::default),
            memory: self.state.is_some().then(|| ScanMemory::new(dirs)),
            ..IndexState::of(loaded.file, loaded.tracked)
        }
    }

    /// Returns the recorded state, taken as the current one.
    fn recorded_state(&self, recorded: &Recorded) -> Option<IndexState> {
        let state = self.state.as_ref()?;
        Some(IndexState {
            written_sparse: recorded.file.is_sparse.then(WrittenSparse::default),
            memory: Some(state.memory(&recorded.tracked)),
            recorded_staged: state.staged(),
            tree_diff: Some(TreeDiff::default()),
            is_dirty: false,
            ..IndexState::of(recorded.file.clone(), recorded.tracked.clone())
        })
    }

    /// Makes the tree of `index` from the earlier one, so that what was remembered about that stays valid.
    fn take_over(&mut self, next: &mut IndexState, index: &Index, recorded: Option<Recorded>) {
        let earlier = self.index.take().filter(IndexState::is_as_written);
        if !next.is_as_written() {
            next.tracked = Tracked::of(index);
            return;
        }
        let (tracked, memory, before) = match (earlier, recorded, &self.state) {
            (Some(earlier), ..) => {
                let (tracked, tree_diff) = earlier.tracked.updated_to(index);
                next.tracked = tracked;
                self.carry_over(next, earlier, tree_diff);
                return;
            }
            (None, Some(recorded), Some(state)) => {
                let memory = state.memory(&recorded.tracked);
                (recorded.tracked, memory, TreeDiff::default())
            }
            _ => {
                next.tracked = Tracked::of(index);
                next.memory = self.state.is_some().then(|| ScanMemory::new(next.dirs()));
                return;
            }
        };
        let (tracked, tree_diff) = tracked.updated_to(index);
        next.tracked = tracked;
        self.remember(next, Some(memory), Some(before), tree_diff);
    }

    /// Carries over what was remembered about `earlier`, from which `next` differs by `tree_diff`.
    fn carry_over(&mut self, next: &mut IndexState, earlier: IndexState, tree_diff: TreeDiff) {
        if let Some(watched) = &mut self.watched
            && is_usable(self.settings.ignore_case, &tree_diff)
            && leaves_no_more_in_doubt(next.file.written_at(), earlier.file.written_at())
        {
            let before = (earlier.serial, &earlier.tracked);
            let now = (next.serial, &next.tracked);
            // Entries that the contents decided because the times could not; now the times may.
            let was_racy =
                |entry: &TrackedEntry| is_racy_entry(&entry.stat, earlier.file.written_at());
            watched.index_moved(before, now, &tree_diff, was_racy);
        }
        self.remember(next, earlier.memory, earlier.tree_diff, tree_diff);
    }

    fn remember(
        &self,
        next: &mut IndexState,
        memory: Option<ScanMemory>,
        before: Option<TreeDiff>,
        tree_diff: TreeDiff,
    ) {
        if !is_usable(self.settings.ignore_case, &tree_diff) {
            return;
        }
        next.memory = memory.map(|memory| memory.carried_over(next.dirs(), &tree_diff));
        next.tree_diff = before.map(|mut before| {
            before.add(tree_diff);
            before
        });
    }

    /// Checks `index.threads`, as git does when it reads an index.
    fn check_threads(&self, file: &IndexFile) -> Result<(), SessionError> {
        if file.exists()
            && let Some(threads) = self.repository.config.entry("index.threads")
        {
            threads.bool_or_int()?;
        }
        Ok(())
    }

    /// Refuses an index that would be both split and sparse, as git does when it reads one.
    fn check_split(&self, state: &IndexState) -> Result<(), SessionError> {
        // A value that is not a boolean counts as false.
        let is_split = matches!(
            self.repository.config.boolean("core.splitIndex"),
            Ok(Some(true))
        );
        if is_split
            && state
                .collapsing_rules(&self.repository, &self.settings, &mut Vec::new())?
                .is_some()
        {
            let text = "cannot use split index with a sparse index".to_owned();
            return Err(repository::Error::Refused(text).into());
        }
        Ok(())
    }

    fn read_index<T>(
        &self,
        read: impl FnOnce(&Repository) -> Result<T, SessionError>,
    ) -> Result<T, SessionError> {
        let repository = &self.repository;
        let is_large =
            || stat_path(&repository.index_path).is_ok_and(|stat| stat.size >= LARGE_INDEX_LEN);
        if self.index.is_some() || !is_large() {
            return read(repository);
        }
        let (refs, objects) = (&self.refs, &self.objects);
        std::thread::scope(|scope| {
            // Only saves time: without the thread, the tree is read when it is needed.
            let _ = thread_builder().spawn_scoped(scope, || read_head_ahead(refs, objects));
            read(repository)
        })
    }
}

fn read(repository: &Repository) -> Result<LoadedIndex, SessionError> {
    repository.require_work_tree()?;
    Ok(index_file::load(
        &repository.index_path,
        &repository.git_dir,
        repository.index_shown_from(),
        repository.hash,
    )?)
}

fn read_following(
    repository: &Repository,
    earlier: &Tracked,
) -> Result<Option<(LoadedTree, TreeDiff)>, SessionError> {
    repository.require_work_tree()?;
    Ok(index_file::load_difference(
        &repository.index_path,
        &repository.git_dir,
        repository.index_shown_from(),
        earlier,
    )?)
}

/// Whether what is known about an index applies to one that differs by `tree_diff`. If case is ignored, a changed name may matter
/// anywhere.
fn is_usable(ignore_case: bool, tree_diff: &TreeDiff) -> bool {
    !ignore_case || tree_diff.other_names.is_empty()
}

fn read_tree(repository: &Repository) -> Result<Option<LoadedTree>, SessionError> {
    repository.require_work_tree()?;
    Ok(index_file::load_tree(
        &repository.index_path,
        &repository.git_dir,
        repository.index_shown_from(),
        repository.hash,
    )?)
}

/// Reads HEAD's tree to bring it into memory. Errors are reported when it is used.
fn read_head_ahead(refs: &Refs, objects: &Objects) {
    if let Ok(head) = refs.head()
        && let Some(id) = head.commit()
    {
        let tree = objects.peel_to_tree(&id);
        let _ = tree.and_then(|tree| objects.read(&tree, &mut Vec::new()));
    }
}

#[cfg(test)]
mod tests;
