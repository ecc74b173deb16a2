//! The ignore rules of single directories, for questions about single paths.

use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bstr::{BStr, BString, ByteSlice};
use rustix::fs::{CWD, Mode, OFlags};
use vigil_model::path::join;
use vigil_model::tracked::Tracked;

use crate::git_ignore_files::{FILE_LEN_MAX, FILE_NAME, read_ignore_file, recorded_rules_hold};
use vigil_git::objects::{LimitedBlob, Objects};
use vigil_rules::ignore::{IgnoreRules, Match};

/// A rule in a file of ignore rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IgnoreRule {
    /// The file. For a `.gitignore`, the path from the top of the working tree.
    pub source: BString,
    /// The rule's line there, from 1.
    pub line: usize,
    /// The rule as written, without trailing spaces.
    pub pattern: BString,
    /// Whether it negates earlier rules (`!`).
    pub is_negated: bool,
}

impl From<Match<'_>> for IgnoreRule {
    fn from(found: Match<'_>) -> Self {
        Self {
            source: found.source.to_owned(),
            line: found.line,
            pattern: found.pattern.to_owned(),
            is_negated: found.is_negated,
        }
    }
}

/// The ignore rules in one directory.
#[derive(Clone)]
pub(super) struct RulesIn {
    /// The digest of the rules above.
    pub(super) above: u128,
    /// All rules that apply to what is in the directory.
    pub(super) rules: Arc<IgnoreRules>,
    /// The excluded path, which is the directory or one above it, and the rule that excludes it.
    pub(super) excluded: Option<(BString, IgnoreRule)>,
}

impl RulesIn {
    /// Returns which of `path` and the directories above it is excluded, and by which rule; or the rule that negates
    /// others.
    pub(super) fn decide(&self, path: &BStr, is_dir: bool) -> Decision {
        if let Some((excluded, rule)) = &self.excluded {
            return Decision::Ignored(excluded.clone(), rule.clone());
        }
        match self.rules.matching(path, is_dir).map(IgnoreRule::from) {
            Some(rule) if !rule.is_negated => Decision::Ignored(path.to_owned(), rule),
            rule => Decision::Untracked(rule),
        }
    }
}

/// What ignore rules say about a path.
pub(super) enum Decision {
    /// This path, which is the path in question or one above it, is ignored by this rule.
    Ignored(BString, IgnoreRule),
    /// The path is not ignored, perhaps because of a negated rule.
    Untracked(Option<IgnoreRule>),
}

/// Determines the ignore rules of single directories.
pub(super) struct DirectoryRules<'s> {
    /// The top of the working tree, if there is one.
    pub(super) top: Option<&'s Path>,
    pub(super) objects: &'s Objects,
    /// The tracked files, for ignore files that are not checked out.
    pub(super) tracked: Option<&'s Tracked>,
    pub(super) looks_at_present_skipped_files: bool,
}

impl DirectoryRules<'_> {
    /// Returns the rules at the top of the working tree. `base` are those of the files that apply to all of it.
    pub(super) fn at_top(&self, base: &Arc<IgnoreRules>) -> RulesIn {
        RulesIn {
            above: base.digest(),
            rules: self.with_file(base, BStr::new("")),
            excluded: None,
        }
    }

    /// Returns the rules in the directory `dir`, whose parent has the rules `above`.
    pub(super) fn inside(&self, above: &RulesIn, dir: &BStr) -> RulesIn {
        let excluded = match above.decide(dir, true) {
            Decision::Ignored(path, rule) => Some((path, rule)),
            Decision::Untracked(_) => None,
        };
        RulesIn {
            above: above.rules.digest(),
            rules: match excluded {
                // Everything below is excluded, whatever ignore files in it say.
                Some(_) => above.rules.clone(),
                None => self.with_file(&above.rules, dir),
            },
            excluded,
        }
    }

    /// Returns the rules in the directory `path`, empty for the top.
    pub(super) fn at(&self, base: &Arc<IgnoreRules>, path: &BStr) -> RulesIn {
        self.below(self.at_top(base), path)
    }

    /// Returns the rules in the directory `path`, empty for the top. `rules` are those of the top.
    pub(super) fn below(&self, mut rules: RulesIn, path: &BStr) -> RulesIn {
        let ends = path.find_iter(b"/").chain([path.len()]);
        for end in ends.filter(|end| *end > 0) {
            let dir = path.get(..end).unwrap_or_default().as_bstr();
            rules = self.inside(&rules, dir);
        }
        rules
    }

    fn with_file(&self, above: &Arc<IgnoreRules>, dir: &BStr) -> Arc<IgnoreRules> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let hold = |opened: Option<BorrowedFd<'_>>, error| {
            recorded_rules_hold(opened, error, self.looks_at_present_skipped_files)
        };
        let contents = self.on_disk(dir).map(|on_disk| {
            let opened = rustix::fs::openat(CWD, &on_disk, flags, Mode::empty());
            let opened = opened.map_err(|error| hold(None, error))?;
            let read = read_ignore_file(opened.as_fd());
            read.map_err(|error| hold(Some(opened.as_fd()), error))
        });
        match contents {
            Some(Ok((Some(contents), _))) => above.with_file(dir, &contents),
            Some(Err(recorded_hold)) if recorded_hold => {
                match self.ignore_file_not_checked_out(dir) {
                    Some(contents) => above.with_file(dir, &contents),
                    None => above.clone(),
                }
            }
            _ => above.clone(),
        }
    }

    fn ignore_file_not_checked_out(&self, dir: &BStr) -> Option<Vec<u8>> {
        let path = join(dir, BStr::new(FILE_NAME));
        let entry = self.tracked?.find(path.as_bstr(), 0)?;
        let is_left_out = entry.flags.is_skip_worktree();
        match is_left_out.then(|| self.objects.blob_shorter_than(&entry.id, FILE_LEN_MAX))?? {
            LimitedBlob::Contents(contents) => Some(contents),
            LimitedBlob::TooLong => None,
        }
    }

    /// Returns the path on disk of `path`.
    pub(super) fn on_disk(&self, path: &BStr) -> Option<PathBuf> {
        Some(self.top?.join(path.to_path().ok()?))
    }
}
