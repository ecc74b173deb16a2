//! Finds the repository: by `GIT_DIR`, or by walking up from a directory.

use std::path::{Path, PathBuf};

use bstr::{BStr, BString, ByteSlice};
use vigil_linux::errno;
use vigil_linux::stat::stat_path;
use vigil_model::raw_text::{raw, raw_path};

use super::error::Error;
use super::git_dir::is_git_directory;
use super::gitfile::{self, read_gitfile};
use super::ownership;
use super::paths::absolute;
use crate::config::load::RecordingReader;
use crate::config::value::environment_boolean;
use crate::environment::Environment;
use vigil_stamp::paths::{bytes_of, path_of, real_path};

/// Where a repository was found: enough to open it, and equal for all directories from which it is found in the same way.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Location {
    pub(super) kind: Kind,
    /// git's name for the repository's directory, absolute or relative to `directory`.
    pub(super) name: BString,
    /// Where the search ended: the directory that contains `.git` (not always the top of the working tree), or the caller's for an
    /// explicitly named repository.
    pub(super) directory: PathBuf,
}

impl Location {
    /// The absolute path of the repository's directory.
    pub fn git_dir(&self) -> PathBuf {
        absolute(&self.directory, self.name.as_bstr())
    }

    /// Where the search ended: the directory that contains `.git` (not always the top of the working tree), or the caller's for an
    /// explicitly named repository.
    pub fn found_in(&self) -> &Path {
        &self.directory
    }
}

/// How to look for the repository of a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Search {
    /// As git's commands do: by `GIT_DIR`, else in the directory and all its parents, as `.git` or as the directory itself.
    Commands,
    /// As prompts do: the same, but only as `.git`. Inside a repository's own directory, the working tree around it is shown.
    Prompts,
    /// Not at all: the directory is the repository's own ([`Setup::named`](super::Setup::named)).
    Exact,
}

impl Search {
    /// Returns how to search for a prompt's repository; with `from_git_dir`, its directory is the repository's own.
    pub fn of_prompt(from_git_dir: bool) -> Self {
        match from_git_dir {
            true => Self::Exact,
            false => Self::Prompts,
        }
    }
}

/// How a repository was found, which decides where its working tree is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    /// By `GIT_DIR`.
    Explicit,
    /// As `.git` in a directory.
    Discovered,
    /// The directory is itself a repository.
    Bare,
    /// Named by the caller, without a directory to work in.
    Named,
}

/// Finds the repository for the physical directory `start`. With `is_for_prompts`, only a `.git` counts.
pub(super) fn find(
    reader: &mut RecordingReader<'_>,
    start: &Path,
    is_for_prompts: bool,
) -> Result<Location, Error> {
    match reader.environment.get("GIT_DIR") {
        Some(name) => {
            let name = explicit(reader, start, &name.to_owned())?;
            Ok(Location {
                kind: Kind::Explicit,
                name,
                directory: start.to_owned(),
            })
        }
        None => walk_up(reader, start, is_for_prompts),
    }
}

/// Checks that `name` is a repository's directory, or a file that names one; returns the directory.
pub(super) fn explicit(
    reader: &mut RecordingReader<'_>,
    directory: &Path,
    name: &BString,
) -> Result<BString, Error> {
    const PATH_MAX: usize = 4096;
    if name.len() > PATH_MAX - 40 {
        return Err(Error::Refused("'$GIT_DIR' too big".into()));
    }
    let name = match read_gitfile(reader, directory, name.as_bstr(), directory)? {
        Ok(git_dir) => bytes_of(&git_dir).to_owned(),
        Err(reason) => match reason.fatal(name.as_bstr()) {
            Some(text) => return Err(Error::Refused(text)),
            None => name.clone(),
        },
    };
    let path = directory.join(path_of(&name));
    if !name.is_empty() && is_git_directory(reader.environment, &path, directory)? {
        Ok(name)
    } else {
        Err(Error::NotFound(format!(
            "not a git repository: '{name}'",
            name = raw(&name)
        )))
    }
}

