//! Chooses the session that answers a status.

use std::sync::Arc;

use vigil_engine::hg_session::{self, HgSession, HgWorkingCopy};
use vigil_hg::abort::Abort;
use vigil_hg::config::{Config, ProcessContext};
use vigil_hg::line_endings::LineEndings;
use vigil_hg::repository::Repository;

/// What the choice depends on.
pub(super) struct SessionQuestion<'q> {
    pub(super) repository: &'q Repository,
    pub(super) config: &'q Config,
    pub(super) process: &'q ProcessContext<'q>,
    /// How files are converted before they are compared.
    pub(super) line_endings: Option<&'q Arc<LineEndings>>,
    /// Whether messages for debugging are shown.
    pub(super) is_debug: bool,
}

impl SessionQuestion<'_> {
    /// Returns the session of the repository in `working_copy`, with a state on disk unless `vigil.stateFile` is false. If files
    /// are converted, puts a session into `unkept`, and returns that.
    ///
    /// # Errors
    /// The configuration is wrong, or files are converted and only Mercurial can answer.
    pub(super) fn session<'k>(
        &self,
        working_copy: &'k mut HgWorkingCopy,
        unkept: &'k mut Option<HgSession>,
    ) -> Result<&'k mut HgSession, Abort> {
        if self.line_endings.is_some() {
            if working_copy.is_kept() {
                return Err(Abort::unsupported("converted line endings, by a daemon"));
            }
            if self.is_debug {
                let message = "messages about converted files (--debug)";
                return Err(Abort::unsupported(message));
            }
            return Ok(unkept.insert(unkept_session(self.repository, self.line_endings)));
        }
        let is_saved = self.config.boolean("vigil", "stateFile", true)?;
        let places = || hg_session::places(self.repository, self.process.variable);
        Ok(working_copy.session_of(self.repository, is_saved.then_some(places)))
    }
}

/// Makes a session without a place for a state: nothing that it learns is kept.
pub(super) fn unkept_session(
    repository: &Repository,
    line_endings: Option<&Arc<LineEndings>>,
) -> HgSession {
    let mut session = HgSession::new(repository, Vec::new());
    if let Some(line_endings) = line_endings {
        session.convert(line_endings.clone());
    }
    session
}
