//! The sessions of submodules, kept between questions by a session whose working tree is watched: of submodules, too, only what
//! changed is looked at.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bstr::{BStr, BString};
use parking_lot::Mutex;
use vigil_git::repository::{Repository, is_behind_link, submodule_folder};
use vigil_linux::stat::stat_path;
use vigil_model::tracked::Tracked;
use vigil_watch::{Position, WatchedTree, Watcher};

use super::repository_watch::SUBMODULE_FOLDERS_MAX;
use super::{Session, UnchangedProof};

/// The most submodules of one working tree whose sessions are kept.
const KEPT_MAX: usize = 1024;

/// What is kept of the submodules of one working tree.
pub(super) struct NestedSessions {
    watcher: Arc<Watcher>,
    /// Whether no file stays open or mapped between two questions.
    pub(super) hold_no_files: bool,
    by_path: Mutex<BTreeMap<BString, NestedSession>>,
    kept_max: usize,
    /// Whether a file was written in one of them that may be tracked elsewhere by another link.
    has_met_links: AtomicBool,
}

/// What is kept of one submodule.
pub(super) struct NestedSession {
    pub(super) session: Session,
    /// The repository's folder, by the name that the submodule has for it; `None` before the first look at that.
    pub(super) folder: Option<PathBuf>,
}

impl NestedSession {
    /// Whether the repository of the submodule at `path` in `parent` is still the same, and set up as it was.
    fn is_fresh(
        &mut self,
        path: &BStr,
        parent: &Repository,
        unchanged: Option<UnchangedProof>,
    ) -> bool {
        // The file that names the folder, if there is one, is part of the set-up.
        if unchanged.is_none() || self.folder.is_none() || is_behind_link(parent, path) {
            match submodule_folder(parent, path) {
                Ok(folder) => self.folder = folder,
                Err(_) => return false,
            }
        }
        let id = |path: &Path| stat_path(path).map(|stat| (stat.dev, stat.ino));
        let found = self.folder.as_deref().map(id);
        let is_same = found
            .is_some_and(|found| found.is_ok() && found == id(&self.session.repository.git_dir));
        is_same && self.session.is_fresh(unchanged)
    }
}

/// What was kept of a submodule, and holds still.
pub(super) struct Fresh {
    pub(super) kept: NestedSession,
    /// Whether nothing changed in the repository's folders since the last answer.
    pub(super) unchanged: Option<UnchangedProof>,
}

impl NestedSessions {
    /// Creates an instance that keeps nothing yet. `watcher` will watch the working trees of the submodules.
    pub(super) fn watched_by(watcher: Arc<Watcher>) -> Self {
        Self {
            watcher,
            hold_no_files: false,
            by_path: Mutex::default(),
            kept_max: KEPT_MAX,
            has_met_links: AtomicBool::new(false),
        }
    }

    /// Takes over what `earlier`, which has the same watcher, keeps.
    pub(super) fn take_over_from(&mut self, earlier: Self) {
        self.by_path = earlier.by_path;
        // The working tree around them may be another one.
        for kept in self.by_path.get_mut().values_mut() {
            kept.folder = None;
        }
    }

    /// Takes what is kept of the submodule at `path`, relative to the top of the working tree of `parent`, if the repository there is
    /// still the same and set up as it was.
    pub(super) fn take_fresh(&self, path: &BStr, parent: &Repository) -> Option<Fresh> {
        // Others are looked at meanwhile.
        let mut kept = self.forget(path)?;
        let unchanged = kept.session.prove_unchanged();
        if kept.is_fresh(path, parent, unchanged) {
            return Some(Fresh { kept, unchanged });
        }
        self.keep(path, kept);
        None
    }

    /// Has the `session` that was opened for the submodule at `path` watched. It takes over what still holds of the one before it.
    pub(super) fn watch(&self, path: &BStr, session: &mut Session) {
        session.watch_folders_by(self.watcher.clone(), SUBMODULE_FOLDERS_MAX);
        if self.hold_no_files {
            session.hold_no_files();
        }
        if let Some(known) = self.forget(path) {
            session.take_over_from(known.session);
        }
    }

    /// Whether the session of the submodule at `path` can be kept. Watching a working tree for one question would cost more than it
    /// saves.
    pub(super) fn has_room_for(&self, path: &BStr) -> bool {
        let by_path = self.by_path.lock();
        by_path.len() < self.kept_max || by_path.contains_key(path)
    }

    /// Notes that a file was written in a submodule that may be tracked elsewhere by another link.
    pub(super) fn note_links(&self) {
        self.has_met_links.store(true, Ordering::Relaxed);
    }

    /// Whether that was noted since the last call.
    pub(super) fn take_met_links(&mut self) -> bool {
        std::mem::take(self.has_met_links.get_mut())
    }

    /// Keeps what is known of the submodule at `path` for the next question.
    pub(super) fn keep(&self, path: &BStr, kept: NestedSession) {
        self.by_path.lock().insert(path.to_owned(), kept);
    }

    /// Forgets what is kept of the submodule at `path`, and returns it.
    pub(super) fn forget(&self, path: &BStr) -> Option<NestedSession> {
        self.by_path.lock().remove(path)
    }

    /// Forgets those that are no longer `tracked`.
    pub(super) fn forget_former(&mut self, tracked: &Tracked) {
        let is_submodule = |path: &BString| {
            let entry = tracked.find_first(path.as_ref());
            entry.is_some_and(|entry| entry.mode.is_gitlink())
        };
        let by_path = self.by_path.get_mut();
        by_path.retain(|path, _| is_submodule(path));
    }

    /// Writes to the states on disk what these lack.
    pub(super) fn save(&mut self) {
        for kept in self.by_path.get_mut().values_mut() {
            kept.session.save_if_left_alone();
        }
    }

    /// The positions up to which the last answer covers changes in submodules.
    pub(super) fn watched_positions(&self) -> Vec<(Arc<WatchedTree>, Position)> {
        let by_path = self.by_path.lock();
        let positions = by_path.values().map(|kept| kept.session.watch_positions());
        positions.flat_map(|positions| positions.trees).collect()
    }

    /// The number of tracked files that a full audit looks at.
    pub(super) fn audited_files(&self) -> u32 {
        let by_path = self.by_path.lock();
        let files = by_path.values().map(|kept| kept.session.audited_files());
        files.fold(0, u32::saturating_add)
    }

    /// Does the same as [`Session::doubt`] for each session.
    pub(super) fn doubt(&self) {
        let by_path = self.by_path.lock();
        by_path.values().for_each(|kept| kept.session.doubt());
    }

    /// The sessions by path.
    pub(super) fn sessions(&mut self) -> impl Iterator<Item = (&BString, &mut Session)> {
        let by_path = self.by_path.get_mut().iter_mut();
        by_path.map(|(path, kept)| (path, &mut kept.session))
    }
}

#[cfg(test)]
pub(super) mod tests;
