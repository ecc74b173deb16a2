//! The paths that are reported to git, in its terms: a folder and its listing are two things.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::{Arc, Weak};

use bstr::{BStr, BString, ByteSlice};
use vigil_git::repository::Repository;
use vigil_model::path::{file_name, join, parent};
use vigil_model::tracked::{Tracked, TrackedFile};
use vigil_scan::SilentPaths;
use vigil_watch::{Changes, WatchedTree};

/// The maximum number of paths, and of their bytes, that are reported one by one: beyond it, looking at everything costs git
/// less.
const PATHS_MAX: usize = 100_000;
const BYTES_MAX: usize = 3 << 20;

/// The same if all listings are reported: beyond it, the listings never become right, and everything is reported each time.
const LISTINGS_MAX: usize = 1_000_000;
const LISTINGS_BYTES_MAX: usize = 48 << 20;

/// A name that no file need have. Reporting a path directly in a folder is the only way to say that the folder's listing changed:
/// for a folder reported itself, git forgets the listing of its parent.
const INSIDE: &[u8] = b".vigil";

/// The name of files that affect how git judges those below their folder.
const ATTRIBUTES: &[u8] = b".gitattributes";

/// Which versions of git a report is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForGit {
    /// All that can ask a hook with a token, since 2.26. Before 2.31, git does not know that the name of a folder stands for
    /// what is below; before 2.37, it looks at a submodule only if that is reported.
    SinceHook,
    /// All that can ask at the socket, since 2.55.
    SinceSocket,
}

/// How far a git was told what changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToldUntil {
    /// Identifies the tree and the rules by which it was watched. No two trees that a process watches have the same.
    pub context_id: u128,
    /// How much had happened there.
    pub number: u64,
    /// Whether it was told by paths. A git that was told that everything may have changed looks at all tracked files; but it may
    /// keep listings in its untracked cache that it did not need then, and trusts them from the next answer on.
    pub has_right_listings: bool,
}

/// What may have changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangeReport {
    /// Where the next report starts.
    pub until: ToldUntil,
    /// The paths, from the top. A trailing `/` means a folder with everything below. `None` if everything may have changed.
    pub paths: Option<BTreeSet<BString>>,
}

impl ChangeReport {
    /// Creates a report up to the `number` of a change.
    pub(super) fn new(context_id: u128, number: u64, paths: Option<BTreeSet<BString>>) -> Self {
        let until = ToldUntil {
            context_id,
            number,
            has_right_listings: paths.is_some(),
        };
        Self { until, paths }
    }
}

/// A report that everything may have changed, which can be given at any time without the session. Anything that is watched only
/// later counts as changed since.
#[derive(Clone)]
pub struct FullReport {
    context_id: u128,
    /// Held weakly: it is watched only as long as the session wants that.
    tree: Weak<WatchedTree>,
    repository: Arc<Repository>,
    /// Whether attributes come from a tree, which may have changed by now.
    rests_on_tree: bool,
}

impl FullReport {
    pub(super) fn new(
        context_id: u128,
        tree: &Arc<WatchedTree>,
        repository: Arc<Repository>,
        rests_on_tree: bool,
    ) -> Self {
        Self {
            context_id: of_tree(context_id, tree),
            tree: Arc::downgrade(tree),
            repository,
            rests_on_tree,
        }
    }

    /// Returns the report to give now; `None` if the repository's set-up has changed.
    pub fn current_report(&self) -> Option<ChangeReport> {
        if self.rests_on_tree || !self.repository.is_fresh() {
            return None;
        }
        let (_, end) = self.tree.upgrade()?.monitor_changes_since(None)?;
        Some(ChangeReport::new(self.context_id, end.number(), None))
    }

    /// Whether a git that was told everything until `since` can be told what changed.
    pub fn continues(&self, since: Option<ToldUntil>) -> bool {
        since.is_some_and(|since| since.context_id == self.context_id)
    }
}

/// Combines `context_id` with `tree`, so that no two trees share a context_id.
pub(super) fn of_tree(context_id: u128, tree: &WatchedTree) -> u128 {
    context_id ^ u128::from(tree.serial()).rotate_right(64)
}

/// The paths to report.
pub(super) struct Paths<'t> {
    tree: &'t WatchedTree,
    reported: BTreeSet<BString>,
    is_everything: bool,
    /// The maximum number of paths, and of their bytes.
    max: (usize, usize),
    /// The entries of the index, if those in a folder are reported one by one.
    one_by_one: Option<&'t Tracked>,
}

impl<'t> Paths<'t> {
    /// Starts with no paths of `tree`, or with everything.
    pub(super) fn new(tree: &'t WatchedTree, is_everything: bool) -> Self {
        Self {
            tree,
            reported: BTreeSet::new(),
            is_everything,
            max: (PATHS_MAX, BYTES_MAX),
            one_by_one: None,
        }
    }

