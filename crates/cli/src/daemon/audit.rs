//! `vigil daemon audit`: compares what the daemon has cached with the disk.

use std::time::Duration;

use vigil_daemon::client::Client;
use vigil_daemon::protocol::{Request, Response};
use vigil_git::environment::Environment;

use super::control;
use crate::reply::{Reply, escaped_lines};

/// The time limit for checking all that is cached.
const PATIENCE: Duration = Duration::from_secs(3600);

/// Reports what was compared. The exit code is 1 if anything differed.
pub(super) fn run(environment: &Environment) -> Reply {
    // A daemon that is halted would be waited for as long as one that checks a lot.
    if let Err(error) = Client::for_daemon(environment, control::PATIENCE).ask(&Request::Ping) {
        return Reply::error(&error.to_string());
    }
    let client = Client::for_daemon(environment, PATIENCE);
    match client.ask(&Request::Audit) {
        Ok(answer) => match answer.response {
            Response::Answer {
                stdout,
                stderr,
                code,
            } => Reply {
                stdout: escaped_lines(&stdout),
                stderr,
                code,
            },
            _ => Reply::error("the daemon gave an unexpected response"),
        },
        Err(error) => Reply::error(&error.to_string()),
    }
}
