//! Whether references are unchanged since they were read: the files and directories that hold them, and their stamps.

use std::ffi::{CString, OsStr};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use vigil_linux::stat::{lstat_path, stat_at};
use vigil_model::path::file_name;
use vigil_model::timestamp::Timestamp;

use super::error::Error;
use super::loose;
use super::unread::Unread;
use vigil_stamp::file::open_folder;
use vigil_stamp::{Observation, now};

/// Everything that references are read from. To be recorded before they are read, so that a change in between shows.
#[derive(Debug)]
pub struct Sources {
    /// `packed-refs`, or the list of tables.
    whole: PathBuf,
    seen: Observation,
    folders: Vec<Folder>,
}

/// A directory of loose references.
#[derive(Debug)]
struct Folder {
    path: PathBuf,
    seen: Observation,
    /// The files in it, which may be written in place; `None` for a file whose stat data proves nothing.
    files: Vec<(CString, Option<Observation>)>,
}

/// Up to this many files of a directory are checked by path; for more it is cheaper to open the directory.
const FILES_BY_PATH_MAX: usize = 3;

impl Sources {
    /// Records one file that holds all references.
    pub(super) fn file(whole: &Path) -> Result<Self, Error> {
        Ok(Self {
            whole: whole.to_owned(),
            seen: observe(whole)?,
            folders: Vec::new(),
        })
    }

    /// Records that file, and the loose references in `folder` below `root`.
    pub(super) fn files(
        whole: &Path,
        root: &Path,
        folder: &[u8],
        unread: &Unread,
    ) -> Result<Self, Error> {
        let mut this = Self::file(whole)?;
        let mut failure = None;
        // The clock is read first: a change while the names are read has a later stamp.
        let before = now();
        loose::list(
            root,
            folder,
            unread,
            &mut |found| match observe_at(before, &found.path) {
                Ok(seen) => this.folders.push(Folder {
                    files: names_of(&found),
                    path: found.path,
                    seen,
                }),
                Err(error) => failure = Some(error),
            },
        );
        this.folders.iter_mut().for_each(Folder::look_at_files);
        match failure {
            Some(error) => Err(error),
            None => Ok(this),
        }
    }

    /// Whether nothing has changed since.
    pub fn hold(&self) -> bool {
        self.seen.is_current(&self.whole).unwrap_or(false) && self.folders.iter().all(Folder::holds)
    }
}

impl Folder {
    fn look_at_files(&mut self) {
        let before = now();
        let Ok(folder) = open_folder(&self.path) else {
            return;
        };
        for (name, seen) in &mut self.files {
            // The target of a symbolic link may change without changing the link.
            *seen = stat_at(folder.as_fd(), name)
                .ok()
                .filter(|stat| !stat.is_symlink())
                .map(|stat| Observation::at(before, Some(&stat)))
                .filter(Observation::is_proof);
        }
    }

    fn holds(&self) -> bool {
        if !self.seen.is_current(&self.path).unwrap_or(false) {
            return false;
        }
        if self.files.iter().any(|(_, seen)| seen.is_none()) {
            return false;
        }
        // More than a few are checked relative to the directory, since stat(2) by the whole path takes twice as long.
        let folder = match self.files.len() {
            0..=FILES_BY_PATH_MAX => None,
            _ => open_folder(&self.path).ok(),
        };
        let look = |name: &CString| match &folder {
            Some(folder) => stat_at(folder.as_fd(), name),
            None => lstat_path(&self.path.join(OsStr::from_bytes(name.as_bytes()))),
        };
        self.files.iter().all(|(name, seen)| {
            seen.is_some_and(|seen| seen.is_current_by(|| look(name)).unwrap_or(false))
        })
    }
}

fn observe(path: &Path) -> Result<Observation, Error> {
    observe_at(now(), path)
}

/// Records `path`, of which something is read after the time `before`.
fn observe_at(before: Timestamp, path: &Path) -> Result<Observation, Error> {
    let seen = Observation::after(before, path);
    seen.map_err(|error| Error::read(path, error.into()))
}

/// Returns the names of the files in `folder`, without its own, and of links that may lead to files later.
fn names_of(folder: &loose::Folder) -> Vec<(CString, Option<Observation>)> {
    let own = folder.files.iter().chain(&folder.dangling);
    let own = own.filter_map(|name| {
        let name = file_name(name.as_ref());
        Some((CString::new(name.to_vec()).ok()?, None))
    });
    own.collect()
}
