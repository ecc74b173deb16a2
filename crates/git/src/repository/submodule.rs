//! Opens the repository of a submodule as git does when it runs itself there.

use std::path::{Path, PathBuf};

use bstr::{BStr, ByteSlice};
use vigil_linux::stat::{lstat_path, stat_path};
use vigil_model::raw_text::raw;

use super::error::Error;
use super::format::Format;
use super::git_dir::is_git_directory;
use super::gitfile::read_gitfile;
use super::local_variables::LOCAL_VARIABLES;
use super::opened::Repository;
use super::paths::join;
use super::setup::Setup;
use crate::config::load::RecordingReader;
use crate::environment::Environment;
use vigil_stamp::paths::{bytes_of, path_of};

/// Opens the repository checked out at `path`, relative to the top of the working tree of `parent`; `None` if there is none.
///
/// Its environment is the parent's without the variables that belong to one repository, but with the command line's
/// configuration. The owner is not checked: git names the directory when it runs itself there, and so does not check either.
///
/// # Errors
/// git refuses to use what is there, or the configuration cannot be read.
pub fn submodule(parent: &Repository, path: &BStr) -> Result<Option<Repository>, Error> {
    find(parent, path, None)
}

/// As [`submodule`], for a caller that reads only references: neither the configured working tree nor any other configuration
/// matters, and the repository returned has none. git does not run itself there for them.
///
/// # Errors
/// git refuses to use what is there.
pub fn submodule_references(parent: &Repository, path: &BStr) -> Result<Option<Repository>, Error> {
    find(parent, path, Some("."))
}

/// Returns what git warns of each time it looks for the commit of the submodule at `path`, if it does not know the format of
/// the repository there. It then looks in the one that is kept for the submodule, which mostly is the same.
pub fn format_warnings(parent: &Repository, path: &BStr) -> Vec<String> {
    let Some(top) = parent.work_tree.as_deref() else {
        return Vec::new();
    };
    let mut reader = RecordingReader::new(&parent.environment);
    let dot_git = join(path, ".git");
    let folder = match read_gitfile(&mut reader, top, dot_git.as_bstr(), top) {
        Ok(Ok(git_dir)) => top.join(git_dir),
        _ => top.join(path_of(&dot_git)),
    };
    let Err(Error::Format(text)) = Format::known(&mut reader, &folder) else {
        return Vec::new();
    };
    let real = |path: &Path| std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let is_kept = real(&folder).starts_with(real(&parent.git_dir.join("modules")));
    vec![format!("warning: {text}"); if is_kept { 2 } else { 1 }]
}

/// As [`submodule`], with a path for the working tree that overrides the configured one.
fn find(
    parent: &Repository,
    path: &BStr,
    work_tree: Option<&str>,
) -> Result<Option<Repository>, Error> {
    let Some(folder) = submodule_folder(parent, path)? else {
        return Ok(None);
    };
    let top = parent.require_work_tree()?;
    let shown = BStr::new(b".git");
    open(parent, top, path, (shown, work_tree))
        .map(Some)
        .map_err(|error| {
            // git reads the format before it runs itself there, and then names the file by its absolute path.
            let folder = std::fs::canonicalize(&folder).unwrap_or(folder);
            if let Error::Config(_) = error
                && let Err(error) =
                    Format::check(&mut RecordingReader::new(&parent.environment), &folder)
            {
                return error;
            }
            let mut messages = error.messages().to_vec();
            messages.push(format!("fatal: {error}"));
            Error::Explained {
                messages,
                text: format!(
                    "'git status --porcelain=2' failed in submodule {path}",
                    path = raw(path)
                ),
            }
        })
}

