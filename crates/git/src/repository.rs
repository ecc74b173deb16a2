//! Finding a repository, and what is known of it: folders, formats, configuration (git's setup rules).

use std::path::{Path, PathBuf};

use bstr::{BStr, BString, ByteSlice};
use gix_hash::Kind;
use vigil_linux::errno;

use super::config::Config;
use super::config::load::Reader;
use crate::environment::Environment;
use vigil_stamp::paths::bytes_of;

mod checks;
pub(crate) mod find;
mod format;
pub(crate) mod gitfile;
mod ownership;
pub(crate) mod paths;
pub mod settings;
mod setup;
mod submodule;
#[cfg(test)]
pub(crate) mod tests;

pub use self::find::Location;
pub use self::submodule::{submodule, submodule_references};

/// Why there is no usable repository. The text is git's own, without "fatal: ".
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No repository here or in any parent: the gitstatusd door answers "none".
    #[error("{0}")]
    NotFound(String),
    /// A repository that git refuses to use, as by a broken `.git` file.
    #[error("{0}")]
    Refused(String),
    /// The same, of a format that git does not know (gitrepository-layout(5)).
    #[error("{0}")]
    Format(String),
    /// The same, of another user (`safe.directory`).
    #[error("{text}")]
    Unsafe {
        /// Whole lines for stderr, with their "error: " or "warning: ".
        said: Vec<String>,
        /// The last words, without "fatal: ".
        text: String,
    },
    /// A submodule behind a symbolic link, of which git says no more than an "error: ".
    #[error("{0}")]
    LinkedSubmodule(String),
    /// The same, where git says more before it gives up.
    #[error("{text}")]
    Explained {
        /// Whole lines for stderr, with their "error: " or "warning: ".
        said: Vec<String>,
        /// The last words, without "fatal: ".
        text: String,
    },
    /// Its configuration cannot be read.
    #[error(transparent)]
    Config(#[from] super::config::Error),
}

impl Error {
    /// The lines that git writes to stderr before the one that begins with "fatal: ".
    pub fn said(&self) -> &[String] {
        match self {
            Self::NotFound(_) | Self::Refused(_) | Self::Format(_) | Self::LinkedSubmodule(_) => {
                &[]
            }
            Self::Unsafe { said, .. } | Self::Explained { said, .. } => said,
            Self::Config(error) => error.said(),
        }
    }

    /// Whether git goes on without a repository where it needs none.
    pub fn is_of_no_repository(&self) -> bool {
        matches!(
            self,
            Self::NotFound(_) | Self::Format(_) | Self::Unsafe { .. }
        )
    }
}

/// How a repository stores its references (`extensions.refStorage`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefFormat {
    /// Loose files and `packed-refs`.
    Files,
    /// reftable.
    Reftable,
}

/// A repository and the working tree in use, all folders absolute.
#[derive(Clone, Debug)]
pub struct Repository {
    /// The repository's folder, of a linked worktree its own (`GIT_DIR`).
    pub git_dir: PathBuf,
    /// git's own name for that folder, absolute or relative to the top of the working tree: it depends on how the
    /// repository was found.
    pub git_dir_name: BString,
    /// The folder shared by all worktrees (`GIT_COMMON_DIR`).
    pub common_dir: PathBuf,
    /// The top of the working tree; `None` in a bare repository.
    pub work_tree: Option<PathBuf>,
    /// The caller's directory inside the working tree, with a `/` at its end, or empty at the top.
    pub prefix: BString,
    /// The index file.
    pub index_path: PathBuf,
    /// The folder of the object database.
    pub object_dir: PathBuf,
    /// The kind of object ids.
    pub hash: Kind,
    /// The kind of ids by which objects can be named, too (`extensions.compatObjectFormat`).
    pub compat_hash: Option<Kind>,
    /// How references are stored.
    pub ref_format: RefFormat,
    /// The configuration, all scopes merged.
    pub config: Config,
    /// What the process told us; kept for `GIT_*` variables that are read later.
    pub environment: Environment,
    /// Folder and working tree of each repository that this one is in as a submodule, the outermost first.
    pub outer: Vec<(PathBuf, Option<PathBuf>)>,
}

