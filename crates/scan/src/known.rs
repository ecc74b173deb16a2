//! What a scan found, kept true by looking again at what changed and at nothing else.

use std::collections::BTreeSet;

use bstr::{BStr, BString, ByteSlice};
use vigil_model::path::join;
use vigil_model::tracked::{ByNumber, DirNumber, Directory, Moved, Tracked, TrackedEntry};

use super::findings::Findings;
use super::focus::Focus;

/// The findings of a whole scan, and what became of them. It holds for one index, one question and one set of rules.
#[derive(Debug)]
pub struct Known {
    findings: Findings,
    /// Directories whose records are others than when this was asked for.
    moved: BTreeSet<BString>,
    /// Directories with other names in their records than when they were looked at.
    other_names: BTreeSet<BString>,
    /// Files that are to be compared with their records again.
    doubted: BTreeSet<BString>,
    /// Folders of which all is to be looked at again, with what is below.
    doubted_trees: BTreeSet<BString>,
}

impl Known {
    /// Of a scan that looked at everything.
    ///
    /// # Errors
    /// Some of it could not be looked at, or is complained of: that is said for each question anew. The findings are given back.
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

    /// The same of what is tracked, for another question for which `others` were found. `None` where these cannot be kept.
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

    /// The directories whose records are others than when this was asked last.
    pub fn take_moved(&mut self) -> BTreeSet<BString> {
        std::mem::take(&mut self.moved)
    }

    /// The findings.
    pub fn findings(&self) -> &Findings {
        &self.findings
    }

    /// From now on holds for the records `now`, which differ by `moved` from those in `before`. What has another record is looked
    /// at the next time, and so is what was found to differ, and now may not with the same record, as `is_in_doubt` says. Whether
    /// these are no more than `files_max`: else it is of no use any more.
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
            // Mostly it has its number still.
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
        // Numbers follow paths, unless somebody else's index is out of order.
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
                // The same names are in the same places.
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

    /// From now on it is not known whether the file at `path` is as its record says.
    pub fn doubt_entry(&mut self, path: BString) {
        self.doubted.insert(path);
    }

    /// From now on nothing is known of the folder at `path`, nor of what is below: what governs it is other.
    pub fn doubt_tree(&mut self, path: BString) {
        self.doubted_trees.insert(path);
    }

    /// What is to be looked at where the entries `paths`, which are and were no folders, and the folders `folders`, with all below,
    /// may have changed. `None` where nothing is.
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

    /// Takes in what a scan of `focus` found; whether what is known can be kept.
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
        // A folder that is gone says so of all below it, looked at or not: what was found now comes first, and stays.
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

/// The names of subdirectories of the directory `number` that in one of the two are names of files, too. What is there in the
/// working tree counts to the subdirectory, which may be the same in both.
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
