//! Why a status says of single paths what it says: the facts, rules and attributes behind each verdict.
//!
//! The verdicts are those of [`Session::status`]; what is told beside them was asked of the same functions.

mod tracked;
mod untracked;

use std::collections::HashMap;
use std::sync::Arc;

use bstr::{BStr, BString, ByteSlice};
use gix_hash::{ObjectId, oid};
use vigil_model::facts::ObservedStat;
use vigil_model::path::{file_name, parent};
use vigil_model::timestamp::Timestamp;
use vigil_model::tracked::TrackedEntry;
use vigil_model::verdict::{Sign, Verdict};

use super::ignoring::DirectoryRules;
pub use super::ignoring::IgnoreRule;
use super::{Session, SessionError};
use crate::status::{Change, Status, StatusRequest, TrackedChange, UnmergedChange};
use vigil_git::convert::Step;
use vigil_model::change::{ChangeKind, RenameSource};
use vigil_model::request::{IgnoreSubmodules, UntrackedMode};
use vigil_rules::ignore::IgnoreRules;
use vigil_rules::pathspec;

/// What is known of one path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Why {
    /// The path, from the top of the working tree; empty for the top.
    pub path: BString,
    /// What status says of it as a tracked path, if it says anything. Renames are not looked for.
    pub change: Option<Change>,
    /// What status makes of that where it looks for renames.
    pub pairs: Vec<Pair>,
    /// What it is, and why.
    pub found: Found,
}

/// A rename or copy, as status finds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    /// Between HEAD and index, and not between index and working tree.
    pub is_staged: bool,
    /// Whether it is a rename or a copy.
    pub kind: ChangeKind,
    /// Where it comes from, and how alike both are.
    pub source: RenameSource,
    /// What it is now.
    pub target: BString,
}

/// What a path is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// It is tracked.
    Tracked(Box<Tracked>),
    /// It is in conflict; the change says the rest.
    Conflict,
    /// A directory with tracked files in or below it.
    Directory(Directory),
    /// It is untracked.
    Untracked(Untracked),
    /// It is ignored.
    Ignored {
        /// What the rule matches: the path, or a directory above.
        excluded: BString,
        /// The rule.
        rule: IgnoreRule,
    },
    /// It is there, but not for itself.
    Beyond(Beyond),
    /// It is not there, and not in the index.
    Absent,
}

/// A tracked path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tracked {
    /// What the index has.
    pub entry: TrackedEntry,
    /// The mtime of the index.
    pub index_written_at: Timestamp,
    /// Whether, and why, it differs from that.
    pub reason: Reason,
}

/// Why a tracked path is taken for changed or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The user promised that it does not change.
    AssumeUnchanged,
    /// It is not expected in the working tree.
    SkipWorktree {
        /// It is there nevertheless.
        is_present: bool,
    },
    /// Nothing is there.
    Missing,
    /// A directory is there in the place of a file.
    Replaced,
    /// A directory above is a symbolic link now.
    BehindLink(BString),
    /// The system does not say what is there; its words.
    Unknown(String),
    /// Only the intent to add it is recorded.
    IntentToAdd,
    /// What is there is of another type than a submodule, or a repository in the place of a file.
    OtherType,
    /// A file or link was looked at.
    Facts(Facts),
    /// A submodule.
    Submodule {
        /// The commit that is checked out; `None` where there is no repository, or no commit.
        head: Option<ObjectId>,
        /// Which of its changes are left out.
        ignored: IgnoreSubmodules,
    },
}

/// What the facts of a file say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// What was observed.
    pub observed: ObservedStat,
    /// What the facts alone say.
    pub verdict: Verdict,
    /// What of them speaks against the file.
    pub signs: Vec<Sign>,
    /// Where the facts did not decide, the contents.
    pub contents: Option<Contents>,
}

/// A comparison of contents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contents {
    /// Whether they are what the index has.
    pub is_unchanged: bool,
    /// The state on disk knew it: the file was not read.
    pub is_recorded: bool,
    /// What was done to them before they were compared.
    pub steps: Vec<Step>,
}

