//! Holds the session of a working copy, which is made for the first question, and anew if the repository is replaced by another.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bstr::BStr;
use vigil_hg::abort::Abort;
use vigil_hg::repository::{self, Repository};
use vigil_linux::stat::stat_path;
use vigil_store::{Steps, Store};
use vigil_watch::Watcher;

use super::HgSession;
use crate::session::audit::{Audit, Extent};
use crate::session::watch_basis::WatchPositions;
use crate::session::{Basis, WatchReport};

/// Finds the top of the innermost Mercurial working copy around `directory`.
pub fn root_around(directory: &Path) -> Option<PathBuf> {
    repository::find(directory)
}

/// Whether the innermost repository around `directory` is Mercurial's. git wins if both are in the same folder.
pub fn is_innermost(directory: &Path) -> bool {
    let has = |folder: &Path, name| stat_path(&folder.join(name));
    for folder in directory.ancestors() {
        if has(folder, ".git").is_ok() {
            return false;
        }
        if has(folder, ".hg").is_ok_and(|stat| stat.is_dir()) {
            return true;
        }
    }
    false
}

/// One working copy, with its session if anything was asked yet.
#[derive(Default)]
pub struct HgWorkingCopy {
    session: Option<HgSession>,
    /// Whether the session may have a state on disk.
    has_state: bool,
    /// Whether it is kept for many questions.
    is_kept: bool,
    /// Whether no file may stay open or mapped between two questions.
    holds_no_files: bool,
    /// Reports changes, if the working copy is kept.
    watcher: Option<Arc<Watcher>>,
}

impl HgWorkingCopy {
    /// Makes one that is kept, and looks only at what `watcher`, if there is one, reports.
    pub fn watched_by(watcher: Option<Arc<Watcher>>) -> Self {
        Self {
            session: None,
            has_state: false,
            is_kept: true,
            holds_no_files: false,
            watcher,
        }
    }

    /// Same as [`Session::hold_no_files`](crate::session::Session::hold_no_files), with effect after [`Self::save`],
    /// [`Self::audit`] and [`Self::let_files_go`].
    pub fn hold_no_files(&mut self) {
        self.holds_no_files = true;
    }

    /// Keeps no file mapped, if that is wanted. Call this after each answer.
    pub fn let_files_go(&self) {
        if let Some(session) = self.session.as_ref().filter(|_| self.holds_no_files) {
            session.copy_files_to_memory();
        }
    }

    /// Whether it is kept for many questions.
    pub fn is_kept(&self) -> bool {
        self.is_kept
    }

    /// Returns the session of `repository`, a new one if there is none. Its state may be on disk in `places`; without places no
    /// state is used.
    pub fn session_of(
        &mut self,
        repository: &Repository,
        places: Option<impl FnOnce() -> Vec<Store>>,
    ) -> &mut HgSession {
        let has_state = places.is_some();
        let known = self.session.take().filter(|_| self.has_state == has_state);
        let known = known.filter(|session| session.is_of(repository));
        self.has_state = has_state;
        let watcher = &self.watcher;
        let session = known.unwrap_or_else(|| {
            let places = places.map(|places| places()).unwrap_or_default();
            let mut session = HgSession::new(repository, places);
            if let Some(watcher) = watcher {
                session.watch_by(watcher.clone());
            }
            session
        });
        self.session.insert(session)
    }

    /// Same as [`HgSession::save`], except that errors are ignored: no answer depends on the state.
    pub fn save(&mut self, steps: &dyn Steps) {
        if let Some(session) = &mut self.session {
            let _ = session.save(steps);
        }
        self.let_files_go();
    }

    /// The top of the working copy; `None` before the first question.
    pub fn root(&self) -> Option<&Path> {
        self.session.as_ref().map(HgSession::root)
    }

    /// The number of recorded files.
    pub fn tracked_files(&self) -> usize {
        self.session.as_ref().map_or(0, HgSession::tracked_files)
    }

    /// Same as [`HgSession::audit`]; finds nothing if there is no session.
    ///
    /// # Errors
    /// Same as for [`HgSession::audit`].
    pub fn audit(&mut self, extent: Extent) -> Result<Audit, Abort> {
        let Some(session) = &mut self.session else {
            return Ok(Audit::default());
        };
        let audit = session.audit(extent);
        self.let_files_go();
        audit
    }

    /// Same as [`HgSession::basis`]; `None` if there is no session.
    pub fn basis(&self, path: &BStr) -> Option<Basis> {
        self.session
            .as_ref()
            .and_then(|session| session.basis(path))
    }

    /// Returns the positions up to which the last answer covers changes.
    pub fn watch_positions(&self) -> WatchPositions {
        self.session
            .as_ref()
            .map(HgSession::watch_positions)
            .unwrap_or_default()
    }

    /// Reports what is watched for the working copy.
    pub fn watch_report(&self) -> WatchReport {
        self.session
            .as_ref()
            .map(HgSession::watch_report)
            .unwrap_or_default()
    }
}
