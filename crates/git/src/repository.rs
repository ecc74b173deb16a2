//! Finds a repository and reads its set-up: directories, formats, configuration (git's setup rules). The order of these
//! steps is in `setup.rs`, and nowhere else: every door opens a repository by [`Setup`].

use std::path::Path;

use crate::environment::Environment;

mod error;
mod find;
mod format;
pub(crate) mod git_dir;
pub(crate) mod gitfile;
mod layout;
mod local_variables;
mod opened;
mod ownership;
pub(crate) mod paths;
pub(crate) mod ref_format;
pub mod settings;
mod setup;
mod submodule;
#[cfg(test)]
pub(crate) mod tests;

pub use self::error::Error;
pub use self::find::{Location, Search};
pub use self::local_variables::LOCAL_VARIABLES;
pub use self::opened::Repository;
pub use self::ref_format::RefFormat;
pub use self::setup::Setup;
pub use self::submodule::{
    format_warnings, is_behind_link, submodule, submodule_folder, submodule_references,
};

/// Finds the repository for `start` as git does: by the environment's `GIT_*` variables, or by walking up.
///
/// # Errors
/// There is none, git refuses to use it, or its configuration cannot be read.
pub fn discover(environment: &Environment, start: &Path) -> Result<Repository, Error> {
    Setup::discover(environment, start)?.open()
}

/// Finds where the repository for `start` is, without reading its configuration.
///
/// `None` if there is none.
///
/// # Errors
/// git refuses to use what was found.
pub fn discover_git_dir(
    environment: &Environment,
    start: &Path,
    search: Search,
) -> Result<Option<Location>, Error> {
    let found = match search {
        Search::Commands => Setup::locate(environment, start),
        Search::Prompts => Setup::locate_for_prompt(environment, start),
        Search::Exact => Setup::named(environment, start),
    };
    match found {
        Ok(setup) => Ok(Some(setup.into_location())),
        Err(Error::NotFound(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Opens the repository found at `location`, as seen from where the search ended.
///
/// # Errors
/// git refuses to use it, or its configuration cannot be read.
pub fn open(environment: &Environment, location: &Location) -> Result<Repository, Error> {
    Setup::from_location(environment, location).open()
}
