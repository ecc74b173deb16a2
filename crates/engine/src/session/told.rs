//! The paths that git is told of: in its terms, in which a folder and its listing are two things.

use std::collections::BTreeSet;
use std::sync::{Arc, Weak};

use bstr::{BStr, BString, ByteSlice};
use vigil_git::repository::Repository;
use vigil_model::path::{file_name, join};
use vigil_model::tracked::Tracked;
use vigil_scan::Unheard;
use vigil_watch::{Changes, WatchedTree};

/// How many paths, and how many bytes of them, are told one by one: to look at all costs git less than to search for each.
const PATHS_MAX: usize = 100_000;
const BYTES_MAX: usize = 3 << 20;

/// The same where all listings are told: what is not told then is told never, and everything each time.
const LISTINGS_MAX: usize = 1_000_000;
const LISTINGS_BYTES_MAX: usize = 48 << 20;

/// No such file need be there. A path directly in a folder is the only way to say that its listing changed: of a folder that is
/// named itself, git forgets the listing of the one above.
const INSIDE: &[u8] = b".vigil";

/// Files by which git judges those below their folder.
const ATTRIBUTES: &[u8] = b".gitattributes";

/// Up to where somebody was told what changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToldUntil {
    /// In which tree, and by which rules it was watched. No two trees that a process watches have the same.
    pub ground: u128,
    /// How much had happened there.
    pub number: u64,
    /// Whether he was told so by paths. Who was told that everything may have changed looks at all tracked files; but git may keep
    /// listings of its untracked cache that it did not need then, and takes them to be right from the next answer on.
    pub has_right_listings: bool,
}

/// What may have changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// From where on the next one is to be told.
    pub until: ToldUntil,
    /// The paths, from the top: folders, with all below, have a `/` at the end. `None` where everything may have.
    pub paths: Option<BTreeSet<BString>>,
}

impl Told {
    /// Up to the `number` of a change.
    pub(super) fn new(ground: u128, number: u64, paths: Option<BTreeSet<BString>>) -> Self {
        let until = ToldUntil {
            ground,
            number,
            has_right_listings: paths.is_some(),
        };
        Self { until, paths }
    }
}

/// What git can be told at any time, without the session: that everything may have changed. What is watched only later counts as
/// changed since.
#[derive(Clone)]
pub struct Everything {
    ground: u128,
    /// It is watched as long as the session wants that.
    tree: Weak<WatchedTree>,
    repository: Arc<Repository>,
    /// Attributes come from a tree, which may be another one by now.
    rests_on_tree: bool,
}

impl Everything {
    pub(super) fn new(
        ground: u128,
        tree: &Arc<WatchedTree>,
        repository: Arc<Repository>,
        rests_on_tree: bool,
    ) -> Self {
        Self {
            ground: of_tree(ground, tree),
            tree: Arc::downgrade(tree),
            repository,
            rests_on_tree,
        }
    }

    /// What git is told now; `None` where the repository is set up otherwise by now.
    pub fn told(&self) -> Option<Told> {
        if self.rests_on_tree || !self.repository.is_fresh() {
            return None;
        }
        let (_, end) = self.tree.upgrade()?.told_since(None)?;
        Some(Told::new(self.ground, end.number(), None))
    }

    /// Whether who was told until `since` can be told what changed.
    pub fn continues(&self, since: Option<ToldUntil>) -> bool {
        since.is_some_and(|since| since.ground == self.ground)
    }
}

/// `ground` in `tree`: none of two trees is that of the other.
pub(super) fn of_tree(ground: u128, tree: &WatchedTree) -> u128 {
    ground ^ u128::from(tree.serial()).rotate_right(64)
}

/// What is told.
pub(super) struct Paths<'t> {
    tree: &'t WatchedTree,
    told: BTreeSet<BString>,
    is_everything: bool,
    /// How many paths are told, and how many bytes of them.
    max: (usize, usize),
}

impl<'t> Paths<'t> {
    /// None yet of `tree`, or all.
    pub(super) fn new(tree: &'t WatchedTree, is_everything: bool) -> Self {
        Self {
            tree,
            told: BTreeSet::new(),
            is_everything,
            max: (PATHS_MAX, BYTES_MAX),
        }
    }

    /// Takes in what changed.
    pub(super) fn add_changes(&mut self, changes: &Changes) {
        for folder in &changes.folders {
            self.add_folder(folder.as_bstr());
        }
        for path in &changes.paths {
            self.add_entry(path.as_bstr());
        }
    }