fn walk_up(
    reader: &mut RecordingReader<'_>,
    start: &Path,
    is_for_prompts: bool,
) -> Result<Location, Error> {
    let environment = reader.environment;
    let ceiling = ceiling(environment, start);
    let across = environment_boolean(environment, "GIT_DISCOVERY_ACROSS_FILESYSTEM", false)?;
    // Most searches end where they begin, and need no device number.
    let mut start_device = None;
    let mut directory = start;
    loop {
        if let Some(location) = look_for_dot_git(reader, directory, start)? {
            return Ok(location);
        }
        if !is_for_prompts && is_git_directory(reader.environment, directory, start)? {
            ownership::check_bare(reader, directory)?;
            ownership::check(reader, None, None, directory, directory, start)?;
            return Ok(Location {
                kind: Kind::Bare,
                name: ".".into(),
                directory: directory.to_owned(),
            });
        }
        let slash = bytes_of(directory).rfind_byte(b'/');
        let parent = match (directory.parent(), slash) {
            (Some(parent), Some(slash)) if ceiling.is_none_or(|ceiling| slash > ceiling) => parent,
            _ => {
                return Err(Error::NotFound(
                    "not a git repository (or any of the parent directories): .git".into(),
                ));
            }
        };
        directory = parent;
        if across {
            continue;
        }
        let start_device = match start_device {
            Some(device) => device,
            None => *start_device.insert(device(start)?),
        };
        if device(directory)? != start_device {
            return Err(Error::NotFound(format!(
                "not a git repository (or any parent up to mount point {})\n\
                 Stopping at filesystem boundary (GIT_DISCOVERY_ACROSS_FILESYSTEM not set).",
                raw_path(directory)
            )));
        }
    }
}

/// Looks for a repository as `.git` in one directory; `start` is git's working directory meanwhile.
fn look_for_dot_git(
    reader: &mut RecordingReader<'_>,
    directory: &Path,
    start: &Path,
) -> Result<Option<Location>, Error> {
    let dot_git = directory.join(".git");
    let location = |name: &BStr| {
        Some(Location {
            kind: Kind::Discovered,
            name: name.to_owned(),
            directory: directory.to_owned(),
        })
    };
    match read_gitfile(reader, directory, bytes_of(&dot_git), start)? {
        Ok(git_dir) => {
            ownership::check(
                reader,
                Some(&dot_git),
                Some(directory),
                &git_dir,
                directory,
                start,
            )?;
            return Ok(location(bytes_of(&git_dir)));
        }
        Err(gitfile::Reason::Missing) => {}
        Err(gitfile::Reason::IsDirectory) => {
            if is_git_directory(reader.environment, &dot_git, start)? {
                ownership::check(reader, None, Some(directory), &dot_git, directory, start)?;
                return Ok(location(".git".into()));
            }
        }
        Err(reason) => {
            return Err(Error::Refused(reason.fatal_in_search(bytes_of(&dot_git))));
        }
    }
    Ok(None)
}

fn device(directory: &Path) -> Result<u64, Error> {
    let stat = stat_path(directory);
    stat.map(|stat| stat.dev)
        .map_err(|errno| cannot_stat(directory, errno))
}

/// The error about a directory that cannot be looked at.
pub(super) fn cannot_stat(directory: &Path, errno: vigil_linux::Errno) -> Error {
    Error::Refused(format!(
        "failed to stat '{}': {}",
        raw_path(directory),
        errno::text(errno)
    ))
}

/// Returns the length of the longest of `GIT_CEILING_DIRECTORIES` above `start`: directories with paths of that length or less
/// are not searched.
fn ceiling(environment: &Environment, start: &Path) -> Option<usize> {
    let list = environment.get("GIT_CEILING_DIRECTORIES")?;
    let mut is_literal = false;
    let mut longest = None;
    for entry in list.split(|byte| *byte == b':') {
        if entry.is_empty() {
            // After an empty entry, symbolic links are not resolved.
            is_literal = true;
            continue;
        }
        if entry.first() != Some(&b'/') {
            continue;
        }
        let path = if is_literal {
            entry.as_bstr().to_owned()
        } else {
            match real_path(start, entry) {
                Ok(path) => bytes_of(&path).to_owned(),
                Err(_) => continue,
            }
        };
        let path = path.strip_suffix(b"/").unwrap_or(&path);
        let below = bytes_of(start).strip_prefix(path);
        if below.is_some_and(|below| matches!(below, [b'/', _, ..])) {
            longest = longest.max(Some(path.len()));
        }
    }
    longest
}
