//! The findings of a scan, kept true by looking again at what changed and nothing else.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use bstr::{BStr, BString, ByteSlice};
use vigil_linux::Errno;
use vigil_model::path::join;
use vigil_model::tracked::{ByNumber, ByPath, Directory, Tracked, TrackedEntry, TreeDiff};

use super::findings::{Findings, Unseen};
use super::focus::{Focus, FocusBuilder};

/// The findings of a full scan, updated since. They hold for one index, one question and one set of rules.
#[derive(Debug)]
pub struct KeptFindings {
    findings: Findings,
    /// Directories whose entries changed since [`Self::take_changed_directories`] was last called.
    changed_directories: BTreeSet<BString>,
    invalid: Invalid,
}

/// What must be looked at again, whatever changed in the working tree.
#[derive(Clone, Debug, Default)]
struct Invalid {
    /// Directories, with the files directly in them.
    new_directories: BTreeSet<BString>,
    /// Directories in which what is not tracked must be looked for again: names were added to or removed from the entries.
    other_names: BTreeSet<BString>,
    /// Files that must be compared with their entries again.
    entries: BTreeSet<BString>,
    /// Folders, with everything below.
    trees: BTreeSet<BString>,
}

impl KeptFindings {
    /// Keeps the findings of a scan that looked at everything.
    ///
    /// # Errors
    /// Something could not be looked at, which must be repeated for each question. A directory that may not be read is no such
    /// thing: an event tells if it may. The findings are given back.
    pub fn new(findings: Findings) -> Result<Self, Box<Findings>> {
        match Self::can_be_kept(&findings) {
            true => Ok(Self {
                findings,
                changed_directories: BTreeSet::new(),
                invalid: Invalid::default(),
            }),
            false => Err(Box::new(findings)),
        }
    }

    fn can_be_kept(findings: &Findings) -> bool {
        let is_forbidden =
            |unseen: &Unseen| unseen.reason == Errno::ACCESS && !unseen.path.is_empty();
        findings.unlisted.iter().all(is_forbidden)
            && findings.unknown.is_empty()
            && !findings
                .silent_paths
                .trees
                .iter()
                .any(|path| path.is_empty())
    }

    /// The same tracked files, for another question, which found `non_tracked`. `None` if those cannot be kept.
    pub fn with_non_tracked(&self, non_tracked: Findings) -> Option<Self> {
        if !Self::can_be_kept(&non_tracked) {
            return None;
        }
        let mut findings = Findings {
            tracked: self.findings.tracked.clone(),
            untracked: non_tracked.untracked,
            ignored: non_tracked.ignored,
            unlisted: non_tracked.unlisted,
            warnings: non_tracked.warnings,
            silent_paths: self.findings.silent_paths.clone(),
            ..Findings::default()
        };
        findings.silent_paths.add(non_tracked.silent_paths);
        findings.silent_paths.sort();
        Some(Self {
            findings,
            changed_directories: self.changed_directories.clone(),
            invalid: self.invalid.clone(),
        })
    }

    /// Takes the directories whose entries changed since the last call.
    pub fn take_changed_directories(&mut self) -> BTreeSet<BString> {
        std::mem::take(&mut self.changed_directories)
    }

    /// The findings.
    pub fn findings(&self) -> &Findings {
        &self.findings
    }

