//! Answering one request, in a process that ends afterwards.

use std::sync::mpsc::channel;
use std::time::Duration;

use vigil_engine::prompt::PromptRequest;
use vigil_git::environment::Environment;

use super::drawing::Drawer;
use super::log::{Level, Log};
use super::options::Options;
use super::repositories::{Repositories, of_user};
use super::request::Request;
use super::serve::answer;
use crate::client::Client;
use crate::protocol::{self, PromptQuestion, Response};
use crate::start;
use crate::variables;
use vigil_linux::process::thread_builder;

/// An answer, and what was learned from it.
pub struct Answered {
    /// The response to a request with an empty id, with both separators.
    pub record: Vec<u8>,
    learned: Option<Repositories>,
}

impl Answered {
    /// Saves what was learned, for later processes. Call this once the answer has been printed.
    pub fn save(self) {
        if let Some(mut repositories) = self.learned {
            repositories.save(|_| {});
            // The process ends here: freeing the memory of many directories would take longer than saving.
            std::mem::forget(repositories);
        }
    }
}

/// Answers `request`: asks the daemon, or computes the answer itself if that has none in time. If no daemon is running, one is
/// started for the next request.
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

/// Does the same, and appends the output of `drawer`.
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

/// Does the same within the time `within`. A later answer is lost when the process ends.
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
        // The receiver may have given up.
        let _ = sender.send(answered);
    };
    thread_builder().spawn(ask).ok()?;
    receiver.recv_timeout(within).ok()
}

fn ask_daemon(options: &Options, environment: &Environment, request: &Request) -> Option<Vec<u8>> {
    // First, since what follows reads the user's configuration, and the disk of a home may hang.
    let directory = request.path()?.to_owned();
    if !start::is_wanted(environment) {
        return None;
    }
    let client = Client::for_command(environment);
    let question = protocol::Request::Prompt(PromptQuestion {
        request: PromptRequest {
            skip_index: request.skip_index,
            ..options.prompt_request()
        },
        summary_len_max: options.summary_len_max,
        id: request.id.clone(),
        directory,
        from_git_dir: request.from_git_dir,
        variables: variables::to_send(environment),
    });
    match client.ask_unless_slow(&question) {
        Ok(answer) => match answer.response {
            Response::Record(record) => Some(record),
            _ => None,
        },
        Err(error) if error.calls_for_start() => {
            // A failure to start is ignored: this process answers itself, and the next one tries again.
            let _ = start::spawn(environment);
            None
        }
        Err(_) => None,
    }
}