/// Returns the folder of the repository that is checked out as a submodule at `path`, without reading more of it than is needed to
/// tell that it is one; `None` if there is none.
///
/// # Errors
/// git refuses to use what is there.
pub fn submodule_folder(parent: &Repository, path: &BStr) -> Result<Option<PathBuf>, Error> {
    let top = parent.require_work_tree()?;
    refuse_links(top, path)?;
    let dot_git = join(path, ".git");
    let mut reader = RecordingReader::new(&parent.environment);
    let git_dir = match read_gitfile(&mut reader, top, dot_git.as_bstr(), top)? {
        Ok(git_dir) => bytes_of(&git_dir).to_owned(),
        Err(reason) => match reason.fatal(dot_git.as_bstr()) {
            Some(text) => return Err(Error::Refused(text)),
            None => dot_git,
        },
    };
    let folder = top.join(path_of(&git_dir));
    if !is_git_directory(&parent.environment, &folder, top)? {
        if stat_path(&folder).is_ok_and(|stat| stat.is_dir()) {
            return Err(Error::Refused(format!(
                "'{git_dir}' not recognized as a git repository",
                git_dir = raw(&git_dir)
            )));
        }
        return Ok(None);
    }
    Ok(Some(folder))
}

impl Repository {
    /// Whether the directory at `path`, relative to the top of the working tree, contains a `.git` that is a repository
    /// other than this one: git then does not look inside.
    pub fn has_nested_repository(&self, path: &BStr) -> bool {
        let Some(top) = self.work_tree.as_deref() else {
            return false;
        };
        let dot_git = join(path, ".git");
        let folder = top.join(path_of(&dot_git));
        let Ok(stat) = stat_path(&folder) else {
            return false;
        };
        let is_repository = if stat.is_dir() {
            is_git_directory(&self.environment, &folder, top).unwrap_or(true)
        } else {
            let mut reader = RecordingReader::new(&self.environment);
            match read_gitfile(&mut reader, top, dot_git.as_bstr(), top) {
                Ok(Ok(_)) | Err(_) => true,
                Ok(Err(reason)) => reason.is_unreadable(),
            }
        };
        is_repository
            && !stat_path(&self.git_dir).is_ok_and(|own| (own.dev, own.ino) == (stat.dev, stat.ino))
    }
}

fn open(
    parent: &Repository,
    top: &Path,
    path: &BStr,
    (git_dir, work_tree): (&BStr, Option<&str>),
) -> Result<Repository, Error> {
    let directory = std::fs::canonicalize(top.join(path_of(path))).map_err(|error| {
        Error::Refused(format!(
            "cannot change to '{path}': {error}",
            path = raw(path)
        ))
    })?;
    let mut environment = Environment::new(
        parent
            .environment
            .variables()
            .map(|(name, value)| (name.to_owned(), value.to_owned())),
        directory.clone(),
    );
    for name in LOCAL_VARIABLES {
        environment.remove(name);
    }
    environment.set("GIT_DIR", git_dir);
    if let Some(work_tree) = work_tree {
        environment.set("GIT_WORK_TREE", work_tree);
    }
    let outer = (parent.git_dir.clone(), parent.work_tree.clone());
    let setup = Setup::inside(&environment, &directory, git_dir)?;
    let opened = match work_tree {
        Some(_) => setup.open_for_references()?,
        None => setup.open()?,
    };
    Ok(Repository {
        superprojects: parent
            .superprojects
            .iter()
            .cloned()
            .chain([outer])
            .collect(),
        ..opened
    })
}

/// Whether the submodule at `path` is behind a symbolic link, or cannot be looked at.
pub fn is_behind_link(parent: &Repository, path: &BStr) -> bool {
    let top = parent.require_work_tree();
    top.and_then(|top| refuse_links(top, path)).is_err()
}

/// Refuses a submodule behind a symbolic link.
fn refuse_links(top: &Path, path: &BStr) -> Result<(), Error> {
    let is_link =
        |path: &[u8]| lstat_path(&top.join(path_of(path))).is_ok_and(|stat| stat.is_symlink());
    let complain = |complaint: String| Err(Error::LinkedSubmodule(complaint));
    for slash in path.find_iter("/") {
        let part = path.get(..slash).unwrap_or_default().as_bstr();
        if is_link(part) {
            return complain(format!(
                "expected '{part}' in submodule path '{path}' not to be a symbolic link",
                part = raw(part),
                path = raw(path)
            ));
        }
    }
    if is_link(path) {
        return complain(format!(
            "expected submodule path '{path}' not to be a symbolic link",
            path = raw(path)
        ));
    }
    Ok(())
}
