//! The repositories that have been asked for, kept until they have been idle for long.

use std::path::Path;
use std::time::{Duration, Instant};

use vigil_engine::prompt::{Prompt, PromptRequest};
use vigil_engine::session::{Session, SessionError};
use vigil_git::child::FilterStderr;
use vigil_git::environment::Environment;
use vigil_git::repository::{self, Location, Search};
use vigil_linux::stat::stat_path;
use vigil_linux::{map, memory};
use vigil_stamp::paths::is_missing;
use vigil_store::NoSteps;

use super::options::Options;
use crate::panics;

/// Why a request has no answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    /// The engine failed.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// A defect: the repository is dropped, and the process goes on.
    #[error("defect: {0}")]
    Defect(String),
    /// Mapped files were truncated again and again.
    #[error("files were truncated while they were read")]
    Cut,
}

/// The number of attempts at an answer, each of which fails if a mapped file is truncated meanwhile.
const ATTEMPTS_MAX: usize = 3;

/// Variables about one repository, in addition to git's own list: this process serves many.
const REPOSITORY_VARIABLES: [&str; 3] =
    ["GIT_ATTR_SOURCE", "GIT_NAMESPACE", "GIT_REFERENCE_BACKEND"];

/// The most repositories that are kept, to bound memory. Nobody uses as many in turn.
const KEPT_MAX: usize = 64;

/// Returns `environment` without the variables that are about one repository: the shell sends `GIT_DIR` and the like itself,
/// and what was exported where the shell began does not hold wherever it goes. Variables about the user (`HOME`,
/// `GIT_CONFIG_GLOBAL`, `GIT_CEILING_DIRECTORIES` and so on) stay as they were at the start.
pub(super) fn of_user(mut environment: Environment) -> Environment {
    for name in repository::LOCAL_VARIABLES
        .iter()
        .chain(&REPOSITORY_VARIABLES)
    {
        environment.remove(name);
    }
    environment
}

/// Sessions by repository.
pub(super) struct Repositories {
    environment: Environment,
    request: PromptRequest,
    /// Sorted by last use, the newest last.
    open: Vec<OpenRepository>,
    /// The index of the repository to check next.
    next_check: usize,
    /// Whether what the last answer learned has been saved.
    is_saved: bool,
    /// The count of truncated mapped files when the open repositories were opened.
    cuts: usize,
}

struct OpenRepository {
    location: Location,
    session: Box<Session>,
    used_at: Instant,
}

impl Repositories {
    /// Creates an empty set. `environment` must not be about one repository ([`of_user`]).
    pub(super) fn new(options: &Options, environment: Environment) -> Self {
        Self {
            environment,
            request: options.prompt_request(),
            open: Vec::new(),
            next_check: 0,
            is_saved: true,
            cuts: map::truncation_count(),
        }
    }

    /// Answers for the directory `dir` or, with `from_git_dir`, for the repository in it. `None` if there is no repository with
    /// a working tree.
    pub(super) fn prompt(
        &mut self,
        dir: &Path,
        from_git_dir: bool,
        skip_index: bool,
    ) -> Result<Option<Prompt>, Error> {
        for _ in 0..ATTEMPTS_MAX {
            // A session that panics is not used again: it was taken out of the list.
            let answer = panics::catch(|| self.answer(dir, from_git_dir, skip_index));
            if !self.drop_if_truncated() {
                return answer.unwrap_or_else(|told| Err(Error::Defect(told)));
            }
        }
        Err(Error::Cut)
    }

    /// Whether a mapped file was truncated since the last call, so that zeros may have been read. If so, drops all sessions.
    fn drop_if_truncated(&mut self) -> bool {
        let cuts = map::truncation_count();
        let has_lost = std::mem::replace(&mut self.cuts, cuts) != cuts;
        if has_lost {
            self.open.clear();
            // Unmapping a truncated file counts it, if that had not been noticed yet.
            self.cuts = map::truncation_count();
        }
        has_lost
    }

    fn answer(
        &mut self,
        dir: &Path,
        from_git_dir: bool,
        skip_index: bool,
    ) -> Result<Option<Prompt>, Error> {
        let search = Search::of_prompt(from_git_dir);
        let found = repository::discover_git_dir(&self.environment, dir, search);
        let Some(location) = found.map_err(SessionError::from)? else {
            return Ok(None);
        };
        let kept = self.take(&location);
        let kept = kept.filter(|kept| kept.session.is_fresh(None));
        let mut session = match kept {
            Some(kept) => kept.session,
            None => {
                let repository =
                    repository::open(&self.environment, &location).map_err(SessionError::from)?;
                if repository.work_tree.is_none() {
                    return Ok(None);
                }
                Box::new(Session::open(repository, true, FilterStderr::Discard)?)
            }
        };
        let request = PromptRequest {
            skip_index,
            ..self.request
        };
        let prompt = session.prompt(&request, None)?;
        self.is_saved = false;
        self.open.push(OpenRepository {
            location,
            session,
            used_at: Instant::now(),
        });
        Ok(Some(prompt))
    }

    /// Takes out the repository at `location`, if it is kept.
    fn take(&mut self, location: &Location) -> Option<OpenRepository> {
        let at = self
            .open
            .iter()
            .rposition(|kept| kept.location == *location);
        at.map(|at| self.open.remove(at))
    }

    /// Writes what the last answer learned to the state on disk, for later processes. `say` receives the errors, and the
    /// reasons why existing states were not used.
    pub(super) fn save(&mut self, say: impl Fn(&dyn std::fmt::Display)) {
        if std::mem::replace(&mut self.is_saved, true) {
            return;
        }
        let Some(kept) = self.open.last_mut() else {
            return;
        };
        for reason in kept.session.take_dropped_states() {
            say(&format_args!("the state is not used: {reason}"));
        }
        match panics::catch(|| kept.session.save(&NoSteps)) {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => say(&error),
            Err(told) => say(&told),
        }
    }

    /// Drops all repositories, because the daemon answers.
    pub(super) fn forget_all(&mut self) {
        if !self.open.is_empty() {
            self.open.clear();
            memory::trim();
        }
        self.cuts = map::truncation_count();
    }

    /// Drops repositories that have not been asked for within the last `ttl`, and reports each to `forgotten`.
    pub(super) fn drop_idle(&mut self, ttl: Duration, mut forgotten: impl FnMut(&Path)) {
        self.open.retain(|kept| {
            let is_idle = kept.used_at.elapsed() >= ttl;
            if is_idle {
                forgotten(&kept.location.git_dir());
            }
            !is_idle
        });
    }

    /// Drops the least recently used repositories if there are too many, and one other if it is gone; each call checks the next
    /// one. Reports each to `forgotten`. Call this after each question.
    pub(super) fn tidy_up(&mut self, mut forgotten: impl FnMut(&Path)) {
        let too_many = self.open.len().saturating_sub(KEPT_MAX);
        for kept in self.open.drain(..too_many) {
            forgotten(&kept.location.git_dir());
        }
        // The last one has just answered, so it need not be checked.
        let others = self.open.len().saturating_sub(1);
        if self.next_check >= others {
            self.next_check = 0;
        }
        let Some(kept) = self.open.get(self.next_check).filter(|_| others > 0) else {
            return;
        };
        let git_dir = kept.location.git_dir();
        if stat_path(&git_dir).is_err_and(is_missing) {
            self.open.remove(self.next_check);
            forgotten(&git_dir);
        } else {
            self.next_check = self.next_check.saturating_add(1);
        }
    }
}