/// A directory with tracked files in or below it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Directory {
    /// Index entries in and below it.
    pub entries: u32,
    /// Paths that differ between HEAD and index.
    pub staged: usize,
    /// Paths that differ between index and working tree.
    pub unstaged: usize,
    /// Paths in conflict.
    pub unmerged: usize,
    /// Untracked paths, as status lists them.
    pub untracked: usize,
    /// Where an ignore rule matches it or one above: what, and the rule. Tracked files in it are tracked all the same.
    pub excluded: Option<(BString, IgnoreRule)>,
    /// The state on disk has a listing of the directory itself that holds: of this mtime.
    pub recorded_listing: Option<Timestamp>,
}

/// An untracked path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Untracked {
    /// The rule that takes back others, if one does.
    pub rule: Option<IgnoreRule>,
    /// The path under which status lists it: its own, that of a directory above, which ends in `/`, or the first of those
    /// in it. `None` where status lists no untracked files.
    pub listed_as: Option<BString>,
    /// The listing in the state on disk that says so without a look, if it holds: of this directory, with this mtime.
    pub recorded_listing: Option<(BString, Timestamp)>,
}

/// Why nothing is to be said of a path though it is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Beyond {
    /// It is git's own.
    GitFolder,
    /// It is in this directory outside of the sparse checkout, which is one entry of the index.
    SparseDirectory(BString),
    /// It is in this submodule.
    Submodule(BString),
    /// It is in this repository, which is none of the submodules.
    Repository(BString),
    /// This directory above is a symbolic link.
    Link(BString),
    /// A directory without anything that could be added.
    EmptyDirectory,
    /// A pipe, socket or device.
    Special,
    /// The system does not say what is there; its words.
    Unknown(String),
    /// Status passes it over, for a reason that is not known here.
    Unlisted,
}

/// What a status says, by path.
struct Said {
    status: Status,
    request: StatusRequest,
    changes: HashMap<BString, Change>,
    pairs: Vec<Pair>,
}

impl Session {
    /// Why a status says of each of `paths`, as given by the caller in its directory, what it says.
    ///
    /// # Errors
    /// Of a status, or a path that leads out of the working tree.
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
        let pairs = self.pairs(&request)?;
        let status = self.status(&request)?;
        let said = Said {
            changes: status.changes.iter().cloned().collect(),
            status,
            request,
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

    /// The renames and copies that a status finds if it looks for them as it is configured to.
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

    /// The short form of an id, as git prints it.
    pub fn abbreviated(&self, id: &oid) -> BString {
        let short = self.objects.abbreviate(id, &self.repository.config);
        short.unwrap_or_else(|_| id.to_string().into())
    }
}

/// What single paths are explained by.
struct Explanation<'s> {
    session: &'s Session,
    said: Said,
    /// The ignore rules that hold for the whole working tree, and those of single directories.
    base: Arc<IgnoreRules>,
    rules: DirectoryRules<'s>,
}

impl Explanation<'_> {
    /// Why a status says of `path` what it says.
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
                found: Found::Absent,
            });
        };
        let dir = state.tracked.find_directory(path.as_ref());
        let found = if let Some(Change::Unmerged(_)) = change {
            Found::Conflict
        } else if let Some(entry) = state.tracked.find(path.as_ref(), 0) {
            Found::Tracked(Box::new(self.tracked(entry, change.as_ref())?))
        } else if let Some(dir) = dir {
            Found::Directory(self.directory(dir, path.as_ref()))
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
}

/// The first directory above `path` of which `holds`, the outermost first.
fn first_above(path: &BStr, holds: impl Fn(&BStr) -> bool) -> Option<&BStr> {
    let mut above = path.find_iter(b"/").filter_map(|end| path.get(..end));
    above.find(|dir| holds(dir.as_bstr())).map(BStr::new)
}

impl Why {
    /// What status says of it as a tracked path that is not in conflict.
    pub fn tracked_change(&self) -> Option<&TrackedChange> {
        match &self.change {
            Some(Change::Tracked(change)) => Some(change),
            _ => None,
        }
    }

    /// What status says of it as a path in conflict.
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
