//! Changes that affect no answer: ignored files came or went.
//!
//! A compiler writes thousands of ignored files into folders that are not ignored. Scanning again for everything untracked in
//! those folders costs as much as they hold; matching the changed paths against the rules costs as much as changed.

use std::collections::{BTreeSet, HashMap};
use std::os::fd::AsFd;
use std::sync::Arc;

use bstr::{BStr, BString, ByteSlice};
use rustix::fs::{CWD, Mode, OFlags};
use vigil_linux::Errno;
use vigil_linux::dir::{EntryKind, Listing};
use vigil_linux::stat::lstat_path;
use vigil_model::path::{file_name, join, parent};
use vigil_model::tracked::{Beside, Tracked};
use vigil_rules::ignore::IgnoreRules;
use vigil_scan::Watch;

use super::ignoring::{Decision, DirectoryRules, RulesIn};
use super::watched;
use crate::git_ignore_files::FILE_NAME;

/// The maximum number of folders to search for one question, and of their entries. Beyond that, a scan is needed.
const FOLDERS_MAX: usize = 1000;
const ENTRIES_MAX: usize = 20_000;

/// Tells which changes have no effect, for a question that shows no ignored files, with case-sensitive names.
pub(super) struct IgnoredChanges<'s> {
    pub(super) tracked: &'s Tracked,
    pub(super) base: &'s Arc<IgnoreRules>,
    pub(super) rules: DirectoryRules<'s>,
}

impl watched::ChangeFilter for IgnoredChanges<'_> {
    fn leave_out(
        &self,
        paths: &mut BTreeSet<BString>,
        folders: &mut BTreeSet<BString>,
        shown: &[BString],
        watch: &dyn Watch,
    ) {
        let mut judge = ChangeJudge {
            parts: self,
            beside: Beside::new(self.tracked),
            shown,
            watch,
            by_folder: HashMap::new(),
            folders_left: FOLDERS_MAX,
            entries_left: ENTRIES_MAX,
        };
        paths.retain(|path| !judge.is_ignored_entry(path.as_ref()));
        folders.retain(|path| !judge.is_ignored_folder(path.as_ref()));
    }
}

/// What is known while changes are judged.
struct ChangeJudge<'s> {
    parts: &'s IgnoredChanges<'s>,
    beside: Beside<'s>,
    shown: &'s [BString],
    watch: &'s dyn Watch,
    by_folder: HashMap<BString, RulesIn>,
    folders_left: usize,
    entries_left: usize,
}

