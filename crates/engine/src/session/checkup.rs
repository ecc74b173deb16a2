//! What makes a working copy slow to look at: files whose stat data does not match the index, and untracked files in great
//! numbers. The search is bounded, since a working tree may be anybody's, and no contents are read.

use std::cmp::Reverse;
use std::collections::HashSet;
use std::ffi::CString;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;

use bstr::{BStr, BString, ByteSlice};
use rustix::fs::CWD;
use vigil_linux::dir::bounded::{Budget, each_entry};
use vigil_linux::dir::{EntryKind, open_dir_at};
use vigil_linux::stat::stat_at;
use vigil_model::path::join;
use vigil_model::timestamp::Timestamp;
use vigil_model::tracked::{DirNumber, Directory, ROOT, Tracked, TrackedFile};
use vigil_model::verdict::{StatRules, Verdict, compare};

use super::ignoring::{Decision, DirectoryRules, RulesIn};
use super::{Session, SessionError};
use crate::git_system::observed_facts;

/// What was found in a working copy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checkup {
    /// The number of index entries.
    pub entries: u32,
    /// The number of directories with tracked files in or below them.
    pub directories: u32,
    /// The number of submodules.
    pub submodules: u32,
    /// Whether the index is split.
    pub is_split: bool,
    /// Whether the index is sparse.
    pub is_sparse: bool,
    /// Whether the index has git's untracked cache.
    pub has_untracked_cache: bool,
    /// The number of tracked files that were looked at.
    pub looked_at: u64,
    /// How many of those have stat data that does not tell whether they changed, so that their contents must be read.
    pub unsure: u64,
    /// Places with untracked files in great numbers, which no rule ignores.
    pub crowds: Vec<Crowd>,
    /// Repositories in the working tree that are neither submodules nor ignored. Those below other untracked directories are
    /// not counted. Only some are named here.
    pub nested: Vec<BString>,
    /// The number of such repositories.
    pub nested_count: u64,
    /// Whether the budget sufficed to look at everything.
    pub is_whole: bool,
}

/// Untracked files in great numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Crowd {
    /// The topmost directory without tracked files, or the tracked directory that they are directly in; empty for the top.
    pub directory: BString,
    /// The number of entries, at least.
    pub entries: u64,
}

/// The maximum number of nested repositories that are named.
const NESTED_MAX: usize = 3;

/// The maximum number of crowds that are named: the largest.
const CROWDS_MAX: usize = 5;

/// How deep directories without tracked files are searched: each level is held open.
const DEPTH_MAX: usize = 64;

/// Counts the directories of `tracked`. Not every number is in use: those of directories that are gone remain free.
fn count_directories(tracked: &Tracked) -> u32 {
    let budget = tracked.budget();
    let mut pending = vec![ROOT];
    let mut count = 0_u32;
    while let Some(number) = pending.pop() {
        count = count.saturating_add(1);
        let directory = tracked.visit_within(number, 0, &budget);
        pending.extend(directory.subdirs().map(|subdir| subdir.number));
    }
    count
}

impl Session {
    /// Looks through the working tree for what makes it slow, with one step of `budget` for each entry and each tracked file.
    /// At least `crowd_min` untracked entries in one place are a crowd.
    ///
    /// # Errors
    /// The index cannot be read, or there is no working tree.
    pub fn checkup(&mut self, mut budget: Budget, crowd_min: u64) -> Result<Checkup, SessionError> {
        self.refresh_index()?;
        let base = self.excludes.rules();
        let rules = self.directory_rules();
        let top = CString::new(self.top()?.as_os_str().as_bytes()).unwrap_or_default();
        let mut found = Checkup::default();
        let Some(index) = &self.index else {
            return Ok(found);
        };
        let sums = index.tracked.sums();
        found.entries = sums.entries;
        found.submodules = sums.gitlinks;
        found.directories = count_directories(&index.tracked);
        found.is_split = index.file.shared.is_some();
        found.is_sparse = index.file.is_sparse;
        found.has_untracked_cache = index.file.untracked_cache_origin.is_some();
        let Ok(top) = open_dir_at(CWD, &top) else {
            return Ok(found);
        };
        let mut walk = CheckupWalk {
            rules: &rules,
            stat_rules: &self.settings.stat_rules,
            index_written_at: index.file.written_at(),
            crowd_min,
            budget: &mut budget,
            found: &mut found,
        };
        let mut pending = vec![(ROOT, BString::default(), rules.at_top(&base))];
        let tree_budget = index.tracked.budget();
        while let Some((number, path, rules)) = pending.pop() {
            let directory = index.tracked.visit_within(number, path.len(), &tree_budget);
            let Some(opened) = open_below(top.as_fd(), path.as_ref()) else {
                continue;
            };
            walk.directory(opened.as_fd(), path.as_ref(), &directory, &rules);
            if walk.budget.is_spent() {
                break;
            }
            let below: Vec<(DirNumber, BString)> = directory
                .subdirs()
                .map(|subdir| (subdir.number, join(path.as_ref(), subdir.name())))
                .collect();
            for (number, path) in below {
                if !walk.budget.step() {
                    break;
                }
                let rules = walk.rules.inside(&rules, path.as_ref());
                pending.push((number, path, rules));
            }
        }
        found.is_whole = !budget.is_spent();
        found.crowds.sort_by_key(|crowd| Reverse(crowd.entries));
        found.crowds.truncate(CROWDS_MAX);
        Ok(found)
    }
}

