//! Whether anything in a repository's own folders changed since the last answer, heard from the kernel (inotify(7)) while
//! questions come one after the other: then what is not in the working tree need not be looked at for each.

use std::ffi::CStr;
use std::os::fd::AsFd;
use std::path::Path;
use std::time::{Duration, Instant};

use vigil_git::repository::{RefFormat, Repository};
use vigil_watch::QuietFolders;

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

/// The folders of a repository.
struct Watched {
    folders: QuietFolders,
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
            if watched.folders.are_quiet() {
                return watched.is_answered.then_some(Still(()));
            }
            self.watched = None;
            self.in_a_row = 0;
        }
        self.in_a_row += 1;
        let enough = IN_A_ROW_MIN + self.references / REFERENCES_PER_QUESTION;
        if self.in_a_row >= enough && !self.is_refused {
            let mut watched = Watched {
                folders: QuietFolders::new(FOLDERS_MAX, REFERENCES_MAX),
                is_answered: false,
            };
            self.is_refused = watched.begin(repository).is_none();
            self.references = watched.folders.entries();
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
        let folder = self.folders.root(path)?;
        let folder = folder.as_fd();
        QuietFolders::are_plain(folder, &FILES)?;
        if let Some(info) = self.folders.folder(folder, c"info")? {
            QuietFolders::are_plain(info.as_fd(), &[c"exclude", c"grafts"])?;
        }
        if let Some(logs) = self.folders.folder(folder, c"logs")?
            && let Some(refs) = self.folders.folder(logs.as_fd(), c"refs")?
        {
            QuietFolders::are_plain(refs.as_fd(), &[c"stash"])?;
        }
        if let Some(objects) = self.folders.folder(folder, c"objects")? {
            self.folders.folder(objects.as_fd(), c"pack")?;
        }
        if let Some(refs) = self.folders.folder(folder, c"refs")? {
            self.folders.all_below(&refs)?;
        }
        Some(())
    }
}

#[cfg(test)]
mod tests;
