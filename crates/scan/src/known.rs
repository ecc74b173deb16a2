//! The findings of a scan, kept true by looking again at what changed and nothing else.

use std::collections::BTreeSet;

use bstr::{BStr, BString, ByteSlice};
use vigil_model::path::join;
use vigil_model::tracked::{ByNumber, DirNumber, Directory, Moved, Tracked, TrackedEntry};

use super::findings::Findings;
use super::focus::Focus;

/// The findings of a full scan, updated since. They hold for one index, one question and one set of rules.
#[derive(Debug)]
pub struct Known {
    findings: Findings,
    /// Directories whose entries changed since [`Self::take_moved`] was last called.
    moved: BTreeSet<BString>,
    /// Directories in which names were added to or removed from the entries since they were looked at.
    other_names: BTreeSet<BString>,
    /// Files that must be compared with their entries again.
    doubted: BTreeSet<BString>,
    /// Folders that must be looked at again, with everything below.
    doubted_trees: BTreeSet<BString>,
}

impl Known {
    /// Keeps the findings of a scan that looked at everything.
    ///
    /// # Errors
    /// Something could not be looked at, or caused a warning, which must be repeated for each question. The findings are given
    /// back.
    pub fn new(findings: Findings) -> Result<Self, Box<Findings>> {
        match Self::can_be_kept(&findings) {
            true => Ok(Self {
                findings,
                moved: BTreeSet::new(),
                other_names: BTreeSet::new(),
                doubted: BTreeSet::new(),
                doubted_trees: BTreeSet::new(),
            }),
            false => Err(Box::new(findings)),
        }
    }

    fn can_be_kept(findings: &Findings) -> bool {
        findings.unlisted.is_empty()
            && findings.unknown.is_empty()
            && findings.warnings.is_empty()
            && !findings.unheard.trees.iter().any(|path| path.is_empty())
    }

    /// The same tracked files, for another question, which found `others`. `None` if those cannot be kept.
    pub fn with_others(&self, others: Findings) -> Option<Self> {
        if !Self::can_be_kept(&others) {
            return None;
        }
        let mut findings = Findings {
            tracked: self.findings.tracked.clone(),
            untracked: others.untracked,
            ignored: others.ignored,
            unheard: self.findings.unheard.clone(),
            ..Findings::default()
        };
        findings.unheard.add(others.unheard);
        findings.unheard.sort();
        Some(Self {
            findings,
            moved: self.moved.clone(),
            other_names: self.other_names.clone(),
            doubted: self.doubted.clone(),
            doubted_trees: self.doubted_trees.clone(),
        })
    }

    /// Takes the directories whose entries changed since the last call.
    pub fn take_moved(&mut self) -> BTreeSet<BString> {
        std::mem::take(&mut self.moved)
    }

    /// The findings.
    pub fn findings(&self) -> &Findings {
        &self.findings
    }

    /// Moves on to the entries `now`, which differ by `moved` from those in `before`. Entries that changed are looked at the next
    /// time. So are those that were found to differ and may now match the same entry, by `is_in_doubt`. Returns false if there
    /// are more than `files_max` of these: the findings are then of no use any more.
    #[must_use]
    pub fn move_to(
        &mut self,
        before: &Tracked,
        now: &Tracked,
        moved: &Moved,
        is_in_doubt: impl Fn(&TrackedEntry) -> bool,
        files_max: usize,
    ) -> bool {
        let doubted = &mut self.doubted;
        let (mut old, mut new) = (ByNumber::new(before), ByNumber::new(now));
        let mut renumbered = |number: u32| {
            let entry = old.get(number)?;
            let is_it = |other: &TrackedEntry| {
                other.path == entry.path && other.flags.stage() == entry.flags.stage()
            };
            // Mostly, it still has its number.
            let found = new.get(number).filter(is_it);
            let found = found.or_else(|| now.find(entry.path.as_ref(), entry.flags.stage()));
            let number = found.map(|found| found.number);
            if number.is_none() || is_in_doubt(&entry) {
                doubted.insert(entry.path);
            }
            number
        };
        let known = &mut self.findings;
        let tracked = std::mem::take(&mut known.tracked).into_iter();
        known.tracked = tracked
            .filter_map(|(number, observed)| Some((renumbered(number)?, observed)))
            .collect();
        let files = std::mem::take(&mut known.unheard.files).into_iter();
        known.unheard.files = files.filter_map(renumbered).collect();
        // Numbers follow paths, unless another program wrote the index out of order.
        known.tracked.sort_by_key(|&(number, _)| number);
        known.unheard.files.sort_unstable();
        for (&number, path) in &moved.directories {
            if self.doubted.len() > files_max {
                return false;
            }
            if moved.other_names.contains(&number) {
                if number < before.directories() {
                    let names = subdirs_with_other_files(before, now, number);
                    let paths = names.map(|name| join(path.as_bstr(), name));
                    self.doubted.extend(paths);
                }
                self.other_names.insert(path.clone());
            } else {
                // The same names are in the same positions.
                let (old, new) = (before.directory(number), now.directory(number));
                let places = old.files_from(0).zip(new.files_from(0));
                let others = places.filter(|((_, old), (_, new))| !old.is_recorded_as(new));
                let others = others.map(|(_, (_, file))| join(path.as_bstr(), file.name()));
                self.doubted.extend(others);
            }
            self.moved.insert(path.clone());
        }
        self.doubted.len() <= files_max
    }

