//! Whether anything in a repository's own folders changed since the last answer, heard from the kernel (inotify(7)) while
//! questions come one after the other: then what is not in the working tree need not be looked at for each.

use std::ffi::CStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{CWD, Dir, Mode, OFlags, openat};
use vigil_linux::Errno;
use vigil_linux::inotify::DirectoryWatch;
use vigil_linux::stat::{Stat, stat_at, stat_fd, stat_path};

use vigil_git::repository::{RefFormat, Repository};
use vigil_stamp::quiet::watch;

/// A proof, for one question about the session that gave it: nothing has changed in the repository's own folders since
/// the last answer to a prompt.
#[derive(Clone, Copy, Debug)]
pub struct Still(());

/// The longest pause between two questions that count as one after the other.
const PAUSE_MAX: Duration = Duration::from_secs(1);

/// After so many the folders are watched: it costs as much as some answers. A user has few inotify instances, so a shell
/// whose prompt asks now and then should have none.
const IN_A_ROW_MIN: usize = 8;

/// Each so many references take one question more in a row: all are looked at then.
const REFERENCES_PER_QUESTION: usize = 64;

/// The most folders that are watched for one repository, and the most references in them.
const FOLDERS_MAX: usize = 64;
const REFERENCES_MAX: usize = 65_536;

/// The files directly in the repository's folder by which an answer may be another.
const FILES: [&CStr; 7] = [
    c"HEAD",
    c"commondir",
    c"config",
    c"config.worktree",
    c"index",
    c"packed-refs",
    c"shallow",
];

/// What is known of a session's folders.
pub(super) struct Stillness {
    /// [`PAUSE_MAX`], but for tests that no pause is too long for.
    pause_max: Duration,
    asked_at: Option<Instant>,
    /// How many questions came one after the other.
    in_a_row: usize,
    /// How many references there were when the folders were last watched.
    references: usize,
    watched: Option<Watched>,
    /// Whether the folders cannot be watched.
    is_refused: bool,
}

/// The folders of a repository, each watched since before it was looked at.
#[derive(Default)]
struct Watched {
    /// Where the watched folders begin, which may themselves be moved away: device and inode.
    roots: Vec<(PathBuf, (u64, u64))>,
    watches: Vec<DirectoryWatch>,
    /// How many references are in them.
    references: usize,
    /// Whether a question was answered since.
    is_answered: bool,
}

impl Default for Stillness {
    fn default() -> Self {
        Self {
            pause_max: PAUSE_MAX,
            asked_at: None,
            in_a_row: 0,
            references: 0,
            watched: None,
            is_refused: false,
        }
    }
}

impl Stillness {
    /// A question comes. To be called before anything is looked at for it.
    pub(super) fn ask(&mut self, repository: &Repository) -> Option<Still> {
        let now = Instant::now();
        let last = self.asked_at.replace(now);
        if last.is_none_or(|last| now.saturating_duration_since(last) > self.pause_max) {
            *self = Self {
                pause_max: self.pause_max,
                asked_at: Some(now),
                references: self.references,
                ..Self::default()
            };
            return None;
        }
        if let Some(watched) = &self.watched {
            if watched.are_quiet() {
                return watched.is_answered.then_some(Still(()));
            }
            self.watched = None;
            self.in_a_row = 0;
        }
        self.in_a_row += 1;
        let enough = IN_A_ROW_MIN + self.references / REFERENCES_PER_QUESTION;
        if self.in_a_row >= enough && !self.is_refused {
            let mut watched = Watched::default();
            self.is_refused = watched.begin(repository).is_none();
            self.references = watched.references;
            self.watched = Some(watched).filter(|_| !self.is_refused);
        }
        None
    }

    /// The question is answered, if `by_folders` by nothing but the working tree, what is in the folders, and files that a
    /// session looks at by itself. Returns whether the answer holds until a change is heard of.
    pub(super) fn answered(&mut self, by_folders: bool) -> bool {
        if !by_folders {
            self.is_refused |= self.watched.take().is_some();
        }
        if let Some(watched) = &mut self.watched {
            watched.is_answered = true;
        }
        self.watched.is_some()
    }

