//! Whether anything in a repository's own folders changed since the last answer, by the kernel's events. If not, only the
//! working tree needs to be looked at for a question.

use std::path::Path;
use std::sync::Arc;

use bstr::{BStr, BString, ByteSlice};
use vigil_git::repository::{RefFormat, Repository};
use vigil_watch::{FolderEvents, FullyWatchedFolders, Position, WatchedTree, Watcher};

use super::watched::mounted_files;

/// A proof, for one question to the session that gave it, that nothing has changed in the repository's own folders since
/// the last answer to a prompt.
#[derive(Clone, Copy, Debug)]
pub struct UnchangedProof(());

/// The maximum number of folders that are watched for one repository, and for one that is a submodule, and of references in them.
pub(super) const FOLDERS_MAX: usize = 4096;
pub(super) const SUBMODULE_FOLDERS_MAX: usize = 256;
const REFERENCES_MAX: usize = 262_144;

/// The files directly in the repository's folder that may affect an answer.
const FILES: [&std::ffi::CStr; 7] = [
    c"HEAD",
    c"commondir",
    c"config",
    c"config.worktree",
    c"index",
    c"packed-refs",
    c"shallow",
];

/// What is known about the folders of a session's repository.
pub(super) struct RepositoryWatch {
    watcher: Arc<Watcher>,
    folders_max: usize,
    folders: Option<FullyWatchedFolders>,
    /// Whether a question was answered since the last event.
    is_answered: bool,
    /// The files of references, and of their logs, on which that answer rests, apart from tags.
    references: Vec<BString>,
    /// Whether a tag may have moved since tags were last read.
    tags_moved: bool,
    refused: Refused,
}

/// Finding that folders cannot be watched takes a walk through all of them, so each try is made after twice as many
/// questions as the one before.
#[derive(Default)]
struct Refused {
    /// How many questions are left until the next try.
    questions_left: u32,
    questions: u32,
}

/// The maximum number of questions from one try to the next.
const REFUSED_QUESTIONS_MAX: u32 = 1024;

impl RepositoryWatch {
    /// Creates a watch that does not watch anything yet, and will watch at most `folders_max` folders.
    pub(super) fn new(watcher: Arc<Watcher>, folders_max: usize) -> Self {
        Self {
            watcher,
            folders_max,
            folders: None,
            is_answered: false,
            references: Vec::new(),
            tags_moved: true,
            refused: Refused::default(),
        }
    }

    /// Begins a question, and returns a proof if nothing changed. Call this before looking at anything for the question.
    pub(super) fn ask(&mut self, repository: &Repository) -> Option<UnchangedProof> {
        let heard = self.folders.as_mut().map(|folders| {
            let heard = folders.take_events(needs_watch);
            // A new hard link elsewhere causes no event. These files are few, so they are checked.
            let files = FILES.iter().map(|name| BStr::new(name.to_bytes()));
            let mut files = files.chain(self.references.iter().map(|path| path.as_bstr()));
            match heard == FolderEvents::Nothing && !files.all(|path| folders.have_plain(path)) {
                true => FolderEvents::WatchAnew,
                false => heard,
            }
        });
        match heard {
            Some(FolderEvents::Nothing) => return self.is_answered.then_some(UnchangedProof(())),
            Some(FolderEvents::Entries(entries)) => {
                self.tags_moved |= entries
                    .iter()
                    .any(|(_, path)| concerns_tags(path.as_bstr()));
            }
            Some(FolderEvents::WatchAnew) | None => {
                self.tags_moved = true;
                self.folders = None;
                if self.refused.may_try() {
                    self.folders = self.watch(repository);
                    self.refused.note(self.folders.is_none());
                    // What was read to open the repository may have changed before it was watched.
                    self.folders.take_if(|_| !repository.is_fresh());
                }
            }
        }
        self.is_answered = false;
        None
    }

    /// The watched trees, each with the position up to which its changes are known.
    pub(super) fn known_until(&self) -> impl Iterator<Item = (&Arc<WatchedTree>, Position)> {
        self.folders
            .iter()
            .flat_map(FullyWatchedFolders::known_until)
    }

    /// Whether no tag has moved since tags were last read. The caller must then read them: the next call counts from now.
    pub(super) fn tags_stayed(&mut self) -> bool {
        let moved = std::mem::replace(&mut self.tags_moved, self.folders.is_none());
        !moved
    }

    /// Ends a question. `by_folders` means that its answer rests on nothing but the working tree, what is in the folders,
    /// and files that the session checks itself. `references` are the files of references, and of their logs, on which it
    /// rests, apart from tags. Returns whether the answer holds until a change is heard.
    pub(super) fn answered(&mut self, by_folders: bool, references: Vec<BString>) -> bool {
        self.references = references;
        self.is_answered = by_folders && self.folders.is_some();
        self.is_answered
    }

    /// Watches all folders that tell what is committed and staged. `None` if that could change without an event: through
    /// another machine, a symbolic link, or another hard link.
    fn watch(&self, repository: &Repository) -> Option<FullyWatchedFolders> {
        let (git_dir, common_dir) = (&repository.git_dir, &repository.common_dir);
        if repository.ref_format != RefFormat::Files
            || repository.keeps_references_elsewhere()
            || repository.index_path != git_dir.join("index")
            || repository.object_dir != common_dir.join("objects")
        {
            return None;
        }
        let watcher = self.watcher.clone();
        let mut folders = FullyWatchedFolders::new(watcher, self.folders_max, REFERENCES_MAX);
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

/// Watches what is in `path`, the repository's folder or the one that working trees share.
fn watch_root(folders: &mut FullyWatchedFolders, path: &Path) -> Option<()> {
    let root = folders.root(path)?;
    // A write to a file mounted over another one causes an event only where that file is.
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

/// Whether everything that happens in the folder at `path` must be heard: not in those of loose objects.
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
