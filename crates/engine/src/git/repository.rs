//! Finding a repository, and what is known of it: folders, formats, configuration (git's setup rules).

use std::path::{Path, PathBuf};

use bstr::BString;
use gix_hash::Kind;

use super::config::Config;
use crate::environment::Environment;

/// Why there is no usable repository. The text is git's own, without "fatal: ".
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No repository here or in any parent: the gitstatusd door answers "none".
    #[error("{0}")]
    NotFound(String),
    /// A repository that git refuses to use: unsafe ownership, unknown format, broken `.git` file.
    #[error("{0}")]
    Refused(String),
    /// Its configuration cannot be read.
    #[error(transparent)]
    Config(#[from] super::config::Error),
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
#[derive(Debug)]
pub struct Repository {
    /// The repository's folder, of a linked worktree its own (`GIT_DIR`).
    pub git_dir: PathBuf,
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
    /// How references are stored.
    pub ref_format: RefFormat,
    /// The configuration, all scopes merged.
    pub config: Config,
    /// What the process told us; kept for `GIT_*` variables that are read later.
    pub environment: Environment,
}

/// Finds the repository for `start` as git does, by the environment's `GIT_*` variables or by walking up.
pub fn discover(_environment: &Environment, start: &Path) -> Result<Repository, Error> {
    Err(Error::NotFound(format!(
        "not a git repository (or any of the parent directories): {}",
        start.display()
    )))
}
