//! The repositories that were asked for, kept until they have been idle for long.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::{Duration, Instant};

use vigil_engine::environment::Environment;
use vigil_engine::git::convert::FilterStderr;
use vigil_engine::git::repository::{self, Location};
use vigil_engine::prompt::{Prompt, PromptRequest};
use vigil_engine::session::{Session, SessionError};

use super::options::Options;

/// Why a request has no answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    /// What the engine says.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// A defect: the repository is forgotten, and the process lives on.
    #[error("the answer was given up")]
    Defect,
}

/// Sessions by repository.
pub(super) struct Repositories {
    environment: Environment,
    request: PromptRequest,
    open: HashMap<Location, Kept>,
}

struct Kept {
    session: Session,
    used_at: Instant,
}

impl Repositories {
    pub(super) fn new(options: &Options, environment: Environment) -> Self {
        let request = PromptRequest {
            skip_index: false,
            staged_max: options.staged_max,
            unstaged_max: options.unstaged_max,
            conflicted_max: options.conflicted_max,
            untracked_max: options.untracked_max,
            index_size_max: options.index_size_max,
            each_untracked_file: options.recurse_untracked_dirs,
            ignore_status_show_untracked_files: options.ignore_status_show_untracked_files,
            ignore_bash_show_untracked_files: options.ignore_bash_show_untracked_files,
            ignore_bash_show_dirty_state: options.ignore_bash_show_dirty_state,
            threads_max: Some(options.threads),
        };
        Self {
            environment,
            request,
            open: HashMap::new(),
        }
    }

    /// Answers for the directory `dir`, or with `from_git_dir` for the repository that is there. `None` where
    /// there is none with a working tree.
    pub(super) fn prompt(
        &mut self,
        dir: &Path,
        from_git_dir: bool,
        skip_index: bool,
    ) -> Result<Option<Prompt>, Error> {
        let found = repository::discover_git_dir(&self.environment, dir, from_git_dir);
        let Some(location) = found.map_err(SessionError::from)? else {
            return Ok(None);
        };
        let kept = self
            .open
            .remove(&location)
            .filter(|kept| kept.session.is_fresh());
        let mut session = match kept {
            Some(kept) => kept.session,
            None => {
                let repository =
                    repository::open(&self.environment, &location).map_err(SessionError::from)?;
                if repository.work_tree.is_none() {
                    return Ok(None);
                }
                Session::open(repository, true, FilterStderr::Discard)?
            }
        };
        let request = PromptRequest {
            skip_index,
            ..self.request
        };
        // A session in whose midst something gave way is not used again.
        let answer = catch_unwind(AssertUnwindSafe(|| session.prompt(&request)));
        let prompt = answer.map_err(|_| Error::Defect)??;
        self.open.insert(
            location,
            Kept {
                session,
                used_at: Instant::now(),
            },
        );
        Ok(Some(prompt))
    }

    /// Forgets repositories that nobody asked for in the last `ttl`.
    pub(super) fn drop_idle(&mut self, ttl: Duration) {
        self.open.retain(|_, kept| kept.used_at.elapsed() < ttl);
    }
}
