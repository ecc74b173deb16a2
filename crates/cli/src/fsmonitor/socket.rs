//! `vigil fsmonitor start`, `stop` and `status`: the socket where git looks for its builtin monitor.

use std::time::Duration;

use vigil_daemon::client::{Client, Unanswered};
use vigil_daemon::protocol::{GitSocketAction, GitSocketQuestion, Request, Response};
use vigil_daemon::variables;
use vigil_git::environment::Environment;
use vigil_model::raw_text::raw;

use crate::daemon;
use crate::reply::{Reply, escaped_lines};

/// How long the daemon may take to answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// What is said of a response of the wrong kind.
pub(super) const UNEXPECTED: &str = "the daemon gave an unexpected response";

/// Has the daemon serve the socket. Starts a daemon if none runs.
pub(super) fn start(environment: &Environment) -> Reply {
    match ask(environment, GitSocketAction::Open) {
        // A daemon that is about to end hangs up.
        Err(error) if error.calls_for_start() || matches!(error, Unanswered::Broken) => {
            start_daemon(environment, &error)
        }
        said => reply(said),
    }
}

fn start_daemon(environment: &Environment, why: &Unanswered) -> Reply {
    if variables::is_off(environment) {
        return Reply::error(&why.to_string());
    }
    let started = daemon::start(environment);
    match started.code {
        0 => reply(ask(environment, GitSocketAction::Open)),
        _ => started,
    }
}

/// Has the daemon stop serving the socket.
pub(super) fn stop(environment: &Environment) -> Reply {
    reply(ask(environment, GitSocketAction::Close))
}

/// Reports whether the socket is served.
pub(super) fn status(environment: &Environment) -> Reply {
    reply(ask(environment, GitSocketAction::Status))
}

fn ask(environment: &Environment, action: GitSocketAction) -> Result<Response, Unanswered> {
    let question = Request::GitSocket(GitSocketQuestion {
        directory: environment.working_directory().to_owned(),
        variables: variables::to_monitor(environment),
        action,
    });
    let client = Client::for_files(environment, PATIENCE);
    Ok(client.ask(&question)?.response)
}

fn reply(said: Result<Response, Unanswered>) -> Reply {
    match said {
        Ok(Response::Answer { stdout, code, .. }) => Reply::printed(escaped_lines(&stdout), code),
        Ok(Response::Yourself(reason)) => Reply::error(&raw(&reason).to_string()),
        Ok(_) => Reply::error(UNEXPECTED),
        Err(error) => Reply::error(&error.to_string()),
    }
}
