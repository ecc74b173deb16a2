//! For tests: repositories of a sandbox, opened as a user without a home.

use std::path::Path;

use crate::session::Session;
use vigil_git::child::FilterStderr;
use vigil_git::environment::Environment;
use vigil_git::repository::{Repository, discover};

/// Opens the repository that `folder` is in.
pub(crate) fn repository_at(folder: &Path) -> Repository {
    let variables = [
        ("GIT_CONFIG_NOSYSTEM".into(), "1".into()),
        ("HOME".into(), "/nowhere".into()),
    ];
    let environment = Environment::new(variables, folder);
    discover(&environment, folder).unwrap()
}

/// Opens a session on that repository, for many questions if `is_kept`.
pub(crate) fn session_at(folder: &Path, is_kept: bool) -> Session {
    Session::open(repository_at(folder), is_kept, FilterStderr::Discard).unwrap()
}
