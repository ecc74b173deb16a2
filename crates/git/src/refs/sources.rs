//! Whether references are still the ones that were read: the files and folders that hold them, and their stamps.

use std::ffi::{CString, OsStr};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, openat};
use vigil_linux::inotify::DirectoryWatch;
use vigil_linux::stat::{lstat_path, stat_at};
use vigil_model::path::file_name;
use vigil_model::timestamp::Timestamp;

use super::error::Error;
use super::loose;
use vigil_stamp::file::open_folder;
use vigil_stamp::quiet::watch;
use vigil_stamp::{Observation, now};

/// Everything that references were read from. To be looked at before they are read: a change in between then shows.
#[derive(Debug)]
pub struct Sources {
    /// `packed-refs`, or the list of tables.
    whole: PathBuf,
    seen: Observation,
    folders: Vec<Folder>,
}

/// A folder of loose references.
#[derive(Debug)]
struct Folder {
    path: PathBuf,
    seen: Observation,
    /// The files in it, which may be written in place; none where a look proves nothing.
    files: Vec<(CString, Option<Observation>)>,
    /// Tells whether the files are still as they were when they were last looked at, where it can.
    watch: Option<DirectoryWatch>,
}

/// Up to how many files of a folder are looked at by their paths: more cost more than to open the folder.
const FILES_BY_PATH_MAX: usize = 3;

/// From how many files in a folder on it is watched: to look at fewer costs less than to have a watch made.
const WATCHED_FILES_MIN: usize = 16;

impl Sources {
    /// One file that holds all references.
    pub(super) fn file(whole: &Path) -> Result<Self, Error> {
        Ok(Self {
            whole: whole.to_owned(),
            seen: observe(whole)?,
            folders: Vec::new(),
        })
    }

    /// The same, and what is loose in `folder` below `root`.
    pub(super) fn files(whole: &Path, root: &Path, folder: &[u8]) -> Result<Self, Error> {
        let mut this = Self::file(whole)?;
        let mut failure = None;
        // What changes while the names are read is then younger.
        let before = now();
        loose::list(
            root,
            folder,
            &mut |found| match observe_at(before, &found.path) {
                Ok(seen) => this.folders.push(Folder {
                    files: names_of(&found),
                    path: found.path,
                    seen,
                    watch: None,
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

    /// Whether none has changed since. From the second time on, folders with many files are watched if there is to be
    /// another soon (`is_in_a_row`).
    pub fn hold(&mut self, is_in_a_row: bool) -> bool {
        let mut folders = self.folders.iter_mut();
        self.seen.holds(&self.whole).unwrap_or(false)
            && folders.all(|folder| folder.holds(is_in_a_row))
    }

    /// Watches no longer.
    pub fn rest(&mut self) {
        for folder in &mut self.folders {
            folder.watch = None;
        }
    }
}

impl Sources {
    /// How many folders are watched.
    pub fn watches(&self) -> usize {
        self.folders
            .iter()
            .filter(|folder| folder.watch.is_some())
            .count()
    }
}

impl Folder {
    fn look_at_files(&mut self) {
        let before = now();
        let Ok(folder) = open_folder(&self.path) else {
            return;
        };
        for (name, seen) in &mut self.files {
            // What a link leads to changes without it.
            *seen = stat_at(folder.as_fd(), name)
                .ok()
                .filter(|stat| !stat.is_symlink())
                .map(|stat| Observation::at(before, Some(&stat)))
                .filter(Observation::is_proof);
        }
    }

    fn holds(&mut self, is_in_a_row: bool) -> bool {
        if !self.seen.holds(&self.path).unwrap_or(false) {
            return false;
        }
        if self.files.is_empty() || self.watch.as_ref().is_some_and(DirectoryWatch::is_quiet) {
            return true;
        }
        if self.files.iter().any(|(_, seen)| seen.is_none()) {
            return false;
        }
        // Before the files are looked at, so that a change in between is heard of.
        let watch = is_in_a_row.then(|| self.watched()).flatten();
        // Of more than a few from the folder, since a look along the whole path takes twice as long.
        let folder = match self.files.len() {
            0..=FILES_BY_PATH_MAX => None,
            _ => open_folder(&self.path).ok(),
        };
        let look = |name: &CString| match &folder {
            Some(folder) => stat_at(folder.as_fd(), name),
            None => lstat_path(&self.path.join(OsStr::from_bytes(name.as_bytes()))),
        };
        let mut has_other_names = false;
        let holds = self.files.iter().all(|(name, seen)| {
            let look = || look(name).inspect(|stat| has_other_names |= stat.nlink > 1);
            seen.is_some_and(|seen| seen.holds_by(look).unwrap_or(false))
        });
        // What is written by another name of a file is not heard of.
        self.watch = watch.filter(|_| holds && !has_other_names);
        holds
    }

    /// A watch of the folder, if it has many files, and no other machine can write into them.
    fn watched(&self) -> Option<DirectoryWatch> {
        if self.files.len() < WATCHED_FILES_MIN {
            return None;
        }
        let folder = openat(
            CWD,
            &self.path,
            OFlags::RDONLY | OFlags::CLOEXEC,
            Mode::empty(),
        )
        .ok()?;
        watch(folder.as_fd())
    }
}

fn observe(path: &Path) -> Result<Observation, Error> {
    observe_at(now(), path)
}

/// A look at `path`, of which something was read after the time `before`.
fn observe_at(before: Timestamp, path: &Path) -> Result<Observation, Error> {
    let seen = Observation::after(before, path);
    seen.map_err(|error| Error::read(path, error.into()))
}

/// The names of the files in `folder`, without it.
fn names_of(folder: &loose::Folder) -> Vec<(CString, Option<Observation>)> {
    let own = folder.files.iter().filter_map(|name| {
        let name = file_name(name.as_ref());
        Some((CString::new(name.to_vec()).ok()?, None))
    });
    own.collect()
}