    /// Takes in that any entry of the index may have changed, but no listing.
    pub(super) fn add_all_entries(&mut self, tracked: &Tracked) {
        let Some(top) = tracked.find_directory(BStr::new("")) else {
            return;
        };
        let top = tracked.directory(top);
        for (_, file) in top.files_from(0) {
            self.add(file.name().to_owned());
        }
        for subdir in top.subdirs() {
            self.add(join(subdir.name(), BStr::new("")));
        }
    }

    /// Takes in that any listing may have changed.
    pub(super) fn add_all_listings(&mut self) {
        self.max = (LISTINGS_MAX, LISTINGS_BYTES_MAX);
        self.add_listings("".into());
    }

    /// Takes in what may change without a word; `path` knows that of a recorded file.
    pub(super) fn add_unheard(&mut self, unheard: &Unheard, path: impl Fn(u32) -> Option<BString>) {
        for number in &unheard.files {
            match path(*number) {
                Some(path) => self.add_entry(path.as_bstr()),
                None => self.is_everything = true,
            }
        }
        for folder in &unheard.folders {
            self.add_listings(folder.as_bstr());
        }
        for folder in &unheard.trees {
            self.add_folder(folder.as_bstr());
        }
    }

    /// The entry at `path` changed.
    fn add_entry(&mut self, path: &BStr) {
        let name = file_name(path);
        let len = path.len().saturating_sub(name.len());
        let folder = path.get(..len.saturating_sub(1)).unwrap_or_default();
        if name == ATTRIBUTES {
            // Each file below may be another by it.
            self.add_folder(folder.as_bstr());
        }
        if is_refused(name) {
            // git takes no word of such names; what they are to it, it finds in the folder.
            self.add_listing(folder.as_bstr());
        }
        self.add(path.to_owned());
    }

    /// The folder at `path` changed, with all below.
    fn add_folder(&mut self, path: &BStr) {
        if path.is_empty() {
            self.is_everything = true;
            return;
        }
        // By its name alone git takes it for what it is recorded as, which may be a file.
        self.add_entry(path);
        self.add(join(path, BStr::new("")));
        self.add_listings(path);
    }

    /// The listings of the folder at `path` and of all below may have changed.
    fn add_listings(&mut self, path: &BStr) {
        let room = self.max.0.saturating_sub(self.told.len());
        let (folders, are_all) = match self.is_everything {
            true => return,
            false => self.tree.folders_from(path, room),
        };
        self.is_everything |= !are_all;
        self.add_listing(path);
        for folder in folders {
            self.add_listing(folder.as_bstr());
        }
    }

    fn add_listing(&mut self, folder: &BStr) {
        let inside = match folder.is_empty() {
            true => INSIDE.into(),
            false => join(folder, INSIDE.as_bstr()),
        };
        self.add(inside);
    }

    fn add(&mut self, path: BString) {
        if self.is_everything {
            return;
        }
        let folders = path.rfind_byte(b'/').and_then(|at| path.get(..at));
        let mut names = folders.unwrap_or_default().split_str("/");
        match names.any(is_refused) {
            true => self.is_everything = true,
            false => drop(self.told.insert(path)),
        }
    }

    /// All paths; `None` where everything may have changed.
    pub(super) fn finish(self) -> Option<BTreeSet<BString>> {
        let bytes: usize = self
            .told
            .iter()
            .map(|path| path.len().saturating_add(1))
            .sum();
        let (paths_max, bytes_max) = self.max;
        let is_everything = self.is_everything || self.told.len() > paths_max || bytes > bytes_max;
        (!is_everything).then_some(self.told)
    }
}

/// Whether git may refuse `name` in a path of the index, on this system or another (`core.protectNTFS`, `core.protectHFS`): then
/// it does not hear of it in its untracked cache either.
fn is_refused(name: &[u8]) -> bool {
    // Which of the other characters a file system passes over does not matter: they are rare in such names.
    let name: Vec<u8> = name.iter().copied().filter(u8::is_ascii).collect();
    let name = name.to_ascii_lowercase();
    let rest = [&b".git"[..], b"git~1"]
        .iter()
        .find_map(|begin| name.strip_prefix(*begin));
    rest.is_some_and(|rest| matches!(rest.first(), None | Some(b' ' | b'.' | b':' | b'\\')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_which_git_does_not_hear_are_known() {
        for name in [
            ".git",
            ".GIT",
            "git~1",
            ".git ",
            ".git.",
            ".git:x",
            ".g\u{200c}it",
        ] {
            assert!(is_refused(name.as_bytes()), "{name}");
        }
        for name in [".gitignore", ".github", "git", ".gi", "git~2", "\u{200c}"] {
            assert!(!is_refused(name.as_bytes()), "{name}");
        }
    }
}
