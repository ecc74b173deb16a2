//! Whether anything in a repository's own folders changed since the last answer, heard from the kernel: then what is not in
//! the working tree need not be looked at for each question.

use std::path::Path;
use std::sync::Arc;

use bstr::{BStr, ByteSlice};
use vigil_git::repository::{RefFormat, Repository};
use vigil_watch::{HeardOf, Position, QuietFolders, WatchedTree, Watcher};

use super::watched::mounted_files;

/// A proof, for one question about the session that gave it: nothing has changed in the repository's own folders since
/// the last answer to a prompt.
#[derive(Clone, Copy, Debug)]
pub struct Still(());

/// The most folders that are watched for one repository, and the most references in them.
const FOLDERS_MAX: usize = 4096;
const REFERENCES_MAX: usize = 262_144;

/// The files directly in the repository's folder by which an answer may be another.
const FILES: [&std::ffi::CStr; 7] = [
    c"HEAD",
    c"commondir",
    c"config",
    c"config.worktree",
    c"index",
    c"packed-refs",
    c"shallow",
];

/// What is known of a session's folders.
pub(super) struct RepositoryWatch {
    watcher: Arc<Watcher>,
    folders: Option<QuietFolders>,
    /// Whether a question was answered since something was last heard.
    is_answered: bool,
    /// Whether a tag may have moved since they were last read.
    tags_moved: bool,
    refused: Refused,
}

/// To find that folders cannot be watched takes a walk through all of them: it is tried again after twice as many questions
/// each time.
#[derive(Default)]
struct Refused {
    /// How many questions are left until then.
    questions_left: u32,
    questions: u32,
}

/// The most questions from one try to the next.
const REFUSED_QUESTIONS_MAX: u32 = 1024;

impl RepositoryWatch {
    /// Nothing is watched yet.
    pub(super) fn new(watcher: Arc<Watcher>) -> Self {
        Self {
            watcher,
            folders: None,
            is_answered: false,
            tags_moved: true,
            refused: Refused::default(),
        }
    }

    /// A question comes. To be called before anything is looked at for it.
    pub(super) fn ask(&mut self, repository: &Repository) -> Option<Still> {
        let heard = self.folders.as_mut().map(|folders| {
            let heard = folders.hear(needs_watch);
            // That a file gets another name elsewhere is not heard, and these are few.
            match heard == HeardOf::Nothing && !folders.have_plain(&FILES) {
                true => HeardOf::More,
                false => heard,
            }
        });
        match heard {
            Some(HeardOf::Nothing) => return self.is_answered.then_some(Still(())),
            Some(HeardOf::Entries(entries)) => {
                self.tags_moved |= entries
                    .iter()
                    .any(|(_, path)| concerns_tags(path.as_bstr()));
            }
            Some(HeardOf::More) | None => {
                self.tags_moved = true;
                self.folders = None;
                if self.refused.may_try() {
                    self.folders = self.watch(repository);
                    self.refused.note(self.folders.is_none());
                }
            }
        }
        self.is_answered = false;
        None
    }

    /// The trees that are watched, each with the position up to which it is known what changed.
    pub(super) fn known_until(&self) -> impl Iterator<Item = (&Arc<WatchedTree>, Position)> {
        self.folders.iter().flat_map(QuietFolders::known_until)
    }

    /// Whether all tags are where they were when they were last read; from now on that is when they are read next.
    pub(super) fn tags_stayed(&mut self) -> bool {
        let moved = std::mem::replace(&mut self.tags_moved, self.folders.is_none());
        !moved
    }

    /// The question is answered, if `by_folders` by nothing but the working tree, what is in the folders, and files that a
    /// session looks at by itself. Returns whether the answer holds until a change is heard of.
    pub(super) fn answered(&mut self, by_folders: bool) -> bool {
        self.is_answered = by_folders && self.folders.is_some();
        self.is_answered
    }

    /// Watches all folders that say what is committed and staged, or none where that could change unheard: where another
    /// machine can write, through links, by another name of a file.
    fn watch(&self, repository: &Repository) -> Option<QuietFolders> {
        let (git_dir, common_dir) = (&repository.git_dir, &repository.common_dir);
        if repository.ref_format != RefFormat::Files
            || repository.index_path != git_dir.join("index")
            || repository.object_dir != common_dir.join("objects")
        {
            return None;
        }
        let watcher = self.watcher.clone();
        let mut folders = QuietFolders::new(watcher, FOLDERS_MAX, REFERENCES_MAX);
        watch_root(&mut folders, git_dir)?;
        if common_dir != git_dir {
            watch_root(&mut folders, common_dir)?;
        }
        folders.finish();
        Some(folders)
    }
}

impl Refused {
    fn may_try(&mut self) -> bool {
        let is_due = self.questions_left == 0;
        self.questions_left = self.questions_left.saturating_sub(1);
        is_due
    }

    fn note(&mut self, is_refused: bool) {
        self.questions = match is_refused {
            true => (self.questions * 2).clamp(1, REFUSED_QUESTIONS_MAX),
            false => 0,
        };
        self.questions_left = self.questions;
    }
}

/// Watches what there is in `path`, the repository's folder or the one that working trees share.
fn watch_root(folders: &mut QuietFolders, path: &Path) -> Option<()> {
    let root = folders.root(path)?;
    // What is written to a file that is mounted on another one is heard of where it is.
    if !mounted_files(path).is_empty() {
        return None;
    }
    root.are_plain(&FILES)?;
    if let Some(info) = folders.folder(&root, c"info")? {
        info.are_plain(&[c"exclude", c"grafts"])?;
    }
    if let Some(logs) = folders.folder(&root, c"logs")?
        && let Some(refs) = folders.folder(&logs, c"refs")?
    {
        refs.are_plain(&[c"stash"])?;
    }
    if let Some(objects) = folders.folder(&root, c"objects")? {
        folders.folder(&objects, c"pack")?;
        if let Some(info) = folders.folder(&objects, c"info")? {
            info.are_plain(&[c"alternates"])?;
        }
    }
    if let Some(refs) = folders.folder(&root, c"refs")? {
        folders.all_below(&refs)?;
    }
    Some(())
}

/// Whether all must be heard that happens in the folder at `path`: not in those of loose objects.
fn needs_watch(path: &BStr) -> bool {
    let is_loose = |rest: &[u8]| rest.len() == 2 && rest.iter().all(u8::is_ascii_hexdigit);
    !path.strip_prefix(b"objects/").is_some_and(is_loose)
}

/// Whether a change of the file at `path` may move a tag.
fn concerns_tags(path: &BStr) -> bool {
    path == "packed-refs" || path.starts_with(b"refs/tags/")
}

#[cfg(test)]
mod tests;