    /// Moves on to the entries `now`, which differ by `tree_diff` from those in `before`. Entries that changed are
    /// looked at the next time. So are those that were found to differ and may now match the same entry, by
    /// `is_in_doubt`. Returns false if there are more than `files_max` of these, or in directories whose paths are too
    /// long for the system: the findings are then of no use any more.
    #[must_use]
    pub fn move_to(
        &mut self,
        before: &Tracked,
        now: &Tracked,
        tree_diff: &TreeDiff,
        is_in_doubt: impl Fn(&TrackedEntry) -> bool,
        files_max: usize,
    ) -> bool {
        let invalid_entries = &mut self.invalid.entries;
        let (mut old, mut new) = (ByNumber::new(before), ByNumber::new(now));
        let mut new_by_path = ByPath::new(now);
        let mut renumbered = |number: u32| {
            let entry = old.get(number)?;
            let is_it = |other: &TrackedEntry| {
                other.path == entry.path && other.flags.stage() == entry.flags.stage()
            };
            // Mostly, it still has its number.
            let found = new.get(number).filter(is_it);
            let found =
                found.or_else(|| new_by_path.find(entry.path.as_ref(), entry.flags.stage()));
            let number = found.map(|found| found.number);
            if number.is_none() || is_in_doubt(&entry) {
                invalid_entries.insert(entry.path);
            }
            number
        };
        let known = &mut self.findings;
        let tracked = std::mem::take(&mut known.tracked).into_iter();
        known.tracked = tracked
            .filter_map(|(number, observed)| Some((renumbered(number)?, observed)))
            .collect();
        let files = std::mem::take(&mut known.silent_paths.files).into_iter();
        known.silent_paths.files = files.filter_map(renumbered).collect();
        // Numbers follow paths, unless another program wrote the index out of order.
        known.tracked.sort_by_key(|&(number, _)| number);
        known.silent_paths.files.sort_unstable();
        for (&number, path) in &tree_diff.directories {
            if self.invalid.entries.len() > files_max {
                return false;
            }
            // Its files are reported as such.
            let Some(path) = path else { return false };
            // A number that was given up may be another directory's now; the path tells.
            match before.find_directory(path.as_ref()) {
                None => {
                    self.invalid.new_directories.insert(path.clone());
                }
                Some(known) => {
                    let (old, new) = (before.directory(known), now.directory(number));
                    let mut names = differing_files(&old, &new);
                    if tree_diff.other_names.contains(&number) {
                        names.extend(subdirs_with_other_files(&old, &new));
                        self.invalid.other_names.insert(path.clone());
                    }
                    let paths = names.into_iter().map(|name| join(path.as_bstr(), name));
                    self.invalid.entries.extend(paths);
                }
            }
            self.changed_directories.insert(path.clone());
        }
        self.invalid.entries.len() <= files_max
    }

    /// Marks the file at `path` as one that may no longer match its entry.
    pub fn invalidate_entry(&mut self, path: BString) {
        self.invalid.entries.insert(path);
    }

    /// Marks the folder at `path` and everything below as unknown: the rules that govern it changed.
    pub fn invalidate_tree(&mut self, path: BString) {
        self.invalid.trees.insert(path);
    }

