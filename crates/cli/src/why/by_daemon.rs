//! By what the daemon knows what it says of paths, if one runs and keeps the working copy.

use bstr::BString;
use vigil_daemon::client::Client;
use vigil_daemon::protocol::{BasisQuestion, KnownBy, Request, Response};
use vigil_daemon::variables;
use vigil_git::environment::Environment;

/// By what each of `paths`, from the top, is known; nothing where the daemon does not say. It is asked after the answer was found out, and
/// so what it says is no part of that.
pub(super) fn ask(
    paths: Vec<BString>,
    is_of_mercurial: bool,
    environment: &Environment,
) -> Vec<KnownBy> {
    if variables::is_off(environment) {
        return Vec::new();
    }
    let count = paths.len();
    let client = Client::of_command(environment);
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
