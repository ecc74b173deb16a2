//! Folders in which every change is heard, for whoever would else look at each thing in them.

use std::ffi::CStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Dir, Mode, OFlags, openat};
use vigil_linux::Errno;
use vigil_linux::inotify::DirectoryWatch;
use vigil_linux::stat::{Stat, stat_at, stat_fd, stat_path};
use vigil_stamp::quiet::watch;

/// Folders, each watched since before it was looked at. What is `None` cannot be watched: another machine can write there, a
/// link leads elsewhere, a file has another name by which it could be written unheard, or there is too much.
#[derive(Debug)]
pub struct QuietFolders {
    folders_max: usize,
    entries_max: usize,
    /// Where the watched folders begin, which may themselves be moved away: device and inode.
    roots: Vec<(PathBuf, (u64, u64))>,
    watches: Vec<DirectoryWatch>,
    entries: usize,
}

impl QuietFolders {
    /// No folders yet, and at most `folders_max` of them, with `entries_max` entries in those of which all is watched.
    pub fn new(folders_max: usize, entries_max: usize) -> Self {
        Self {
            folders_max,
            entries_max,
            roots: Vec::new(),
            watches: Vec::new(),
            entries: 0,
        }
    }

    /// Watches the folder `path`, and remembers which it is.
    pub fn root(&mut self, path: &Path) -> Option<OwnedFd> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = openat(CWD, path, flags, Mode::empty()).ok()?;
        let stat = stat_fd(folder.as_fd()).ok()?;
        self.roots.push((path.to_owned(), (stat.dev, stat.ino)));
        self.watch(folder.as_fd())?;
        Some(folder)
    }

    /// How many entries there are in the folders of which all is watched.
    pub fn entries(&self) -> usize {
        self.entries
    }

    /// Watches all folders below `folder`, which is watched.
    pub fn all_below(&mut self, folder: &OwnedFd) -> Option<()> {
        for entry in Dir::read_from(folder).ok()? {
            let entry = entry.ok()?;
            let name = entry.file_name();
            if name == c"." || name == c".." {
                continue;
            }
            self.entries += 1;
            if self.entries > self.entries_max {
                return None;
            }
            let stat = stat_at(folder.as_fd(), name).ok()?;
            if stat.is_dir() {
                let below = self.folder(folder.as_fd(), name)??;
                self.all_below(&below)?;
            } else if !is_plain(&stat) {
                return None;
            }
        }
        Some(())
    }

    /// Watches the folder `name` in `parent`, which is watched, if there is one. A link is refused: where it leads may be
    /// replaced from elsewhere.
    pub fn folder(&mut self, parent: BorrowedFd<'_>, name: &CStr) -> Option<Option<OwnedFd>> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match openat(parent, name, flags, Mode::empty()) {
            Ok(folder) => {
                self.watch(folder.as_fd())?;
                Some(Some(folder))
            }
            Err(Errno::NOENT) => Some(None),
            Err(_) => None,
        }
    }

    fn watch(&mut self, folder: BorrowedFd<'_>) -> Option<()> {
        if self.watches.len() >= self.folders_max {
            return None;
        }
        self.watches.push(watch(folder)?);
        Some(())
    }

    /// Whether each of the files `names` in `folder` that there is is plain.
    pub fn are_plain(folder: BorrowedFd<'_>, names: &[&CStr]) -> Option<()> {
        let may_be_watched = |name: &&CStr| match stat_at(folder, name) {
            Ok(stat) => is_plain(&stat),
            Err(error) => error == Errno::NOENT,
        };
        names.iter().all(may_be_watched).then_some(())
    }

    /// Whether the folders are where they were, and nothing changed in them.
    pub fn are_quiet(&self) -> bool {
        let is_there = |(path, id): &(PathBuf, (u64, u64))| {
            stat_path(path).is_ok_and(|stat| (stat.dev, stat.ino) == *id)
        };
        self.roots.iter().all(is_there) && DirectoryWatch::are_quiet(&self.watches)
    }
}

/// Whether it is a file without another name, by which it could be written unheard.
fn is_plain(stat: &Stat) -> bool {
    stat.is_file() && stat.nlink == 1
}
