//! Asking the user's daemon, which keeps one session for all shells. Where it is missing or slow, this process answers itself.

use std::time::{Duration, Instant};

use bstr::BString;
use vigil_engine::prompt::PromptRequest;
use vigil_git::environment::Environment;

use super::options::Options;
use super::request::Request;
use crate::client::{Caller, Client, Unanswered};
use crate::protocol::{self, PromptQuestion, Response};
use crate::start::{self, Starter};
use crate::variables;

/// How long a daemon that was slow is not asked: the first time, and at most.
const PAUSE_MIN: Duration = Duration::from_secs(1);
const PAUSE_MAX: Duration = Duration::from_secs(60);

/// The interval between attempts to ask a daemon that is starting.
const START_STEP: Duration = Duration::from_millis(20);

/// The number of those attempts.
const START_STEPS: u32 = 100;

/// How long to wait until a daemon started by this process listens. If it does, the repository is looked at once, for this answer
/// and the next; if this process looked first, the daemon would look again.
const START_TIME: Duration = Duration::from_millis(100);

/// The user's daemon, as seen by a client that asks often.
pub(super) struct Daemon {
    environment: Environment,
    /// `Some(None)` if the user wants no daemon. That is in the home folder, whose disk may hang: it is read for the first question
    /// about a directory, and this is `None` before.
    caller: Option<Option<Caller>>,
    request: PromptRequest,
    summary_len_max: usize,
    variables: Vec<(BString, BString)>,
    /// How long the daemon is not asked when it is slow the next time, and until when it is not asked now.
    pause: Duration,
    next_attempt_at: Option<Instant>,
    starter: Starter,
    /// A question that could not be asked because the daemon was about to start, and the number of attempts left.
    missed: Option<(protocol::Request, u32)>,
}

impl Daemon {
    /// Creates a client of the user's daemon, which asks nothing if `environment` or the configuration says that none is wanted.
    pub(super) fn new(options: &Options, environment: &Environment) -> Self {
        Self {
            environment: environment.clone(),
            caller: None,
            request: options.prompt_request(),
            summary_len_max: options.summary_len_max,
            variables: variables::to_send(environment),
            pause: PAUSE_MIN,
            next_attempt_at: None,
            starter: Starter::new(environment.clone()),
            missed: None,
        }
    }

    /// Returns the response to `request`, if the daemon gives one in time. If no daemon is running, one is started; if it does
    /// not listen in time, it is there for the next request.
    pub(super) fn ask(&mut self, request: &Request) -> Option<Vec<u8>> {
        let directory = request.path()?;
        let environment = &self.environment;
        let caller = self.caller.get_or_insert_with(|| {
            start::is_wanted(environment).then(|| Caller::new(Client::for_command(environment)))
        });
        let caller = caller.as_mut()?;
        self.missed = None;
        if caller.take_late_answer() {
            self.pause = PAUSE_MIN;
            self.next_attempt_at = None;
        }
        if self
            .next_attempt_at
            .is_some_and(|then| Instant::now() < then)
        {
            return None;
        }
        let question = protocol::Request::Prompt(PromptQuestion {
            request: PromptRequest {
                skip_index: request.skip_index,
                ..self.request
            },
            summary_len_max: self.summary_len_max,
            id: request.id.clone(),
            directory: directory.to_owned(),
            from_git_dir: request.from_git_dir,
            variables: self.variables.clone(),
        });
        let mut answered = caller.ask(&question);
        if answered.as_ref().is_err_and(Unanswered::calls_for_start)
            && self.starter.start_and_wait(START_TIME)
        {
            answered = caller.ask(&question);
        }
        match answered {
            Ok(answer) => {
                self.pause = PAUSE_MIN;
                match answer.response {
                    Response::Record(record) => Some(record),
                    _ => None,
                }
            }
            Err(error) if error.calls_for_start() => {
                self.missed = Some((question, START_STEPS));
                None
            }
            Err(Unanswered::TooLong | Unanswered::TooPatient) => None,
            Err(_) => {
                self.next_attempt_at = Instant::now().checked_add(self.pause);
                self.pause = self.pause.saturating_mul(2).min(PAUSE_MAX);
                None
            }
        }
    }

    /// How long to wait for requests before calling [`Self::ask_missed`]. `None` if it need not be called.
    pub(super) fn ask_missed_after(&self) -> Option<Duration> {
        self.missed.as_ref().map(|_| START_STEP)
    }

    /// Call this when there is no request: asks a daemon that has just started the question it missed, so that it knows the
    /// answer next time.
    pub(super) fn ask_missed(&mut self) {
        let Some((question, steps)) = self.missed.take() else {
            return;
        };
        let caller = self.caller.as_mut().and_then(Option::as_mut);
        let asked = caller.map(|caller| caller.ask_ahead(&question));
        if asked.is_some_and(|asked| asked.is_err()) && steps > 1 {
            self.missed = Some((question, steps.saturating_sub(1)));
        }
    }
}
