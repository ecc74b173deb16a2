//! One request of a process that ends with the answer.

use std::sync::mpsc::channel;
use std::thread::Builder;
use std::time::Duration;

use vigil_engine::prompt::PromptRequest;
use vigil_git::environment::Environment;

use super::daemon;
use super::drawing::Drawer;
use super::log::{Level, Log};
use super::options::Options;
use super::repositories::{Repositories, of_user};
use super::request::Request;
use super::serve::answer;
use crate::client::{Client, Unanswered};
use crate::protocol::{self, PromptQuestion, Response};
use crate::start;
use crate::variables;

/// An answer, and what was learned for it.
pub struct Answered {
    /// The response to a request with an empty id, with both separators.
    pub record: Vec<u8>,
    learned: Option<Repositories>,
}

impl Answered {
    /// Keeps what was learned, for later processes. To be called once the answer is out.
    pub fn save(self) {
        if let Some(mut repositories) = self.learned {
            repositories.save(|_| {});
            // The process ends here: freeing what is remembered of many directories would take longer than saving.
            std::mem::forget(repositories);
        }
    }
}

/// The answer to `request`: the daemon's if there is one in time, else this process's own. Where no daemon runs, one is started for
/// the next request.
pub(super) fn ask(options: &Options, environment: Environment, request: &Request) -> Answered {
    let environment = of_user(environment);
    if let Some(record) = ask_daemon(options, &environment, request) {
        return Answered {
            record,
            learned: None,
        };
    }
    let mut repositories = Repositories::new(options, environment);
    let log = Log {
        least: Level::Fatal,
    };
    let record = answer(options, &mut repositories, request, log);
    Answered {
        record,
        learned: Some(repositories),
    }
}

/// The same with what `drawer` draws behind it.
pub(super) fn ask_and_draw(
    options: &Options,
    environment: Environment,
    request: &Request,
    drawer: Option<&Drawer>,
) -> Answered {
    let mut answered = ask(options, environment, request);
    if let Some(draw) = drawer {
        let record = std::mem::take(&mut answered.record);
        answered.record = draw(request.whereabouts(), record);
    }
    answered
}

/// The same, if it takes no longer than `within`. What is not ready then, is lost with the process.
pub(super) fn ask_within(
    options: &Options,
    environment: Environment,
    request: &Request,
    drawer: Option<&Drawer>,
    within: Duration,
) -> Option<Answered> {
    let (sender, receiver) = channel();
    let (options, request) = (options.clone(), request.clone());
    let drawer = drawer.cloned();
    let ask = move || {
        let answered = ask_and_draw(&options, environment, &request, drawer.as_ref());
        // Nobody may be waiting any more.
        let _ = sender.send(answered);
    };
    Builder::new().spawn(ask).ok()?;
    receiver.recv_timeout(within).ok()
}

fn ask_daemon(options: &Options, environment: &Environment, request: &Request) -> Option<Vec<u8>> {
    if !daemon::is_wanted(environment) {
        return None;
    }
    let client = Client::of_command(environment);
    if client.place().was_slow() {
        return None;
    }
    let question = protocol::Request::Prompt(PromptQuestion {
        request: PromptRequest {
            skip_index: request.skip_index,
            ..options.prompt_request()
        },
        summary_len_max: options.summary_len_max,
        id: request.id.clone(),
        directory: request.path()?.to_owned(),
        from_git_dir: request.from_git_dir,
        variables: variables::to_send(environment),
    });
    match client.ask(&question) {
        Ok(said) => match said.response {
            Response::Record(record) => Some(record),
            _ => None,
        },
        Err(Unanswered::Late { .. }) => {
            // The next prompts are not to wait for it.
            client.place().note_slow();
            None
        }
        Err(error) if matches!(error, Unanswered::Absent) || error.is_of_older() => {
            // Who does without asks again.
            let _ = start::spawn(environment);
            None
        }
        Err(_) => None,
    }
}