    /// Returns what to look at if the entries `paths`, which neither are nor were folders, and the folders `folders`, with
    /// everything below, may have changed, and ignore rules in the folders `ruled`. `None` if there is nothing to look at.
    pub fn focus<'p>(
        &self,
        tracked: &Tracked,
        paths: impl IntoIterator<Item = &'p BString>,
        folders: impl IntoIterator<Item = &'p BString>,
        ruled: impl IntoIterator<Item = &'p BString>,
    ) -> Option<Focus> {
        let mut focus = FocusBuilder::new(tracked);
        for path in paths {
            focus.add_file(path.as_ref());
        }
        for folder in folders {
            focus.add_tree(folder.as_ref());
        }
        for folder in ruled {
            focus.add_non_tracked_below(folder.as_ref());
        }
        for path in &self.invalid.new_directories {
            focus.add_files_of(path.as_ref());
        }
        for path in &self.invalid.other_names {
            focus.add_folder(path.as_ref());
        }
        for path in &self.invalid.entries {
            focus.add_file(path.as_ref());
        }
        for path in &self.invalid.trees {
            focus.add_tree(path.as_ref());
        }
        let silent_paths = &self.findings.silent_paths;
        // If a tree has been copied by hard links, these are all its files.
        let mut entries = ByNumber::new(tracked);
        for number in &silent_paths.files {
            if let Some(entry) = entries.get(*number) {
                focus.add_file(entry.path.as_ref());
            }
        }
        for folder in &silent_paths.folders {
            focus.add_folder(folder.as_ref());
        }
        for nested in &silent_paths.nested {
            focus.add_folder(nested.tracked_folder.as_ref());
        }
        for folder in &silent_paths.trees {
            focus.add_tree(folder.as_ref());
        }
        let focus = focus.finish();
        (!focus.is_empty()).then_some(focus)
    }

    /// Merges what a scan of `focus` found. Returns whether the result can be kept.
    #[must_use]
    pub fn merge(&mut self, tracked: &Tracked, focus: &Focus, later: Findings) -> bool {
        if !Self::can_be_kept(&later) {
            return false;
        }
        self.invalid = Invalid::default();
        let known = &mut self.findings;
        let mut entries = ByNumber::new(tracked);
        let mut has_entry = focus.has_entries_of(tracked);
        let mut has_file = |number: u32| {
            let entry = entries.get(number);
            entry.is_none_or(|entry| has_entry(entry.path.as_ref()))
        };
        let mut has = focus.wants_non_tracked_of(tracked);
        known.tracked.retain(|(number, _)| !has_file(*number));
        known.untracked.retain(|path| !has(path.as_ref()));
        known.ignored.retain(|path| !has(path.as_ref()));
        known.unlisted.retain(|unseen| !has(unseen.path.as_ref()));
        known
            .warnings
            .retain(|warning| !has(warning.directory.as_ref()));
        known.silent_paths.files.retain(|number| !has_file(*number));
        known
            .silent_paths
            .folders
            .retain(|path| !has(path.as_ref()));
        known
            .silent_paths
            .nested
            .retain(|nested| !has(nested.tracked_folder.as_ref()));
        known.silent_paths.trees.retain(|path| !has(path.as_ref()));
        // If a folder is gone, all files below it are reported missing, even those outside the focus: new findings go first, and
        // win.
        known.tracked.splice(0..0, later.tracked);
        known.tracked.sort_by_key(|&(number, _)| number);
        known.tracked.dedup_by_key(|(number, _)| *number);
        known.untracked.extend(later.untracked);
        known.ignored.extend(later.ignored);
        known.unlisted.extend(later.unlisted);
        known
            .unlisted
            .sort_by(|one, other| one.path.cmp(&other.path));
        known.unlisted.dedup_by(|one, other| one.path == other.path);
        known.warnings.extend(later.warnings);
        known.warnings.sort_unstable();
        known.warnings.dedup();
        known.silent_paths.add(later.silent_paths);
        for paths in [&mut known.untracked, &mut known.ignored] {
            paths.sort_unstable();
            paths.dedup();
        }
        known.silent_paths.sort();
        true
    }
}

/// Returns the names of the files whose entries differ between two versions of a directory, or are in only one of them.
fn differing_files<'t>(old: &Directory<'t>, new: &Directory<'t>) -> Vec<&'t BStr> {
    let mut names = Vec::new();
    let (mut old, mut new) = (old.files_from(0).peekable(), new.files_from(0).peekable());
    loop {
        let order = match (old.peek(), new.peek()) {
            (None, None) => return names,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some((_, old)), Some((_, new))) => old.name().cmp(new.name()),
        };
        let before = order.is_le().then(|| old.next()).flatten();
        let now = order.is_ge().then(|| new.next()).flatten();
        let is_same = match (&before, &now) {
            (Some((_, before)), Some((_, now))) => before.is_recorded_as(now),
            _ => false,
        };
        if !is_same {
            names.extend(before.or(now).map(|(_, file)| file.name()));
        }
    }
}

/// Returns the subdirectories in `new` whose name is also a file's in exactly one of two versions of their directory. What is
/// there in the working tree counts as the subdirectory, which may be the same in both.
fn subdirs_with_other_files<'t>(old: &Directory<'t>, new: &Directory<'t>) -> Vec<&'t BStr> {
    let names = new.subdirs().map(|subdir| subdir.name());
    names
        .filter(|name| old.has_file(name) != new.has_file(name))
        .collect()
}
