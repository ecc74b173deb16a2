//! Whether references are still the ones that were read: the files and folders that hold them, and their stamps.

use std::ffi::CString;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, openat};
use vigil_linux::Errno;
use vigil_linux::stat::stat_at;

use super::Error;
use super::loose::{self, Item};
use crate::stamp::{Observation, Stamp, now};

/// Everything that references were read from. To be looked at before they are read: a change in between then shows.
#[derive(Debug)]
pub(crate) struct Sources {
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
    /// The files in it, which may be written in place; without a stamp where that proves nothing.
    files: Vec<(CString, Option<Stamp>)>,
}

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
        loose::list(root, folder, &mut |item| match item {
            Item::Folder(path) => match observe(&path) {
                Ok(seen) => this.folders.push(Folder {
                    path,
                    seen,
                    files: Vec::new(),
                }),
                Err(error) => failure = Some(error),
            },
            // Those of a folder follow it.
            Item::File(name) => {
                let name = name.rsplit(|byte| *byte == b'/').next();
                let name = name.and_then(|name| CString::new(name).ok());
                if let (Some(folder), Some(name)) = (this.folders.last_mut(), name) {
                    folder.files.push((name, None));
                }
            }
        });
        this.folders.iter_mut().for_each(Folder::look_at_files);
        match failure {
            Some(error) => Err(error),
            None => Ok(this),
        }
    }

    /// Whether none has changed since.
    pub(crate) fn hold(&self) -> bool {
        self.seen.holds(&self.whole).unwrap_or(false) && self.folders.iter().all(Folder::holds)
    }
}

impl Folder {
    fn look_at_files(&mut self) {
        let before = now();
        let Ok(folder) = open(&self.path) else {
            return;
        };
        for (name, stamp) in &mut self.files {
            // What a link leads to changes without it.
            *stamp = stat_at(folder.as_fd(), name)
                .ok()
                .filter(|stat| !stat.is_symlink())
                .and_then(|stat| Stamp::trusted(&stat, before));
        }
    }

    fn holds(&self) -> bool {
        let mut files = self.files.iter().map(|(_, stamp)| stamp);
        if !files.all(Option::is_some) || !self.seen.holds(&self.path).unwrap_or(false) {
            return false;
        }
        if self.files.is_empty() {
            return true;
        }
        // From the folder, since a look along the whole path takes twice as long.
        open(&self.path).is_ok_and(|folder| {
            self.files.iter().all(|(name, stamp)| {
                stat_at(folder.as_fd(), name).is_ok_and(|stat| Some(Stamp::from(&stat)) == *stamp)
            })
        })
    }
}

fn open(folder: &Path) -> Result<impl AsFd, Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    openat(CWD, folder, flags, Mode::empty())
}

fn observe(path: &Path) -> Result<Observation, Error> {
    Observation::of(path).map_err(|error| Error::read(path, error.into()))
}
