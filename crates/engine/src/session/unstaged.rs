//! What the scan found in the working tree, with submodules asked for their state.

use bstr::{BStr, ByteSlice};
use vigil_linux::stat::lstat_path;
use vigil_model::index::{Entry, Index};
use vigil_model::mode::FileMode;
use vigil_model::verdict::worktree_mode;

use super::changes::Unstaged;
use super::submodules::{SubmoduleRules, checked_out, state};
use super::{Findings, Session, SessionError, StatusRequest};
use crate::git::repository::submodule as submodule_repository;
use crate::scan::Observed;
use crate::status::{ChangeKind, SubmoduleState};

impl Session {
    /// What the scan found, with submodules asked.
    pub(super) fn unstaged(
        &self,
        request: &StatusRequest,
        index: &Index,
        findings: &Findings,
    ) -> Result<Vec<Unstaged>, SessionError> {
        let mut all = Vec::with_capacity(findings.tracked.len());
        let mut rules: Option<SubmoduleRules> = None;
        for &(number, observed) in &findings.tracked {
            let number = number as usize;
            let Some(entry) = index.entries().get(number) else {
                continue;
            };
            if entry.flags.stage() > 0 {
                continue;
            }
            let path = index.path(entry);
            let mode = observed.mode();
            // Only an intent to add: what is there is new, whatever is recorded.
            let is_new = entry.flags.is_intent_to_add() && observed != Observed::Missing;
            let mut submodule = None;
            if (if is_new { mode } else { entry.mode }).is_gitlink() {
                let rules = match &mut rules {
                    Some(rules) => rules,
                    none => none.insert(self.submodule_rules(request, index)?),
                };
                let ignored = rules.ignored(path)?;
                if ignored.all {
                    continue;
                }
                if mode.is_symlink() && !is_new && !ignored.dirty {
                    // git looks for the submodule whatever is in its place, and not behind a link.
                    submodule_repository(&self.repository, path)?;
                }
                if is_new {
                    submodule = Some(SubmoduleState::default());
                } else if observed == Observed::Submodule {
                    let found = state(
                        &self.repository,
                        path,
                        &entry.id,
                        ignored,
                        request.threads_max,
                        self.stderr,
                    )?;
                    if found.is_none() {
                        continue;
                    }
                    submodule = found;
                }
            }
            let kind = match observed {
                Observed::Missing => ChangeKind::Deleted,
                _ if is_new => ChangeKind::Added,
                _ if entry.mode.same_type(mode) => ChangeKind::Modified,
                _ => ChangeKind::TypeChanged,
            };
            if mode.is_gitlink() && submodule.is_none() {
                // A repository in place of a file has other commits than the file, as git sees it.
                let new_commits = kind == ChangeKind::TypeChanged;
                submodule = Some(SubmoduleState {
                    new_commits,
                    ..SubmoduleState::default()
                });
            }
            all.push(Unstaged {
                number,
                kind,
                mode,
                submodule,
                origin: None,
            });
        }
        Ok(all)
    }

    fn submodule_rules(
        &self,
        request: &StatusRequest,
        index: &Index,
    ) -> Result<SubmoduleRules, SessionError> {
        SubmoduleRules::new(
            &self.repository,
            index,
            &self.objects,
            request,
            self.settings.ignore_submodules,
        )
    }

    /// The mode of a path in conflict by its stage 2, where `mode` is that by its first stage: they differ where the
    /// configuration has the recorded mode count. Of a submodule that is ignored git does not compare stage 2.
    pub(super) fn mode_against(
        &self,
        request: &StatusRequest,
        index: &Index,
        ours: &Entry,
        mode: FileMode,
        path: &BStr,
    ) -> Result<FileMode, SessionError> {
        let rules = &self.settings.stat_rules;
        if !mode.is_file() && !mode.is_symlink()
            || rules.has_symlinks && rules.trust_executable_bit
            || ours.mode.is_gitlink() && self.submodule_rules(request, index)?.ignored(path)?.all
        {
            return Ok(mode);
        }
        let on_disk = self
            .top()
            .ok()
            .and_then(|top| Some(top.join(path.to_path().ok()?)));
        Ok(match on_disk.map(|on_disk| lstat_path(&on_disk)) {
            Some(Ok(stat)) => worktree_mode(ours.mode, stat.mode, rules),
            _ => mode,
        })
    }

    /// What of a path in conflict is a submodule, by stage 2 and what is in the working tree. Where git
    /// `searches_renames`, it gives a directory without a recorded commit an id.
    pub(super) fn submodule_in_conflict(
        &self,
        request: &StatusRequest,
        index: &Index,
        ours: &Entry,
        worktree_mode: FileMode,
        path: &BStr,
        searches_renames: bool,
    ) -> Result<Option<SubmoduleState>, SessionError> {
        let is_in_worktree = worktree_mode.is_gitlink();
        let unchanged = SubmoduleState::default();
        if !ours.mode.is_gitlink() {
            // A repository in place of a file has other commits than the file, as git sees it. Of any other directory
            // it knows only that some side has a submodule there.
            return Ok(is_in_worktree.then(|| SubmoduleState {
                new_commits: searches_renames || checked_out(&self.repository, path).is_some(),
                ..unchanged
            }));
        }
        let ignored = self.submodule_rules(request, index)?.ignored(path)?;
        if !is_in_worktree {
            if worktree_mode.is_symlink() && !ignored.all && !ignored.dirty {
                submodule_repository(&self.repository, path)?;
            }
            return Ok((!ignored.all).then_some(unchanged));
        }
        let state = state(
            &self.repository,
            path,
            &ours.id,
            ignored,
            request.threads_max,
            self.stderr,
        )?;
        Ok(Some(state.unwrap_or(SubmoduleState {
            new_commits: searches_renames,
            ..unchanged
        })))
    }
}
