//! The repository's own folders, in which changes are heard of by those who wait for another answer. No answer rests on that:
//! what is in them is looked at for each question.

use std::path::Path;
use std::sync::Arc;

use vigil_watch::{FolderEvents, FullyWatchedFolders, Position, WatchedTree, Watcher};

/// How many folders are watched.
const FOLDERS_MAX: usize = 8;

/// The folders, if they can be watched.
pub(super) struct OwnFolders {
    watcher: Arc<Watcher>,
    folders: Option<FullyWatchedFolders>,
}

impl OwnFolders {
    /// Nothing is watched yet.
    pub(super) fn new(watcher: Arc<Watcher>) -> Self {
        Self {
            watcher,
            folders: None,
        }
    }

    /// Takes in what happened in the folder `.hg`. To be called before anything in it is looked at.
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

    /// The trees that are watched, each with the position up to which the last question takes in what happened.
    pub(super) fn known_until(&self) -> impl Iterator<Item = (&Arc<WatchedTree>, Position)> {
        self.folders
            .iter()
            .flat_map(FullyWatchedFolders::known_until)
    }
}
