//! Watches the repository's own folders, for clients that wait until an answer changes. No answer relies on these events:
//! each question looks at the folders anyway.

use std::path::Path;
use std::sync::Arc;

use vigil_watch::{FolderEvents, FullyWatchedFolders, Position, WatchedTree, Watcher};

/// The most folders that are watched.
const FOLDERS_MAX: usize = 8;

/// The folders, if they can be watched.
pub(super) struct OwnFolders {
    watcher: Arc<Watcher>,
    folders: Option<FullyWatchedFolders>,
}

impl OwnFolders {
    /// Returns folders that are not watched yet.
    pub(super) fn new(watcher: Arc<Watcher>) -> Self {
        Self {
            watcher,
            folders: None,
        }
    }

    /// Reads the events of the folder `.hg`. Call this before anything in it is looked at.
    pub(super) fn listen(&mut self, dot_hg: &Path) {
        let heard = self
            .folders
            .as_mut()
            .map(|folders| folders.take_events(|_| true));
        if heard.is_none_or(|heard| heard == FolderEvents::WatchAnew) {
            self.folders = None;
            self.folders = self.watch(dot_hg);
        }
    }

    fn watch(&self, dot_hg: &Path) -> Option<FullyWatchedFolders> {
        let mut folders = FullyWatchedFolders::new(self.watcher.clone(), FOLDERS_MAX, 0);
        let root = folders.root(dot_hg)?;
        folders.folder(&root, c"store")?;
        folders.folder(&root, c"merge")?;
        folders.finish();
        Some(folders)
    }

    /// The watched trees, each with the position up to which the last question covers changes.
    pub(super) fn known_until(&self) -> impl Iterator<Item = (&Arc<WatchedTree>, Position)> {
        self.folders
            .iter()
            .flat_map(FullyWatchedFolders::known_until)
    }
}
