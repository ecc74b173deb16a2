//! Why a status gives its verdicts on single paths: the facts, rules and attributes behind each.
//!
//! The verdicts are those of [`Session::status`]; the explanations come from the same functions.

mod tracked;
mod untracked;

use std::collections::HashMap;
use std::sync::Arc;

use bstr::{BStr, BString, ByteSlice};
use gix_hash::{ObjectId, oid};
use vigil_linux::Errno;
use vigil_linux::stat::{Stat, lstat_path};
use vigil_model::facts::ObservedStat;
use vigil_model::path::{directories_above, file_name, is_at_or_below, parent};
use vigil_model::timestamp::Timestamp;
use vigil_model::tracked::TrackedEntry;
use vigil_model::verdict::{ChangeSign, Verdict};

use super::ignoring::DirectoryRules;
pub use super::ignoring::IgnoreRule;
use super::{Session, SessionError};
use crate::status::{Change, Status, StatusRequest, TrackedChange, UnmergedChange};
use vigil_convert::converter::Step;
use vigil_model::change::{ChangeKind, RenameSource};
use vigil_model::request::{IgnoreSubmodules, UntrackedMode};
use vigil_rules::ignore::IgnoreRules;
use vigil_rules::pathspec;
use vigil_stamp::paths::path_of;

/// What is known about one path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Why {
    /// The path, from the top of the working tree; empty for the top.
    pub path: BString,
    /// The status of the path as a tracked one, if it has any. Renames are not searched for.
    pub change: Option<Change>,
    /// The renames and copies of the path that status finds.
    pub pairs: Vec<Pair>,
    /// What the path is, and why.
    pub found: PathKind,
}

/// A rename or copy, as status finds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    /// Whether it is between HEAD and index, rather than between index and working tree.
    pub is_staged: bool,
    /// Whether it is a rename or a copy.
    pub kind: ChangeKind,
    /// The source path, and how similar the two are.
    pub source: RenameSource,
    /// The path it has now.
    pub target: BString,
}

/// What a path is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathKind {
    /// The path is tracked.
    Tracked(Box<Tracked>),
    /// The path is in conflict; the change has the details.
    Conflict,
    /// A directory with tracked files in or below it.
    Directory(Directory),
    /// The path is untracked.
    Untracked(Untracked),
    /// The path is ignored.
    Ignored {
        /// What the rule matches: the path, or a directory above it.
        excluded: BString,
        /// The rule.
        rule: IgnoreRule,
    },
    /// The path exists, but has no verdict of its own.
    Beyond(Beyond),
    /// The path does not exist, and is not in the index.
    Absent,
}

/// A tracked path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tracked {
    /// The index entry.
    pub entry: TrackedEntry,
    /// The mtime of the index.
    pub index_written_at: Timestamp,
    /// Whether, and why, the working tree differs from the entry.
    pub reason: Reason,
}

/// Why a tracked path counts as changed or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The user promised that it does not change.
    AssumeUnchanged,
    /// It is not expected in the working tree.
    SkipWorktree {
        /// Whether it is there nevertheless.
        is_present: bool,
    },
    /// Nothing is there.
    Missing,
    /// A directory is there in the place of a file.
    Replaced,
    /// A directory above is a symbolic link now.
    BehindLink(BString),
    /// The system failed to look at it, with this message.
    Unknown(String),
    /// Only the intent to add it is recorded.
    IntentToAdd,
    /// The type differs: not a directory in place of a submodule, or a repository in place of a file.
    OtherType,
    /// A file or link was looked at.
    Facts(Facts),
    /// A submodule.
    Submodule {
        /// The commit that is checked out; `None` if there is no repository, or no commit.
        head: Option<ObjectId>,
        /// Which of its changes are ignored.
        ignored: IgnoreSubmodules,
    },
}

/// What the stat data of a file tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// The observed stat data.
    pub observed: ObservedStat,
    /// The verdict by the stat data alone.
    pub verdict: Verdict,
    /// The signs that the file may have changed.
    pub signs: Vec<ChangeSign>,
    /// The comparison of contents, if the stat data did not decide.
    pub contents: Option<Contents>,
}

/// A comparison of contents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contents {
    /// Whether they match the index entry.
    pub is_unchanged: bool,
    /// Whether the result is from the state on disk, so that the file was not read.
    pub is_recorded: bool,
    /// The conversions before the comparison.
    pub steps: Vec<Step>,
}

/// A directory with tracked files in or below it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Directory {
    /// The number of index entries in and below it.
    pub entries: u32,
    /// The number of paths that differ between HEAD and index.
    pub staged: usize,
    /// The number of paths that differ between index and working tree.
    pub unstaged: usize,
    /// The number of paths in conflict.
    pub unmerged: usize,
    /// The number of untracked paths, as status lists them.
    pub untracked: usize,
    /// The path that an ignore rule matches, this or one above, and the rule. Tracked files in it are tracked all the
    /// same.
    pub excluded: Option<(BString, IgnoreRule)>,
    /// The mtime of the directory in its listing in the state on disk, if that listing is valid.
    pub recorded_listing: Option<Timestamp>,
}