/// Opens the directory at `path` from `top`; an empty path is `top` itself. If a symbolic link has replaced a directory
/// meanwhile, it can mislead only the counts.
fn open_below(top: BorrowedFd<'_>, path: &BStr) -> Option<OwnedFd> {
    let path = match path.is_empty() {
        true => CString::from(c"."),
        false => CString::new(path.as_bytes()).ok()?,
    };
    open_dir_at(top, &path).ok()
}

/// One look through the working tree.
struct CheckupWalk<'l> {
    rules: &'l DirectoryRules<'l>,
    stat_rules: &'l StatRules,
    index_written_at: Timestamp,
    crowd_min: u64,
    budget: &'l mut Budget,
    found: &'l mut Checkup,
}

impl CheckupWalk<'_> {
    /// Looks at the directory `opened`, which has tracked files in or below it.
    fn directory(
        &mut self,
        opened: BorrowedFd<'_>,
        path: &BStr,
        directory: &Directory<'_>,
        rules: &RulesIn,
    ) {
        let mut names = HashSet::new();
        for at in 0..directory.files_len() {
            if !self.budget.step() {
                return;
            }
            let Some(file) = directory.file(at) else {
                break;
            };
            names.insert(file.name());
            self.file(opened, &file);
        }
        let mut untracked = 0_u64;
        let mut others = Vec::new();
        let read = each_entry(opened, self.budget, |name, kind| {
            let bytes = name.to_bytes().as_bstr();
            let is_dir = kind == EntryKind::Dir;
            let is_tracked = names.contains(bytes)
                || is_dir && directory.find_subdir(bytes).is_some()
                || bytes.eq_ignore_ascii_case(b".git");
            if is_tracked {
                return;
            }
            let whole = join(path, bytes);
            if let Decision::Ignored(..) = rules.decide(whole.as_ref(), is_dir) {
                return;
            }
            match is_dir {
                true => others.push((name.to_owned(), whole)),
                false => untracked = untracked.saturating_add(1),
            }
        });
        self.note_crowd(path, untracked);
        if read.is_err() {
            return;
        }
        for (name, path) in others {
            if let Ok(opened) = open_dir_at(opened, &name) {
                self.other(opened, path);
            }
        }
    }

    /// Looks at one tracked file.
    fn file(&mut self, opened: BorrowedFd<'_>, file: &TrackedFile<'_>) {
        let is_beyond = file.is_side()
            || file.is_nested()
            || file.is_collapsed()
            || file.is_left_out()
            || file.is_assume_valid();
        if is_beyond {
            return;
        }
        let Ok(stat) = stat_at(opened, file.c_name()) else {
            return;
        };
        let recorded = file.stat();
        let is_empty_blob = recorded.size == 0 && file.id().is_empty_blob();
        let verdict = compare(
            file.mode(),
            is_empty_blob,
            &recorded,
            &observed_facts(&stat),
            self.stat_rules,
            self.index_written_at,
        );
        self.found.looked_at = self.found.looked_at.saturating_add(1);
        let is_unsure = verdict == Verdict::Unsure;
        self.found.unsure = self.found.unsure.saturating_add(is_unsure.into());
    }

    /// Looks at the directory `opened` at `path`, which has no tracked files and is not ignored.
    fn other(&mut self, opened: OwnedFd, path: BString) {
        if stat_at(opened.as_fd(), c".git").is_ok() {
            self.found.nested_count = self.found.nested_count.saturating_add(1);
            if self.found.nested.len() < NESTED_MAX {
                self.found.nested.push(path);
            }
            return;
        }
        let mut entries = 0_u64;
        let mut open: Vec<(OwnedFd, Vec<CString>)> = Vec::new();
        let mut current = Some(opened);
        while let Some(dir) = current.take() {
            let mut below = Vec::new();
            let _ = each_entry(dir.as_fd(), self.budget, |name, kind| {
                entries = entries.saturating_add(1);
                if kind == EntryKind::Dir {
                    below.push(name.to_owned());
                }
            });
            if self.budget.is_spent() {
                break;
            }
            if open.len() < DEPTH_MAX {
                open.push((dir, below));
            }
            while let Some((parent, below)) = open.last_mut() {
                match below.pop() {
                    None => drop(open.pop()),
                    Some(name) => {
                        current = open_dir_at(parent.as_fd(), &name).ok();
                        if current.is_some() {
                            break;
                        }
                    }
                }
            }
        }
        self.note_crowd(path.as_ref(), entries);
    }

    fn note_crowd(&mut self, directory: &BStr, entries: u64) {
        if entries >= self.crowd_min {
            self.found.crowds.push(Crowd {
                directory: directory.to_owned(),
                entries,
            });
        }
    }
}
