//! For tests: repositories of a sandbox, opened by somebody who has no home.

use std::path::Path;

use crate::session::Session;
use vigil_git::convert::FilterStderr;
use vigil_git::environment::Environment;
use vigil_git::repository::{Repository, discover};

/// The repository that `folder` is in.
pub(crate) fn repository_at(folder: &Path) -> Repository {
    let variables = [
        ("GIT_CONFIG_NOSYSTEM".into(), "1".into()),
        ("HOME".into(), "/nowhere".into()),
    ];
    let environment = Environment::new(variables, folder);
    discover(&environment, folder).unwrap()
}

/// A session on it, which is kept or not.
pub(crate) fn session_at(folder: &Path, is_kept: bool) -> Session {
    Session::open(repository_at(folder), is_kept, FilterStderr::Discard).unwrap()
}
