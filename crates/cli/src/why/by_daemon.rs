//! Asking the daemon how it knows about paths, if one runs and keeps the working copy in memory.

use bstr::BString;
use vigil_daemon::client::Client;
use vigil_daemon::protocol::{BasisQuestion, KnownBy, Request, Response};
use vigil_daemon::variables;
use vigil_git::environment::Environment;

/// Asks how each of `paths`, relative to the top, is known; empty if the daemon does not say. This is asked after the answer
/// was computed, and does not affect it.
pub(super) fn ask(
    paths: Vec<BString>,
    is_of_mercurial: bool,
    environment: &Environment,
) -> Vec<KnownBy> {
    if variables::is_off(environment) {
        return Vec::new();
    }
    let count = paths.len();
    let client = Client::for_command(environment);
    let said = client.ask(&Request::Basis(BasisQuestion {
        directory: environment.working_directory().to_owned(),
        variables: variables::to_send(environment),
        paths,
        is_of_mercurial,
    }));
    match said.map(|said| said.response) {
        Ok(Response::KnownBy(known)) if known.len() == count => known,
        _ => Vec::new(),
    }
}