/// The files in a repository's own folders that say where it is and how it is set up.
const OWN_FILES: [&str; 3] = ["commondir", "config", "config.worktree"];

impl Repository {
    /// How git names the file `path` in what it says: it stands at the top of the working tree.
    pub fn shown<'a>(&self, path: &'a Path) -> &'a Path {
        self.work_tree
            .as_deref()
            .and_then(|top| path.strip_prefix(top).ok())
            .unwrap_or(path)
    }

    /// Whether this is one of the submodules around it, which `core.worktree` makes possible: git runs itself in it over
    /// and over. The outermost repository does not count, since it may be asked for otherwise than by its configuration.
    pub fn is_in_itself(&self) -> bool {
        let mut submodules = self.outer.iter().skip(1);
        submodules
            .any(|(git_dir, work_tree)| *git_dir == self.git_dir && *work_tree == self.work_tree)
    }

    /// The top of the working tree, which must be there to be entered: what `git status` insists on.
    pub fn require_work_tree(&self) -> Result<&Path, Error> {
        self.work_tree
            .as_deref()
            .filter(|path| {
                // Of what is no directory there is none.
                rustix::fs::access(path.join("."), rustix::fs::Access::EXEC_OK).is_ok()
            })
            .ok_or_else(|| Error::Refused("this operation must be run in a work tree".into()))
    }

    /// Whether the configuration, and the files that say where the repository is, are what they were when it was opened.
    pub fn is_fresh(&self) -> bool {
        self.config.is_fresh()
    }

    /// As [`Self::is_fresh`], where the repository's own files are known to say the same.
    pub fn is_fresh_elsewhere(&self) -> bool {
        let is_own = |path: &Path| {
            let in_folder = |folder: &Path| {
                let path = bytes_of(path);
                let name = path.strip_prefix(bytes_of(folder).as_bytes());
                let name = name.and_then(|name| name.strip_prefix(b"/"));
                name.is_some_and(|name| OWN_FILES.iter().any(|own| own.as_bytes() == name))
            };
            in_folder(&self.git_dir) || in_folder(&self.common_dir)
        };
        self.config.is_fresh_beside(is_own)
    }

    /// What `git status` takes from the configuration; to be read once and kept.
    pub fn settings(&self) -> Result<settings::Settings, Error> {
        Ok(settings::Settings::new(self)?)
    }

    /// git's name for `name` in the repository's folder, as messages have it.
    pub(crate) fn name_in_git_dir(&self, name: &str) -> BString {
        let full = join(self.git_dir_name.as_bstr(), name);
        full.strip_prefix(b"./").map_or(full.clone(), BString::from)
    }

    /// Where a path that the configuration gives relates to: git's working directory.
    fn directory(&self) -> &Path {
        self.work_tree.as_deref().unwrap_or(&self.git_dir)
    }
}

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

/// Variables that are about one repository, and mean nothing in another (`git rev-parse --local-env-vars`, without
/// the configuration of the command line).
pub const LOCAL_VARIABLES: [&str; 13] = [
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_CONFIG",
    "GIT_OBJECT_DIRECTORY",
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_GRAFT_FILE",
    "GIT_INDEX_FILE",
    "GIT_NO_REPLACE_OBJECTS",
    "GIT_REPLACE_REF_BASE",
    "GIT_PREFIX",
    "GIT_SHALLOW_FILE",
    "GIT_COMMON_DIR",
];

/// git's name for `path` once it works in `directory`.
fn name_from(path: &Path, directory: &Path) -> BString {
    match paths::part_inside(path, directory) {
        Some(inside) if !inside.is_empty() => inside.to_owned(),
        _ => bytes_of(path).to_owned(),
    }
}

/// Joins git's names of a folder and of something in it.
fn join(folder: &BStr, name: &str) -> BString {
    [folder.as_bytes(), b"/", name.as_bytes()].concat().into()
}
