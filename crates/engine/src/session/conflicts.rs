//! What the working tree holds at paths in conflict, compared as git compares it: by the first stage of a path, and
//! then again with stage 2.

use std::path::Path;

use bstr::{BStr, BString, ByteSlice};
use gix_hash::ObjectId;
use vigil_linux::stat::lstat_path;
use vigil_model::mode::FileMode;
use vigil_model::tracked::{ByNumber, Tracked, TrackedEntry};
use vigil_model::verdict::{StatRules, worktree_mode};

use super::submodules::{SubmoduleRules, Submodules};
use super::{Findings, SessionError, StatusRequest};
use crate::checked_out::checked_out;
use crate::git_system::mode_of;
use crate::status::{SubmoduleState, TrackedChange};
use vigil_model::change::ChangeKind;

/// A path in conflict that is asked for and could be looked at. git matches each stage by itself: if a submodule
/// matches differently from a file, the first stage that matches counts as the first.
pub(super) struct Conflict {
    /// The number of its first entry.
    pub(super) number: u32,
    /// The path.
    pub(super) path: BString,
    /// What is in the working tree, judged by the first stage; `NONE` if nothing is.
    pub(super) mode: FileMode,
    /// How that differs from stage 2, if it does.
    pub(super) against_ours: Option<AgainstOurs>,
    /// The mode and object of the file that git found it to be renamed or copied from, if any.
    pub(super) origin: Option<(FileMode, ObjectId)>,
}

/// How the working tree differs from stage 2.
pub(super) struct AgainstOurs {
    pub(super) kind: ChangeKind,
    /// The mode and object of stage 2.
    pub(super) ours: (FileMode, ObjectId),
    /// What is in the working tree; `NONE` if nothing is.
    mode: FileMode,
    /// How a submodule in the working tree differs.
    submodule: SubmoduleState,
}

impl Conflict {
    /// The mode in the working tree. If stage 2 finds nothing there, what the first stage found.
    pub(super) fn worktree_mode(&self) -> FileMode {
        match &self.against_ours {
            Some(against) if against.mode != FileMode::NONE => against.mode,
            _ => self.mode,
        }
    }

    /// What differs in the path, if it counts as a submodule. When git `searches_renames`, it gives what is in the
    /// working tree an ID, which no submodule has.
    pub(super) fn submodule(&self, searches_renames: bool) -> Option<SubmoduleState> {
        let against = self.against_ours.as_ref();
        if let Some(against) = against.filter(|against| against.mode.is_gitlink()) {
            return Some(against.submodule);
        }
        let is_gitlink = self.worktree_mode().is_gitlink()
            || against.is_some_and(|against| against.ours.0.is_gitlink());
        is_gitlink.then(|| SubmoduleState {
            new_commits: searches_renames && self.mode.is_gitlink(),
            ..SubmoduleState::default()
        })
    }
}

/// Returns the change to show for a conflict, if it could be looked at, when git does not know the stages.
pub(super) fn without_stages(
    conflict: Option<&Conflict>,
    submodule: Option<SubmoduleState>,
    null: ObjectId,
) -> TrackedChange {
    let against_ours = conflict.and_then(|conflict| conflict.against_ours.as_ref());
    let origin = conflict.and_then(|conflict| conflict.origin);
    let (index_mode, index_id) = origin
        .or(against_ours.map(|against| against.ours))
        .unwrap_or((FileMode::NONE, null));
    TrackedChange {
        staged: None,
        unstaged: conflict.map(|_| ChangeKind::Unmerged),
        head_mode: FileMode::NONE,
        index_mode,
        worktree_mode: conflict.map_or(FileMode::NONE, Conflict::worktree_mode),
        head_id: null,
        index_id,
        staged_source: None,
        unstaged_source: None,
        submodule,
    }
}

/// Examines the paths in conflict in the working tree.
pub(super) struct ConflictSearch<'s> {
    pub(super) submodules: Submodules<'s>,
    pub(super) stat_rules: &'s StatRules,
}