/// An untracked path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Untracked {
    /// The negated rule that applies, if one does.
    pub rule: Option<IgnoreRule>,
    /// The path under which status lists it: its own, that of a directory above, which ends in `/`, or the first of those
    /// in it. `None` if status lists no untracked files.
    pub listed_as: Option<BString>,
    /// The listing in the state on disk that gives this verdict, if it is valid: its directory, and that directory's
    /// mtime.
    pub recorded_listing: Option<(BString, Timestamp)>,
}

/// Why a path that exists has no verdict of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Beyond {
    /// It belongs to git.
    GitFolder,
    /// It is in this directory outside the sparse checkout, which is one entry of the index.
    SparseDirectory(BString),
    /// It is in this submodule.
    Submodule(BString),
    /// It is in this repository, which is not a submodule.
    Repository(BString),
    /// This directory above is a symbolic link.
    Link(BString),
    /// A directory without anything that could be added.
    EmptyDirectory,
    /// A pipe, socket or device.
    Special,
    /// The system failed to look at it, with this message.
    Unknown(String),
    /// Status omits it, for a reason that is not known here.
    Unlisted,
}

/// The status, by path.
struct Said {
    status: Status,
    request: StatusRequest,
    /// Each untracked file, if a path in question may be a directory in one that is shown as a whole.
    each_untracked: Option<Vec<BString>>,
    changes: HashMap<BString, Change>,
    pairs: Vec<Pair>,
}

impl Session {
    /// Explains the status of each of `paths`, which are given relative to the caller's directory.
    ///
    /// # Errors
    /// A status failed, or a path leads out of the working tree.
    pub fn why(&mut self, paths: &[BString]) -> Result<Vec<Why>, SessionError> {
        let prefix = self.repository.prefix.as_bstr();
        let top = self.repository.work_tree.as_deref();
        let located = paths
            .iter()
            .map(|given| pathspec::path_in(given.as_ref(), prefix, top));
        let located = located.collect::<Result<Vec<_>, _>>()?;
        let request = StatusRequest {
            untracked: self.settings.untracked,
            ..StatusRequest::default()
        };
        let status = self.status(&request)?;
        // Most often there is none, and a second status would look at all files again.
        let pairs = match status
            .changes
            .iter()
            .any(|(_, change)| may_have_source(change))
        {
            true => self.pairs(&request)?,
            false => Vec::new(),
        };
        let each_untracked = match self.has_directory_in_untracked(&located, &status) {
            true => {
                let request = StatusRequest {
                    untracked: UntrackedMode::All,
                    ..request.clone()
                };
                Some(self.status(&request)?.untracked)
            }
            false => None,
        };
        let said = Said {
            changes: status.changes.iter().cloned().collect(),
            status,
            request,
            each_untracked,
            pairs,
        };
        let explanation = Explanation {
            said,
            base: self.excludes.rules(),
            rules: self.directory_rules(),
            session: self,
        };
        let all = located.into_iter();
        all.map(|path| explanation.of(path)).collect()
    }

    /// Whether one of `paths` is a directory in an untracked one that `status` shows as a whole: it may hold nothing to show.
    fn has_directory_in_untracked(&self, paths: &[BString], status: &Status) -> bool {
        let Some(top) = self.repository.work_tree.as_deref() else {
            return false;
        };
        let is_in_untracked = |path: &BString| {
            let mut whole = status.untracked.iter();
            let in_it = |dir: &[u8]| path != dir && is_at_or_below(path, dir);
            whole.any(|listed| listed.strip_suffix(b"/").is_some_and(in_it))
        };
        let is_directory = |path: &BString| {
            let stat = lstat_path(&top.join(path_of(path.as_ref())));
            stat.is_ok_and(|stat| stat.is_dir())
        };
        let mut paths = paths.iter();
        paths.any(|path| is_in_untracked(path) && is_directory(path))
    }

    /// Returns the renames and copies that a status finds when it searches for them as configured.
    fn pairs(&mut self, request: &StatusRequest) -> Result<Vec<Pair>, SessionError> {
        let renames = self.settings.rename_rule();
        if renames.is_none() {
            return Ok(Vec::new());
        }
        let request = StatusRequest {
            renames,
            untracked: UntrackedMode::No,
            ..request.clone()
        };
        let mut pairs = Vec::new();
        for (target, change) in self.status(&request)?.changes {
            let Change::Tracked(change) = change else {
                continue;
            };
            let sides = [
                (true, change.staged, change.staged_source),
                (false, change.unstaged, change.unstaged_source),
            ];
            for (is_staged, kind, source) in sides {
                if let (Some(kind), Some(source)) = (kind, source) {
                    pairs.push(Pair {
                        is_staged,
                        kind,
                        source,
                        target: target.clone(),
                    });
                }
            }
        }
        Ok(pairs)
    }

