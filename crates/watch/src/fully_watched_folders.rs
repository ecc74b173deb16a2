//! Folders in which every change is heard, for callers that would otherwise look at each entry in them.

use std::ffi::{CStr, OsStr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bstr::{BStr, BString, ByteSlice};
use rustix::fs::{CWD, Dir, Mode, OFlags, openat};
use vigil_linux::Errno;
use vigil_linux::stat::{Stat, lstat_path, stat_at, stat_fd, stat_path};
use vigil_model::path::join;

use crate::journal::Position;
use crate::watcher::{Top, WatchedTree, Watcher};

/// A set of folders, each watched before it is looked at. Methods return `None` for what cannot be watched: another machine can
/// write there, a link leads elsewhere, a file has another name by which it could be written unheard, or there is too much.
#[derive(Debug)]
pub struct FullyWatchedFolders {
    watcher: Arc<Watcher>,
    folders_max: usize,
    entries_max: usize,
    roots: Vec<Root>,
    folders: usize,
    entries: usize,
}

/// The top of a set of watched folders, which may itself be moved away.
#[derive(Debug)]
struct Root {
    top: Top,
    tree: Arc<WatchedTree>,
    /// The position in the journal up to which changes are known.
    position: Position,
}

/// A watched folder.
#[derive(Debug)]
pub struct FullyWatchedFolder {
    root: usize,
    /// Its path from the root.
    path: BString,
    folder: OwnedFd,
}

/// What has happened in the folders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FolderEvents {
    /// Nothing.
    Nothing,
    /// Changes of single files that have no other names now, and of folders that need not be watched: the number of the root
    /// and the path from there.
    Entries(Vec<(usize, BString)>),
    /// More than that: the folders must be watched anew.
    WatchAnew,
}

impl FullyWatchedFolders {
    /// Creates an empty set of at most `folders_max` folders, with at most `entries_max` entries in those passed to
    /// [`Self::all_below`].
    pub fn new(watcher: Arc<Watcher>, folders_max: usize, entries_max: usize) -> Self {
        Self {
            watcher,
            folders_max,
            entries_max,
            roots: Vec::new(),
            folders: 0,
            entries: 0,
        }
    }

    /// Watches the folder `path` and records its identity. Roots are numbered from 0 in the order of the calls.
    pub fn root(&mut self, path: &Path) -> Option<FullyWatchedFolder> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = openat(CWD, path, flags, Mode::empty()).ok()?;
        let stat = stat_fd(folder.as_fd()).ok()?;
        let top = Top {
            path: path.to_owned(),
            id: (stat.dev, stat.ino),
        };
        let tree = self.watcher.tree(top.clone());
        let root = self.roots.len();
        self.roots.push(Root {
            position: tree.position(),
            top,
            tree,
        });
        self.watch_folder(FullyWatchedFolder {
            root,
            path: BString::default(),
            folder,
        })
    }

    /// Watches all folders below `folder`.
    pub fn all_below(&mut self, folder: &FullyWatchedFolder) -> Option<()> {
        let entries = Dir::read_from(&folder.folder).ok()?;
        for entry in entries {
            let entry = entry.ok()?;
            let name = entry.file_name();
            if name == c"." || name == c".." {
                continue;
            }
            self.entries = self.entries.saturating_add(1);
            if self.entries > self.entries_max {
                return None;
            }
            let stat = stat_at(folder.folder.as_fd(), name).ok()?;
            if stat.is_dir() {
                let below = self.folder(folder, name)??;
                self.all_below(&below)?;
            } else if !is_plain(&stat) {
                return None;
            }
        }
        Some(())
    }

    /// Watches the folder `name` in `parent`. `Some(None)` if there is none. A symbolic link is refused: its target may be
    /// replaced from elsewhere.
    pub fn folder(
        &mut self,
        parent: &FullyWatchedFolder,
        name: &CStr,
    ) -> Option<Option<FullyWatchedFolder>> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match openat(&parent.folder, name, flags, Mode::empty()) {
            Ok(folder) => {
                let below = FullyWatchedFolder {
                    root: parent.root,
                    path: join(parent.path.as_bstr(), name.to_bytes().as_bstr()),
                    folder,
                };
                self.watch_folder(below).map(Some)
            }
            Err(Errno::NOENT) => Some(None),
            Err(_) => None,
        }
    }

    fn watch_folder(&mut self, folder: FullyWatchedFolder) -> Option<FullyWatchedFolder> {
        if self.folders >= self.folders_max {
            return None;
        }
        self.folders = self.folders.saturating_add(1);
        let tree = &self.roots.get(folder.root)?.tree;
        tree.watch(folder.path.as_bstr(), folder.folder.as_fd())
            .ok()?;
        Some(folder)
    }

    /// The trees of the roots, each with the position up to which changes are known.
    pub fn known_until(&self) -> impl Iterator<Item = (&Arc<WatchedTree>, Position)> {
        self.roots.iter().map(|root| (&root.tree, root.position))
    }

    /// Call this once all folders are watched.
    pub fn finish(&self) {
        for root in &self.roots {
            root.tree.finish_scan();
        }
    }

    /// Whether the file at `path` is plain or absent, in every root.
    pub fn have_plain(&self, path: &BStr) -> bool {
        self.roots.iter().all(|root| root.has_plain(path))
    }

    /// Returns what has happened since the folders were watched, or since the last call: every change whose system call
    /// returned before this call. `needs_watch` says in which folders every change must be heard.
    pub fn take_events(&mut self, needs_watch: impl Fn(&BStr) -> bool) -> FolderEvents {
        let mut entries = Vec::new();
        for (number, root) in self.roots.iter_mut().enumerate() {
            if !root.is_there() {
                return FolderEvents::WatchAnew;
            }
            let (changes, position) = root.tree.changes_since(root.position);
            root.position = position;
            let mut folders = changes.folders.iter();
            if changes.everything || folders.any(|path| needs_watch(path.as_bstr())) {
                return FolderEvents::WatchAnew;
            }
            entries.extend(changes.folders.into_iter().map(|path| (number, path)));
            for path in changes.paths {
                if !root.has_plain(path.as_bstr()) {
                    return FolderEvents::WatchAnew;
                }
                entries.push((number, path));
            }
        }
        match entries.is_empty() {
            true => FolderEvents::Nothing,
            false => FolderEvents::Entries(entries),
        }
    }
}

impl FullyWatchedFolder {
    /// Returns `Some` if each of the files `names` in the folder is plain or absent.
    pub fn are_plain(&self, names: &[&CStr]) -> Option<()> {
        let folder = self.folder.as_fd();
        names
            .iter()
            .all(|name| is_plain_or_absent(folder, name))
            .then_some(())
    }
}

impl Root {
    fn is_there(&self) -> bool {
        let path: &PathBuf = &self.top.path;
        stat_path(path).is_ok_and(|stat| (stat.dev, stat.ino) == self.top.id)
    }

    /// Whether there is a plain file at `path`, or nothing.
    fn has_plain(&self, path: &BStr) -> bool {
        let path = self.top.path.join(OsStr::from_bytes(path));
        match lstat_path(&path) {
            Ok(stat) => is_plain(&stat),
            Err(error) => error == Errno::NOENT,
        }
    }
}

fn is_plain_or_absent(folder: BorrowedFd<'_>, name: &CStr) -> bool {
    match stat_at(folder, name) {
        Ok(stat) => is_plain(&stat),
        Err(error) => error == Errno::NOENT,
    }
}

/// Whether it is a regular file with a single name: through another one it could be written unheard.
fn is_plain(stat: &Stat) -> bool {
    stat.is_file() && stat.nlink == 1
}
