//! `vigil daemon audit`: what the daemon keeps, compared with what is there.

use std::time::Duration;

use vigil_daemon::client::Client;
use vigil_daemon::protocol::{Request, Response};
use vigil_git::environment::Environment;

use crate::reply::Reply;

/// How long it may take to look at all that is kept.
const PATIENCE: Duration = Duration::from_secs(3600);

/// What was compared; the exit code is 1 where anything differed.
pub(super) fn run(environment: &Environment) -> Reply {
    let client = Client::of_daemon(environment, PATIENCE);
    match client.ask(&Request::Audit) {
        Ok(said) => match said.response {
            Response::Answer {
                stdout,
                stderr,
                code,
            } => Reply {
                stdout,
                stderr,
                code,
            },
            _ => Reply::error("the daemon says something else"),
        },
        Err(error) => Reply::error(&error.to_string()),
    }
}