    /// Abbreviates an ID as git does.
    pub fn abbreviated(&self, id: &oid) -> BString {
        let short = self.objects.abbreviate(id, &self.repository.config);
        short.unwrap_or_else(|_| id.to_string().into())
    }
}

/// What is needed to explain single paths.
struct Explanation<'s> {
    session: &'s Session,
    said: Said,
    /// The ignore rules that apply to the whole working tree, and those of single directories.
    base: Arc<IgnoreRules>,
    rules: DirectoryRules<'s>,
}

impl Explanation<'_> {
    /// Explains the status of `path`.
    fn of(&self, path: BString) -> Result<Why, SessionError> {
        let change = self.said.changes.get(&path).cloned();
        let is_of_it = |pair: &&Pair| {
            let is_source = pair.kind == ChangeKind::Renamed && pair.source.path == path;
            is_source || pair.target == path
        };
        let pairs: Vec<Pair> = self.said.pairs.iter().filter(is_of_it).cloned().collect();
        let Some(state) = &self.session.index else {
            return Ok(Why {
                path,
                change,
                pairs,
                found: PathKind::Absent,
            });
        };
        let dir = state.tracked.find_directory(path.as_ref());
        let found = if let Some(Change::Unmerged(_)) = change {
            PathKind::Conflict
        } else if let Some(entry) = state.tracked.find(path.as_ref(), 0) {
            PathKind::Tracked(Box::new(self.tracked(entry, change.as_ref())?))
        } else if let Some(dir) = dir {
            self.in_place_of_directory(path.as_ref())
                .unwrap_or_else(|| PathKind::Directory(self.directory(dir, path.as_ref())))
        } else {
            self.untracked(path.as_ref())
        };
        Ok(Why {
            path,
            change,
            pairs,
            found,
        })
    }

    /// Returns what is at `path` in the working tree.
    fn lstat(&self, path: &BStr) -> Result<Stat, Errno> {
        let on_disk = self.rules.on_disk(path);
        on_disk.map_or(Err(Errno::NOENT), |on_disk| lstat_path(&on_disk))
    }

    /// Returns the outermost directory above `path` that is a symbolic link now.
    fn link_above<'p>(&self, path: &'p BStr) -> Option<&'p BStr> {
        first_above(path, |dir| {
            self.lstat(dir).is_ok_and(|stat| stat.is_symlink())
        })
    }
}

/// Whether `change`, as found without a search for renames, may be of a path that was renamed or copied from another one. To
/// the search, so may a path in conflict.
fn may_have_source(change: &Change) -> bool {
    match change {
        Change::Tracked(change) => [change.staged, change.unstaged]
            .into_iter()
            .flatten()
            .any(|kind| matches!(kind, ChangeKind::Added | ChangeKind::Unmerged)),
        Change::Unmerged(_) => true,
    }
}

/// Returns the outermost directory above `path` for which `holds` is true.
fn first_above(path: &BStr, holds: impl Fn(&BStr) -> bool) -> Option<&BStr> {
    directories_above(path).find(|dir| holds(dir))
}

impl Why {
    /// Its change as a tracked path that is not in conflict.
    pub fn tracked_change(&self) -> Option<&TrackedChange> {
        match &self.change {
            Some(Change::Tracked(change)) => Some(change),
            _ => None,
        }
    }

    /// Its change as a path in conflict.
    pub fn unmerged(&self) -> Option<&UnmergedChange> {
        match &self.change {
            Some(Change::Unmerged(change)) => Some(change),
            _ => None,
        }
    }

    /// How it differs between index and working tree.
    pub fn unstaged(&self) -> Option<ChangeKind> {
        self.tracked_change().and_then(|change| change.unstaged)
    }
}

#[cfg(test)]
mod tests {
    use vigil_model::mode::FileMode;

    use super::*;

    #[test]
    fn only_what_is_new_may_have_come_from_another_path() {
        let none = ObjectId::null(gix_hash::Kind::Sha1);
        let change = |staged, unstaged| {
            Change::Tracked(TrackedChange {
                staged,
                unstaged,
                head_mode: FileMode::NONE,
                index_mode: FileMode::NONE,
                worktree_mode: FileMode::NONE,
                head_id: none,
                index_id: none,
                staged_source: None,
                unstaged_source: None,
                submodule: None,
            })
        };
        let (added, deleted) = (Some(ChangeKind::Added), Some(ChangeKind::Deleted));
        assert!(may_have_source(&change(added, None)));
        assert!(may_have_source(&change(added, deleted)));
        assert!(may_have_source(&change(None, added)));
        assert!(may_have_source(&change(None, Some(ChangeKind::Unmerged))));
        assert!(!may_have_source(&change(None, None)));
        assert!(!may_have_source(&change(deleted, None)));
        assert!(!may_have_source(&change(
            Some(ChangeKind::Modified),
            deleted
        )));
    }
}
