//! `vigil daemon status`: the daemon's condition and what it has in memory.

mod json;
mod table;

use vigil_daemon::client::Client;
use vigil_daemon::protocol::{Description, Request, Response};
use vigil_git::environment::Environment;

use super::control::PATIENCE;
use crate::reply::Reply;

pub(super) fn run(environment: &Environment, json: bool) -> Reply {
    let client = Client::for_daemon(environment, PATIENCE);
    match client.ask_any(&Request::Describe) {
        Ok(answer) => match answer.response {
            Response::Description(daemon) if json => Reply::printed(json::write(&daemon), 0),
            Response::Description(daemon) => Reply::printed(table::write(&daemon), 0),
            _ => Reply::error("the daemon gave an unexpected response"),
        },
        Err(error) => Reply::error(&error.to_string()),
    }
}

/// The program's version without the part that tells builds apart.
fn version(daemon: &Description) -> String {
    let words = daemon.program.to_string();
    words.split(' ').next().unwrap_or_default().to_owned()
}

/// The number of files in all its repositories.
fn files(daemon: &Description) -> u64 {
    let files = daemon.repositories.iter().map(|one| one.files);
    files.fold(0, u64::saturating_add)
}
