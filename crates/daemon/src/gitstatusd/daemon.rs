//! Having the user's daemon answer, which keeps one memory for all shells. Where it is not there, or slow, this process answers
//! by itself.

use std::time::{Duration, Instant};

use bstr::BString;
use vigil_engine::prompt::PromptRequest;
use vigil_git::config;
use vigil_git::environment::Environment;

use super::options::Options;
use super::request::Request;
use crate::client::{Caller, Client, Unanswered};
use crate::protocol::{self, PromptQuestion, Response};
use crate::start::Starter;
use crate::variables;

/// How long a daemon that was slow is not asked: first, and at most.
const PAUSE_MIN: Duration = Duration::from_secs(1);
const PAUSE_MAX: Duration = Duration::from_secs(60);

/// The user's daemon, as one who asks often knows it.
pub(super) struct Daemon {
    /// `None` where none is wanted.
    caller: Option<Caller>,
    request: PromptRequest,
    summary_len_max: usize,
    variables: Vec<(BString, BString)>,
    /// How long it is not asked when it is slow the next time, and until when it is not asked now.
    pause: Duration,
    asks_from: Option<Instant>,
    starter: Starter,
    /// A question that the daemon could not be asked, since it was about to start, and how often that is still tried.
    unasked: Option<(protocol::Request, u32)>,
}

/// How long a daemon that starts is given until it is asked again,
const START_STEP: Duration = Duration::from_millis(20);

/// and how often.
const START_STEPS: u32 = 100;

/// How long a daemon that this process starts is waited for until it listens. One that does has the repository looked at once, for
/// this answer and the next; where this process looked for itself first, the daemon would look again.
const START_TIME: Duration = Duration::from_millis(100);

impl Daemon {
    /// The daemon of the user of `environment`, if he wants one.
    pub(super) fn new(options: &Options, environment: &Environment) -> Self {
        Self {
            caller: is_wanted(environment).then(|| Caller::new(Client::of_command(environment))),
            request: options.prompt_request(),
            summary_len_max: options.summary_len_max,
            variables: variables::to_send(environment),
            pause: PAUSE_MIN,
            asks_from: None,
            starter: Starter::new(environment.clone()),
            unasked: None,
        }
    }

    /// The response to `request`, if the daemon has one in time. Where none runs, one is started; if it does not listen at once,
    /// it is there for the next request.
    pub(super) fn ask(&mut self, request: &Request) -> Option<Vec<u8>> {
        let caller = self.caller.as_mut()?;
        let directory = request.path()?;
        self.unasked = None;
        if caller.has_caught_up() {
            self.pause = PAUSE_MIN;
            self.asks_from = None;
        }
        if self.asks_from.is_some_and(|then| Instant::now() < then) {
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
        let is_missing =
            |error: &Unanswered| matches!(error, Unanswered::Absent) || error.is_of_older();
        let mut answered = caller.ask(&question);
        if answered.as_ref().is_err_and(is_missing) && self.starter.start_and_wait(START_TIME) {
            answered = caller.ask(&question);
        }
        match answered {
            Ok(said) => {
                self.pause = PAUSE_MIN;
                match said.response {
                    Response::Record(record) => Some(record),
                    _ => None,
                }
            }
            Err(error) if is_missing(&error) => {
                self.unasked = Some((question, START_STEPS));
                None
            }
            Err(Unanswered::TooLong) => None,
            Err(_) => {
                self.asks_from = Instant::now().checked_add(self.pause);
                self.pause = self.pause.saturating_mul(2).min(PAUSE_MAX);
                None
            }
        }
    }

    /// How long it may be waited for requests until [`Self::rest`] is to be called; `None` where it need not be.
    pub(super) fn rest_after(&self) -> Option<Duration> {
        self.unasked.as_ref().map(|_| START_STEP)
    }

    /// Nobody asks: a daemon that has just started is asked what was asked before, so that it knows the next time.
    pub(super) fn rest(&mut self) {
        let Some((question, steps)) = self.unasked.take() else {
            return;
        };
        let asked = self
            .caller
            .as_mut()
            .map(|caller| caller.ask_ahead(&question));
        if asked.is_some_and(|asked| asked.is_err()) && steps > 1 {
            self.unasked = Some((question, steps.saturating_sub(1)));
        }
    }
}

/// Whether the user wants a daemon: `VIGIL_NO_DAEMON` and `vigil.daemon`, which is read from his configuration and the
/// system's. What is wrong with that is said where it is read for an answer.
pub(super) fn is_wanted(environment: &Environment) -> bool {
    if variables::is_off(environment) {
        return false;
    }
    let configured = config::trusted(environment).map(|config| config.boolean("vigil.daemon"));
    !matches!(configured, Ok(Ok(Some(false))))
}