impl ChangeJudge<'_> {
    /// Whether `path` is ignored, and neither is nor was a folder.
    fn is_ignored_entry(&mut self, path: &BStr) -> bool {
        if file_name(path) == FILE_NAME || !self.is_beside_tracked(path) {
            return false;
        }
        let rules = self.rules_in(parent(path));
        rules.is_some_and(|rules| is_ignored(&rules, path, false))
    }

    /// Whether the folder that is or was at `path` is ignored, or is not shown because everything in it is ignored.
    fn is_ignored_folder(&mut self, path: &BStr) -> bool {
        if !self.is_beside_tracked(path) || self.is_shown(path) {
            return false;
        }
        let Some(rules) = self.rules_in(parent(path)) else {
            return false;
        };
        match is_ignored(&rules, path, true) {
            // A rule for folders does not apply to a file that took the place of one.
            true => is_ignored(&rules, path, false) || self.is_folder_or_gone(path),
            false => self.has_only_ignored(path),
        }
    }

    /// Whether there is a folder at `path`, or nothing.
    fn is_folder_or_gone(&self, path: &BStr) -> bool {
        let path = self.parts.rules.on_disk(path);
        match path.map(|path| lstat_path(&path)) {
            Some(Ok(stat)) => stat.is_dir(),
            Some(Err(error)) => error == Errno::NOENT,
            None => false,
        }
    }

    /// Whether no index entry is at `path`, below it, or in place of a folder above it, and no repository is on the way.
    fn is_beside_tracked(&mut self, path: &BStr) -> bool {
        let mut names = path.split_str("/");
        !names.any(|name| name.eq_ignore_ascii_case(b".git")) && self.beside.has(path)
    }

    /// Whether the answer has `path`, something below it, or a folder above it.
    fn is_shown(&self, path: &BStr) -> bool {
        let has = |path: &BString| self.shown.binary_search(path).is_ok();
        let ends = path.find_iter(b"/");
        let mut above = ends.filter_map(|end| path.get(..=end).map(BString::from));
        let folder = join(path, BStr::new(""));
        let first = self.shown.partition_point(|shown| *shown < folder);
        let below = self.shown.get(first);
        above.any(|above| has(&above))
            || has(&path.to_owned())
            || below.is_some_and(|shown| shown.starts_with(&folder))
    }

    /// Whether nothing at `path`, which is not an ignored folder, is to be shown. True if nothing is there any more.
    fn has_only_ignored(&mut self, path: &BStr) -> bool {
        let mut pending = vec![path.to_owned()];
        while let Some(path) = pending.pop() {
            let Some(mut below) = self.folders_with_ignored(path.as_ref()) else {
                return false;
            };
            pending.append(&mut below);
        }
        true
    }

    /// Returns the folders in the folder `path` that are not ignored. `None` if anything else in it is to be shown, or cannot be
    /// known.
    fn folders_with_ignored(&mut self, path: &BStr) -> Option<Vec<BString>> {
        self.folders_left = self.folders_left.checked_sub(1)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let folder = self.parts.rules.on_disk(path)?;
        let folder = match rustix::fs::openat(CWD, &folder, flags, Mode::empty()) {
            Ok(folder) => folder,
            Err(Errno::NOENT) => return Some(Vec::new()),
            Err(_) => return None,
        };
        if !self.watch.watch(path, folder.as_fd()) {
            return None;
        }
        let mut listing = Listing::new();
        listing.read(folder.as_fd()).ok()?;
        self.entries_left = self.entries_left.checked_sub(listing.len())?;
        let mut below = Vec::new();
        for entry in listing.entries() {
            let name = entry.name.to_bytes();
            if name.eq_ignore_ascii_case(b".git") || name == FILE_NAME {
                return None;
            }
            let entry_path = join(path, name.as_bstr());
            let is_dir = entry.kind == EntryKind::Dir;
            let rules = self.rules_in(path)?;
            match is_ignored(&rules, entry_path.as_ref(), is_dir) {
                true => {}
                false if is_dir => below.push(entry_path),
                // Sockets and the like are not shown anywhere.
                false if entry.kind == EntryKind::Other => {}
                false => return None,
            }
        }
        Some(below)
    }

    /// Returns the rules in the folder `path`; `None` once there are too many folders.
    fn rules_in(&mut self, path: &BStr) -> Option<RulesIn> {
        if let Some(rules) = self.by_folder.get(path) {
            return Some(rules.clone());
        }
        let parts = self.parts;
        let mut rules: Option<RulesIn> = None;
        // The top, and each folder on the way.
        let ends = path.find_iter(b"/").chain([path.len()]);
        for end in [0].into_iter().chain(ends.filter(|end| *end > 0)) {
            let folder = BStr::new(path.get(..end)?);
            let known = self.by_folder.get(folder).cloned();
            if known.is_none() && self.by_folder.len() >= FOLDERS_MAX {
                return None;
            }
            let found = known.unwrap_or_else(|| match &rules {
                None => parts.rules.at_top(parts.base),
                Some(above) => parts.rules.inside(above, folder),
            });
            self.by_folder.insert(folder.to_owned(), found.clone());
            rules = Some(found);
        }
        rules
    }
}

fn is_ignored(rules: &RulesIn, path: &BStr, is_dir: bool) -> bool {
    matches!(rules.decide(path, is_dir), Decision::Ignored(..))
}

#[cfg(test)]
mod tests;