impl ConflictSearch<'_> {
    /// Returns the paths in conflict among `findings` for which `is_asked_for` accepts any stage, in the order of the
    /// index.
    pub(super) fn find(
        &self,
        request: &StatusRequest,
        tracked: &Tracked,
        findings: &Findings,
        is_asked_for: impl Fn(&BStr, FileMode) -> bool,
    ) -> Result<Vec<Conflict>, SessionError> {
        let mut rules = None;
        let mut all = Vec::new();
        if tracked.sums().conflicted == 0 {
            return Ok(all);
        }
        let mut entries = ByNumber::new(tracked);
        for &(number, observed) in &findings.tracked {
            let first = entries.get(number);
            let Some(first) = first.filter(|first| first.flags.stage() > 0) else {
                continue;
            };
            let path = first.path.as_bstr();
            // The entries of a path are adjacent.
            let stages = (number..).map_while(|number| entries.get(number));
            let stages: Vec<_> = stages.take_while(|entry| entry.path == path).collect();
            let asked = stages.iter().find(|stage| is_asked_for(path, stage.mode));
            let Some(asked) = asked else { continue };
            let mode = self.mode_by(asked, &first, mode_of(observed));
            let ours = stages.iter().find(|stage| stage.flags.stage() == 2);
            let against_ours = match ours.filter(|_| asked.flags.stage() <= 2) {
                None => None,
                Some(ours) if ours.mode.is_gitlink() => {
                    let rules = match &mut rules {
                        Some(rules) => rules,
                        none => none.insert(self.submodules.rules(request, tracked)?),
                    };
                    self.against_our_submodule(request, rules, ours, mode)?
                }
                Some(ours) => Some(self.against_our_file(ours, mode)),
            };
            all.push(Conflict {
                number,
                path: first.path,
                mode,
                against_ours,
                origin: None,
            });
        }
        Ok(all)
    }

    /// Returns the mode in the working tree judged by the stage `asked`; `mode` is that judged by the stage `first`.
    fn mode_by(&self, asked: &TrackedEntry, first: &TrackedEntry, mode: FileMode) -> FileMode {
        let path = asked.path.as_bstr();
        match (asked.mode.is_gitlink(), first.mode.is_gitlink()) {
            (true, false) if self.is_directory(path) => FileMode::GITLINK,
            (false, true)
                if mode.is_gitlink() && checked_out(self.submodules.repository, path).is_none() =>
            {
                FileMode::NONE
            }
            _ if mode == FileMode::NONE => mode,
            _ => self.mode_against(asked, mode),
        }
    }

    /// Compares stage 2, a file, with the working tree, which has `mode` judged by the first stage.
    fn against_our_file(&self, ours: &TrackedEntry, mode: FileMode) -> AgainstOurs {
        let has_no_commit =
            || checked_out(self.submodules.repository, ours.path.as_bstr()).is_none();
        let is_gone = mode == FileMode::NONE || mode.is_gitlink() && has_no_commit();
        let mode = match is_gone {
            true => FileMode::NONE,
            false => self.mode_against(ours, mode),
        };
        AgainstOurs {
            kind: match is_gone {
                true => ChangeKind::Deleted,
                false => ChangeKind::Modified,
            },
            ours: (ours.mode, ours.id),
            mode,
            // To git, a repository in place of a file has other commits than the file.
            submodule: SubmoduleState {
                new_commits: true,
                ..SubmoduleState::default()
            },
        }
    }

    /// Compares stage 2, a submodule, with the working tree, which has `mode` judged by the first stage.
    fn against_our_submodule(
        &self,
        request: &StatusRequest,
        rules: &SubmoduleRules,
        ours: &TrackedEntry,
        mode: FileMode,
    ) -> Result<Option<AgainstOurs>, SessionError> {
        let path = ours.path.as_bstr();
        let ignored = rules.ignored(path)?;
        let against = |kind, mode, submodule| AgainstOurs {
            kind,
            ours: (ours.mode, ours.id),
            mode,
            submodule,
        };
        // A directory, in which the first stage sees no file.
        if mode.is_gitlink() || mode == FileMode::NONE && self.is_directory(path) {
            let state = self.submodules.state(path, &ours.id, ignored, request, 1)?;
            let state =
                state.map(|submodule| against(ChangeKind::Modified, FileMode::GITLINK, submodule));
            return Ok(state);
        }
        if mode.is_symlink() && !ignored.all && !ignored.dirty && !request.as_diff_index {
            self.submodules.check_place(path)?;
        }
        let (kind, mode) = match mode {
            FileMode::NONE => (ChangeKind::Deleted, mode),
            _ => (ChangeKind::Modified, self.mode_against(ours, mode)),
        };
        Ok((!ignored.all).then(|| against(kind, mode, SubmoduleState::default())))
    }

    /// Returns the mode of a file or symbolic link judged by `entry`; `mode` is that judged by another entry. They
    /// differ if the configuration makes the recorded mode count.
    fn mode_against(&self, entry: &TrackedEntry, mode: FileMode) -> FileMode {
        let rules = self.stat_rules;
        if mode.is_gitlink() || rules.has_symlinks && rules.trust_executable_bit {
            return mode;
        }
        match self.top().zip(entry.path.to_path().ok()) {
            Some((top, path)) => lstat_path(&top.join(path))
                .map_or(mode, |stat| worktree_mode(entry.mode, stat.mode, rules)),
            None => mode,
        }
    }

    fn top(&self) -> Option<&Path> {
        self.submodules.repository.require_work_tree().ok()
    }

    /// Whether there is a directory at `path`, with no symbolic link on the way.
    fn is_directory(&self, path: &BStr) -> bool {
        let Some(top) = self.top() else { return false };
        let ends = path.find_iter("/").chain([path.len()]);
        ends.filter_map(|end| path.get(..end)?.to_path().ok())
            .all(|part| lstat_path(&top.join(part)).is_ok_and(|stat| stat.is_dir()))
    }
}
