//! The place of a session, which is made with the first question and again where the repository is another one.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bstr::BStr;
use vigil_hg::abort::Abort;
use vigil_hg::repository::{self, Repository};
use vigil_store::{Steps, Store};
use vigil_watch::Watcher;

use super::HgSession;
use crate::session::audit::{Audit, Extent};
use crate::session::watch_basis::WatchPositions;
use crate::session::{Basis, WatchReport};

/// The top of the innermost working copy of Mercurial's around `directory`.
pub fn root_around(directory: &Path) -> Option<PathBuf> {
    repository::find(directory)
}

/// What is known of one working copy, if anything is.
#[derive(Default)]
pub struct HgWorkingCopy {
    session: Option<HgSession>,
    /// Whether that may have something on disk.
    has_state: bool,
    /// Whether it is kept for many questions.
    is_kept: bool,
    /// Whether no file is open or mapped between two questions.
    holds_no_files: bool,
    /// Hears of changes, for one that is kept.
    watcher: Option<Arc<Watcher>>,
}

impl HgWorkingCopy {
    /// One that is kept, and looks only at what `watcher` hears of, if there is one.
    pub fn watched_by(watcher: Option<Arc<Watcher>>) -> Self {
        Self {
            session: None,
            has_state: false,
            is_kept: true,
            holds_no_files: false,
            watcher,
        }
    }

    /// As [`Session::hold_no_files`](crate::session::Session::hold_no_files), once what was learned is saved.
    pub fn hold_no_files(&mut self) {
        self.holds_no_files = true;
    }

    /// Whether it is kept for many questions.
    pub fn is_kept(&self) -> bool {
        self.is_kept
    }

    /// The session of `repository`; a new one where there is none, of which something may be on disk in `places`, if that is
    /// wanted.
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

    /// As [`HgSession::save`]. What cannot be saved is missed by nobody.
    pub fn save(&mut self, steps: &dyn Steps) {
        if let Some(session) = &mut self.session {
            let _ = session.save(steps);
            if self.holds_no_files {
                session.copy_state_to_memory();
            }
        }
    }

    /// The top of the working copy, once something was asked.
    pub fn root(&self) -> Option<&Path> {
        self.session.as_ref().map(HgSession::root)
    }

    /// How many files are recorded.
    pub fn tracked_files(&self) -> usize {
        self.session.as_ref().map_or(0, HgSession::tracked_files)
    }

    /// As [`HgSession::audit`]; nothing where nothing is known.
    ///
    /// # Errors
    /// As for that.
    pub fn audit(&mut self, extent: Extent) -> Result<Audit, Abort> {
        let session = self.session.as_mut();
        session.map_or_else(|| Ok(Audit::default()), |session| session.audit(extent))
    }

    /// As [`HgSession::basis`].
    pub fn basis(&self, path: &BStr) -> Option<Basis> {
        self.session
            .as_ref()
            .and_then(|session| session.basis(path))
    }

    /// Up to where the last answer takes in what happened.
    pub fn watch_positions(&self) -> WatchPositions {
        self.session
            .as_ref()
            .map(HgSession::watch_positions)
            .unwrap_or_default()
    }

    /// What is watched for it.
    pub fn watch_report(&self) -> WatchReport {
        self.session
            .as_ref()
            .map(HgSession::watch_report)
            .unwrap_or_default()
    }
}