    /// Adds all submodules, and from now on the entries in each reported folder, if `for_git` needs that. `tracked` are the entries
    /// of the index.
    pub(super) fn suit(&mut self, for_git: ForGit, tracked: Option<&'t Tracked>) {
        self.one_by_one = tracked.filter(|_| for_git == ForGit::SinceHook);
        let Some(tracked) = self.one_by_one else {
            return;
        };
        let submodule = |_: u32, path: &BStr, file: &TrackedFile<'_>| {
            if file.is_nested() {
                self.add(path.to_owned());
            }
            ControlFlow::<()>::Continue(())
        };
        let _ = tracked.visit(|sums| sums.gitlinks > 0, submodule);
    }

    /// Adds what changed.
    pub(super) fn add_changes(&mut self, changes: &Changes) {
        for folder in &changes.folders {
            self.add_folder(folder.as_bstr());
        }
        for path in &changes.paths {
            self.add_entry(path.as_bstr());
        }
    }

    /// Adds all entries of the index, but no listing.
    pub(super) fn add_all_entries(&mut self, tracked: &Tracked) {
        let Some(top) = tracked.find_directory(BStr::new("")) else {
            return;
        };
        let top = tracked.directory(top);
        for (_, file) in top.files_from(0) {
            self.add(file.name().to_owned());
        }
        for subdir in top.subdirs() {
            self.add_tree(subdir.name());
        }
    }

    /// Adds all entries in the folder at `path`.
    fn add_tree(&mut self, path: &BStr) {
        self.add(join(path, BStr::new("")));
        let Some(tracked) = self.one_by_one else {
            return;
        };
        let budget = tracked.budget();
        let number = tracked.find_directory(path);
        let mut open: Vec<_> = number
            .map(|top| (path.to_owned(), top))
            .into_iter()
            .collect();
        while let Some((path, number)) = open.pop() {
            self.is_everything |= self.reported.len() > self.max.0;
            if self.is_everything {
                return;
            }
            let directory = tracked.visit_within(number, path.len(), &budget);
            for (_, file) in directory.files_from(0) {
                self.add(join(path.as_bstr(), file.name()));
            }
            for subdir in directory.subdirs() {
                open.push((join(path.as_bstr(), subdir.name()), subdir.number));
            }
        }
    }

    /// Adds all listings.
    pub(super) fn add_all_listings(&mut self) {
        self.max = (LISTINGS_MAX, LISTINGS_BYTES_MAX);
        self.add_listings("".into());
    }

    /// Adds the folders that may change without an event.
    pub(super) fn add_silent_folders(&mut self, silent_paths: &SilentPaths) {
        for folder in &silent_paths.folders {
            self.add_listings(folder.as_bstr());
        }
        for folder in &silent_paths.trees {
            self.add_folder(folder.as_bstr());
        }
    }

    /// Adds the entry at `path`.
    fn add_entry(&mut self, path: &BStr) {
        let name = file_name(path);
        let len = path.len().saturating_sub(name.len());
        let folder = path.get(..len.saturating_sub(1)).unwrap_or_default();
        if name == ATTRIBUTES {
            // It may affect each file below.
            self.add_folder(folder.as_bstr());
        }
        if is_refused(name) {
            // git ignores reports of such names; it finds what it needs in the folder's listing.
            self.add_listing(folder.as_bstr());
        }
        self.add(path.to_owned());
    }

    /// Adds the folder at `path`, with everything below.
    fn add_folder(&mut self, path: &BStr) {
        if path.is_empty() {
            self.is_everything = true;
            return;
        }
        // Without a slash, git takes the name for what is recorded there, which may be a file.
        self.add_entry(path);
        self.add_tree(path);
        self.add_listings(path);
    }

    /// Adds the listings of the folder at `path` and of all folders below.
    fn add_listings(&mut self, path: &BStr) {
        let room = self.max.0.saturating_sub(self.reported.len());
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
        let mut names = parent(path.as_ref()).split_str("/");
        match names.any(is_refused) {
            true => self.is_everything = true,
            false => drop(self.reported.insert(path)),
        }
    }

    /// Returns all paths; `None` if everything may have changed.
    pub(super) fn finish(self) -> Option<BTreeSet<BString>> {
        let bytes: usize = self
            .reported
            .iter()
            .map(|path| path.len().saturating_add(1))
            .sum();
        let (paths_max, bytes_max) = self.max;
        let is_everything =
            self.is_everything || self.reported.len() > paths_max || bytes > bytes_max;
        (!is_everything).then_some(self.reported)
    }
}

/// Whether git may refuse `name` in a path of the index, on this system or another (`core.protectNTFS`, `core.protectHFS`). It
/// then ignores reports of it for its untracked cache, too.
fn is_refused(name: &[u8]) -> bool {
    // It does not matter which other characters a file system ignores: they are rare in such names.
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
