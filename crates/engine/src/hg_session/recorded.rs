//! The dirstate as a session keeps it, with the tree made from it and the memory of scans.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use vigil_git::index_file::IndexFile;
use vigil_hg::abort::Abort;
use vigil_hg::dirstate::{self, Dirstate};
use vigil_model::HashKind;
use vigil_model::tracked::{Tracked, TreeDiff};
use vigil_scan::ScanMemory;
use vigil_stamp::SeenFile;
use vigil_stamp::stamp::Stamp;

use crate::hg_system::HgSystem;
use crate::state::State;

/// How often a dirstate is read at most if it is replaced during each read.
const TRIES_MAX: usize = 5;

/// A dirstate and what was made from it.
pub(super) struct Recorded {
    pub(super) dirstate: Arc<Dirstate>,
    pub(super) is_v2: bool,
    /// The file that it came from: in the first format the dirstate itself, in the second the docket, which names the data file
    /// and its valid length.
    pub(super) file: IndexFile,
    pub(super) tracked: Tracked,
    /// The numbers of files that are reported even if unchanged on disk: added, removed, or with data from the second parent.
    pub(super) special: Vec<u32>,
    pub(super) memory: Option<ScanMemory>,
    /// How the tracked files differ from those in the state on disk; `None` if it has none.
    pub(super) tree_diff: Option<TreeDiff>,
    /// Whether the state on disk was made from another dirstate.
    is_dirty: bool,
    /// A number unique to each dirstate that was read.
    pub(super) serial: u64,
}

/// A dirstate that was just read.
pub(super) struct DirstateRead {
    dirstate: Dirstate,
    is_v2: bool,
    file: IndexFile,
}

/// Reads the dirstate in the folder `.hg`.
///
/// # Errors
/// The dirstate cannot be read, or is damaged.
pub(super) fn read(dot_hg: &Path, is_v2: bool) -> Result<DirstateRead, Abort> {
    let path = dot_hg.join("dirstate");
    let look = |path: &PathBuf| {
        let stamp = Stamp::of(path).map_err(|error| Abort::io(path, &error.into()))?;
        let path = path.clone();
        Ok(SeenFile { path, stamp })
    };
    let mut tries = 0usize;
    loop {
        tries = tries.saturating_add(1);
        let read_at = vigil_stamp::now();
        let own = look(&path)?;
        let dirstate = dirstate::read(dot_hg, is_v2)?;
        // One that is replaced during every try is young, and so is read again for the next question.
        if look(&path)? == own || tries >= TRIES_MAX {
            return Ok(DirstateRead {
                dirstate,
                is_v2,
                file: IndexFile {
                    own,
                    shared: None,
                    is_sparse: false,
                    notices: Vec::new(),
                    untracked_cache_origin: None,
                    read_at,
                },
            });
        }
    }
}

/// Returns a number that no dirstate had before.
fn next_serial() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

impl DirstateRead {
    /// Makes a record without earlier knowledge.
    pub(super) fn without_state(self) -> Recorded {
        let tracked = HgSystem::tracked(&self.dirstate);
        self.with(tracked, None, None)
    }

    /// Makes a record that uses what the state on disk knows.
    pub(super) fn with_state(self, state: &State) -> Recorded {
        let Some(recorded) = state.recorded(HashKind::Sha1) else {
            let mut alone = self.without_state();
            alone.remember();
            return alone;
        };
        let memory = state.memory(&recorded.tracked);
        if recorded.is_current(&self.file.own.path) && recorded.file.own == self.file.own {
            let mut next = self.with(recorded.tracked, Some(memory), Some(TreeDiff::default()));
            next.is_dirty = false;
            return next;
        }
        let (tracked, tree_diff) = self.tracked_after(&recorded.tracked);
        let memory = memory.carried_over(tracked.directory_number_end() as usize, &tree_diff);
        self.with(tracked, Some(memory), Some(tree_diff))
    }

    /// Makes the record that follows `known`, and the difference between their files.
    pub(super) fn after(self, known: &Recorded) -> (Recorded, TreeDiff) {
        let (tracked, tree_diff) = self.tracked_after(&known.tracked);
        (self.with(tracked, None, None), tree_diff)
    }

    fn tracked_after(&self, before: &Tracked) -> (Tracked, TreeDiff) {
        before.updated_to_records(HgSystem::records(&self.dirstate))
    }

    fn with(
        self,
        tracked: Tracked,
        memory: Option<ScanMemory>,
        tree_diff: Option<TreeDiff>,
    ) -> Recorded {
        let numbered = (0u32..).zip(self.dirstate.iter());
        let special = numbered.filter(|(_, (_, entry))| {
            entry.has_p2_info() || entry.is_added() || entry.is_removed()
        });
        Recorded {
            special: special.map(|(number, _)| number).collect(),
            dirstate: Arc::new(self.dirstate),
            is_v2: self.is_v2,
            file: self.file,
            tracked,
            memory,
            tree_diff,
            is_dirty: true,
            serial: next_serial(),
        }
    }
}

impl Recorded {
    /// Whether the dirstate is still the one that was read.
    pub(super) fn is_current(&self) -> bool {
        self.file.own.is_current(self.file.read_at)
    }

    /// From now on keeps a memory of scans.
    pub(super) fn remember(&mut self) {
        let directories = self.tracked.directory_number_end() as usize;
        self.memory = Some(ScanMemory::new(directories));
    }

    /// Takes over the memory of `before`, from which the files differ by `tree_diff`.
    pub(super) fn with_memory(mut self, before: Self, tree_diff: TreeDiff) -> Self {
        let directories = self.tracked.directory_number_end() as usize;
        let memory = before.memory;
        self.memory = memory.map(|memory| memory.carried_over(directories, &tree_diff));
        self.tree_diff = before.tree_diff.map(|mut all| {
            all.add(tree_diff);
            all
        });
        self
    }

    /// Whether the state on disk lacks anything.
    pub(super) fn needs_saving(&self) -> bool {
        self.is_dirty
            || self
                .tree_diff
                .as_ref()
                .is_none_or(|tree_diff| !tree_diff.is_empty())
            || self.memory.as_ref().is_some_and(ScanMemory::is_dirty)
    }

    /// Notes that the state on disk now has everything.
    pub(super) fn mark_saved(&mut self) {
        self.tree_diff = Some(TreeDiff::default());
        self.is_dirty = false;
    }
}