    /// Marks the file at `path` as one that may no longer match its entry.
    pub fn doubt_entry(&mut self, path: BString) {
        self.doubted.insert(path);
    }

    /// Marks the folder at `path` and everything below as unknown: the rules that govern it changed.
    pub fn doubt_tree(&mut self, path: BString) {
        self.doubted_trees.insert(path);
    }

    /// Returns what to look at if the entries `paths`, which neither are nor were folders, and the folders `folders`, with
    /// everything below, may have changed. `None` if there is nothing to look at.
    pub fn focus<'p>(
        &self,
        tracked: &Tracked,
        paths: impl IntoIterator<Item = &'p BString>,
        folders: impl IntoIterator<Item = &'p BString>,
    ) -> Option<Focus> {
        let mut focus = Focus::default();
        for path in paths {
            focus.add_file(tracked, path.as_ref());
        }
        for folder in folders {
            focus.add_tree(tracked, folder.as_ref());
        }
        for path in &self.other_names {
            focus.add_files_of(tracked, path.as_ref());
        }
        for path in &self.doubted {
            focus.add_file(tracked, path.as_ref());
        }
        for path in &self.doubted_trees {
            focus.add_tree(tracked, path.as_ref());
        }
        let unheard = &self.findings.unheard;
        for number in &unheard.files {
            if let Some(entry) = tracked.entry(*number) {
                focus.add_file(tracked, entry.path.as_ref());
            }
        }
        for folder in &unheard.folders {
            focus.add_folder(tracked, folder.as_ref());
        }
        for folder in &unheard.trees {
            focus.add_tree(tracked, folder.as_ref());
        }
        focus.finish();
        (!focus.is_empty()).then_some(focus)
    }

    /// Merges what a scan of `focus` found. Returns whether the result can be kept.
    #[must_use]
    pub fn take_in(&mut self, tracked: &Tracked, focus: &Focus, later: Findings) -> bool {
        if !Self::can_be_kept(&later) {
            return false;
        }
        self.other_names.clear();
        self.doubted.clear();
        self.doubted_trees.clear();
        let known = &mut self.findings;
        let mut entries = ByNumber::new(tracked);
        let mut has_file = |number: u32| {
            let entry = entries.get(number);
            entry.is_none_or(|entry| focus.has_entry(tracked, entry.path.as_ref()))
        };
        let has = |path: &BStr| focus.has_others_of(tracked, path);
        known.tracked.retain(|(number, _)| !has_file(*number));
        known.untracked.retain(|path| !has(path.as_ref()));
        known.ignored.retain(|path| !has(path.as_ref()));
        known.unheard.files.retain(|number| !has_file(*number));
        known.unheard.folders.retain(|path| !has(path.as_ref()));
        known.unheard.trees.retain(|path| !has(path.as_ref()));
        // If a folder is gone, all files below it are reported missing, even those outside the focus: new findings go first, and
        // win.
        known.tracked.splice(0..0, later.tracked);
        known.tracked.sort_by_key(|&(number, _)| number);
        known.tracked.dedup_by_key(|(number, _)| *number);
        known.untracked.extend(later.untracked);
        known.ignored.extend(later.ignored);
        known.unheard.add(later.unheard);
        for paths in [&mut known.untracked, &mut known.ignored] {
            paths.sort_unstable();
            paths.dedup();
        }
        known.unheard.sort();
        true
    }
}

/// Returns the subdirectories of the directory `number` whose name is also a file's in exactly one of the two trees. What is
/// there in the working tree counts as the subdirectory, which may be the same in both.
fn subdirs_with_other_files<'t>(
    before: &'t Tracked,
    now: &'t Tracked,
    number: DirNumber,
) -> impl Iterator<Item = &'t BStr> {
    let (old, new) = (before.directory(number), now.directory(number));
    let has_file = |directory: &Directory<'_>, name: &BStr| {
        let file = directory.file(directory.position(name));
        file.is_some_and(|file| file.name() == name)
    };
    let names = new.subdirs().map(|subdir| subdir.name());
    names.filter(move |name| has_file(&old, name) != has_file(&new, name))
}
