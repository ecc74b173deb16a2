//! Finding a repository, and what is known of it: folders, formats, configuration (git's setup rules).

use std::path::{Path, PathBuf};

use vigil_linux::errno;

use super::config::load::Reader;
use crate::environment::Environment;
use vigil_stamp::paths::bytes_of;

mod checks;
mod error;
pub(crate) mod find;
mod format;
pub(crate) mod gitfile;
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
pub use self::find::Location;
pub use self::local_variables::LOCAL_VARIABLES;
pub use self::opened::Repository;
pub use self::ref_format::RefFormat;
pub use self::submodule::{submodule, submodule_references};

/// Finds the repository for `start` as git does, by the environment's `GIT_*` variables or by walking up.
pub fn discover(environment: &Environment, start: &Path) -> Result<Repository, Error> {
    let start = physical(start)?;
    let mut reader = Reader::new(environment);
    reader.check_early()?;
    let location = find::find(&mut reader, &start, None)?;
    setup::open(reader, &location, &start)
}

/// Finds only where the repository for `start` is, without reading its configuration.
///
/// `None` if there is none. With `from_dotgit`, `start` is itself the repository's folder (or a file that names one),
/// and nothing is searched, whatever `GIT_DIR` says; such a repository works in `core.worktree`, or in the directory
/// that holds it.
///
/// At `still` there is a repository, whose folder is what it was.
pub fn discover_git_dir(
    environment: &Environment,
    start: &Path,
    from_dotgit: bool,
    still: Option<&Location>,
) -> Result<Option<Location>, Error> {
    let mut reader = Reader::new(environment);
    let found = if from_dotgit {
        find::explicit(&mut reader, Path::new("/"), &bytes_of(start).to_owned()).map(|name| {
            Location {
                kind: find::Kind::Alone,
                name,
                directory: PathBuf::from("/"),
            }
        })
    } else {
        physical(start).and_then(|start| find::find(&mut reader, &start, still))
    };
    match found {
        Ok(location) => Ok(Some(location)),
        Err(Error::NotFound(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Opens the repository that was found at `location`, as seen from where the search ended.
pub fn open(environment: &Environment, location: &Location) -> Result<Repository, Error> {
    setup::open(Reader::new(environment), location, &location.directory)
}

/// The directory without symbolic links, as the kernel names a working directory.
fn physical(start: &Path) -> Result<PathBuf, Error> {
    std::fs::canonicalize(start).map_err(|error| {
        let errno = vigil_linux::Errno::from_io_error(&error).unwrap_or(vigil_linux::Errno::NOENT);
        Error::NotFound(format!(
            "Unable to read current working directory: {}",
            errno::text(errno)
        ))
    })
}
