//! The repositories that were asked for, kept until they have been idle for long.

use std::path::Path;
use std::time::{Duration, Instant};

use vigil_engine::prompt::{Prompt, PromptRequest};
use vigil_engine::session::{Session, SessionError};
use vigil_git::convert::FilterStderr;
use vigil_git::environment::Environment;
use vigil_git::repository::{self, Location, Search};
use vigil_linux::stat::stat_path;
use vigil_linux::{Errno, map, memory};
use vigil_store::NoSteps;

use super::options::Options;
use crate::panics;

/// Why a request has no answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    /// What the engine says.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// A defect: the repository is forgotten, and the process lives on.
    #[error("defect: {0}")]
    Defect(String),
    /// Again and again something was cut off.
    #[error("files were cut off while they were read")]
    Cut,
}

/// How often a question is answered anew since something was cut off that may have been read for it.
const ANEW_MAX: usize = 3;

/// Variables that are about one repository beside those that git counts among them: this process serves many.
const REPOSITORY_VARIABLES: [&str; 3] =
    ["GIT_ATTR_SOURCE", "GIT_NAMESPACE", "GIT_REFERENCE_BACKEND"];

/// The most that are kept: memory is bounded, and nobody has so many in turn.
const KEPT_MAX: usize = 64;

/// `environment` but for what is in it about one repository alone: `GIT_DIR` and its like are the shell's to send, and what was
/// exported where the shell began does not hold wherever it goes. What is about the user (`HOME`, `GIT_CONFIG_GLOBAL`,
/// `GIT_CEILING_DIRECTORIES` and so on) holds as it was at the start.
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
    /// The one that was asked last is the last.
    open: Vec<Kept>,
    /// Which of them is to be looked at next.
    next_look: usize,
    /// Whether what was learned in the last answer is saved.
    is_saved: bool,
    /// How many mapped files were found to be cut when all that are open were opened.
    cuts: usize,
}

struct Kept {
    location: Location,
    session: Box<Session>,
    used_at: Instant,
}

impl Repositories {
    /// With `environment`, which says nothing about one repository alone ([`of_user`]).
    pub(super) fn new(options: &Options, environment: Environment) -> Self {
        Self {
            environment,
            request: options.prompt_request(),
            open: Vec::new(),
            next_look: 0,
            is_saved: true,
            cuts: map::cuts(),
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
        for _ in 0..ANEW_MAX {
            // What gave way in its midst is not used again: the session was taken out.
            let answer = panics::catch(|| self.answer(dir, from_git_dir, skip_index));
            if !self.has_lost_anything() {
                return answer.unwrap_or_else(|told| Err(Error::Defect(told)));
            }
        }
        Err(Error::Cut)
    }

    /// Whether a mapped file was cut since this was asked last, so that zeros may have been read. All that is open is then
    /// let go of.
    fn has_lost_anything(&mut self) -> bool {
        let cuts = map::cuts();
        let has_lost = std::mem::replace(&mut self.cuts, cuts) != cuts;
        if has_lost {
            self.open.clear();
            // To let go of what was cut counts it, if that was not seen yet.
            self.cuts = map::cuts();
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
        self.open.push(Kept {
            location,
            session,
            used_at: Instant::now(),
        });
        Ok(Some(prompt))
    }

    /// Takes out the repository at `location`, if it is kept.
    fn take(&mut self, location: &Location) -> Option<Kept> {
        let at = self
            .open
            .iter()
            .rposition(|kept| kept.location == *location);
        at.map(|at| self.open.remove(at))
    }

    /// Writes what was learned in the last answer to the state on disk, for later processes. `say` is told what went wrong
    /// with that, and with states that were there.
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

    /// Forgets all repositories: somebody else answers.
    pub(super) fn forget_all(&mut self) {
        if !self.open.is_empty() {
            self.open.clear();
            memory::give_back();
        }
        self.cuts = map::cuts();
    }

    /// Forgets repositories that nobody asked for in the last `ttl`, and tells which.
    pub(super) fn drop_idle(&mut self, ttl: Duration, mut forgotten: impl FnMut(&Path)) {
        self.open.retain(|kept| {
            let is_idle = kept.used_at.elapsed() >= ttl;
            if is_idle {
                forgotten(&kept.location.git_dir());
            }
            !is_idle
        });
    }

    /// Forgets those that were not asked for the longest, if there are too many, and each time looks whether one of the
    /// others is gone; tells which. To be called after each question.
    pub(super) fn tidy_up(&mut self, mut forgotten: impl FnMut(&Path)) {
        let too_many = self.open.len().saturating_sub(KEPT_MAX);
        for kept in self.open.drain(..too_many) {
            forgotten(&kept.location.git_dir());
        }
        // The last one answered just now.
        let others = self.open.len().saturating_sub(1);
        if self.next_look >= others {
            self.next_look = 0;
        }
        let Some(kept) = self.open.get(self.next_look).filter(|_| others > 0) else {
            return;
        };
        let git_dir = kept.location.git_dir();
        if stat_path(&git_dir).is_err_and(is_gone) {
            self.open.remove(self.next_look);
            forgotten(&git_dir);
        } else {
            self.next_look = self.next_look.saturating_add(1);
        }
    }
}

/// Whether what was looked for when this was said is not there any more.
fn is_gone(error: Errno) -> bool {
    matches!(error, Errno::NOENT | Errno::NOTDIR)
}