    /// Whether the last question came soon after another.
    pub(super) fn is_in_a_row(&self) -> bool {
        self.in_a_row > 0 || self.watched.is_some()
    }

    /// Watches no longer if nobody asked of late; whether that is so.
    pub(super) fn rest(&mut self) -> bool {
        let is_idle = self
            .asked_at
            .is_none_or(|then| then.elapsed() > self.pause_max);
        if is_idle {
            self.watched = None;
        }
        is_idle
    }
}

impl Watched {
    /// Watches all folders that say what is committed and staged, or none where that could change unheard: where another
    /// machine can write, through links, by another name of a file.
    fn begin(&mut self, repository: &Repository) -> Option<()> {
        let (git_dir, common_dir) = (&repository.git_dir, &repository.common_dir);
        if repository.ref_format != RefFormat::Files
            || repository.index_path != git_dir.join("index")
            || repository.object_dir != common_dir.join("objects")
        {
            return None;
        }
        self.root(git_dir)?;
        if common_dir != git_dir {
            self.root(common_dir)?;
        }
        Some(())
    }

    /// Watches what there is in `path`, the repository's folder or the one that working trees share.
    fn root(&mut self, path: &Path) -> Option<()> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = openat(CWD, path, flags, Mode::empty()).ok()?;
        let stat = stat_fd(folder.as_fd()).ok()?;
        self.roots.push((path.to_owned(), (stat.dev, stat.ino)));
        let folder = folder.as_fd();
        self.watch(folder)?;
        are_plain(folder, &FILES)?;
        if let Some(info) = self.folder(folder, c"info")? {
            are_plain(info.as_fd(), &[c"exclude", c"grafts"])?;
        }
        if let Some(logs) = self.folder(folder, c"logs")?
            && let Some(refs) = self.folder(logs.as_fd(), c"refs")?
        {
            are_plain(refs.as_fd(), &[c"stash"])?;
        }
        if let Some(objects) = self.folder(folder, c"objects")? {
            self.folder(objects.as_fd(), c"pack")?;
        }
        if let Some(refs) = self.folder(folder, c"refs")? {
            self.references(&refs)?;
        }
        Some(())
    }

    /// Watches the folders below `folder`, which is watched.
    fn references(&mut self, folder: &OwnedFd) -> Option<()> {
        for entry in Dir::read_from(folder).ok()? {
            let entry = entry.ok()?;
            let name = entry.file_name();
            if name == c"." || name == c".." {
                continue;
            }
            self.references += 1;
            if self.references > REFERENCES_MAX {
                return None;
            }
            let stat = stat_at(folder.as_fd(), name).ok()?;
            if stat.is_dir() {
                let below = self.folder(folder.as_fd(), name)??;
                self.references(&below)?;
            } else if !is_plain(&stat) {
                return None;
            }
        }
        Some(())
    }

    /// Watches the folder `name` in `parent`, which is watched, if there is one. A link is refused: where it leads may be
    /// replaced from elsewhere.
    fn folder(&mut self, parent: BorrowedFd<'_>, name: &CStr) -> Option<Option<OwnedFd>> {
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
        if self.watches.len() >= FOLDERS_MAX {
            return None;
        }
        self.watches.push(watch(folder)?);
        Some(())
    }

    /// Whether the folders are where they were, and nothing changed in them.
    fn are_quiet(&self) -> bool {
        let is_there = |(path, id): &(PathBuf, (u64, u64))| {
            stat_path(path).is_ok_and(|stat| (stat.dev, stat.ino) == *id)
        };
        self.roots.iter().all(is_there) && DirectoryWatch::are_quiet(&self.watches)
    }
}

/// Whether each of the files `names` in `folder` that there is is plain.
fn are_plain(folder: BorrowedFd<'_>, names: &[&CStr]) -> Option<()> {
    let may_be_watched = |name: &&CStr| match stat_at(folder, name) {
        Ok(stat) => is_plain(&stat),
        Err(error) => error == Errno::NOENT,
    };
    names.iter().all(may_be_watched).then_some(())
}

/// Whether it is a file without another name, by which it could be written unheard.
fn is_plain(stat: &Stat) -> bool {
    stat.is_file() && stat.nlink == 1
}

#[cfg(test)]
mod tests;
