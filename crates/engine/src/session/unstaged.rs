//! The changes that the scan found in the working tree, with the state of submodules.

use bstr::ByteSlice;
use vigil_model::tracked::{ByNumber, Tracked};

use super::changes::Unstaged;
use super::submodules::{SubmoduleRules, Submodules};
use super::{Findings, SessionError, StatusRequest};
use crate::git_system::mode_of;
use crate::status::SubmoduleState;
use vigil_model::change::ChangeKind;
use vigil_scan::Observed;

/// git looks for a submodule's commit when it refreshes the index, and when it compares.
const LOOKS: usize = 2;

/// Returns the changes that the scan found, and asks submodules for their state.
pub(super) fn unstaged(
    submodules: &Submodules<'_>,
    request: &StatusRequest,
    tracked: &Tracked,
    findings: &Findings,
) -> Result<Vec<Unstaged>, SessionError> {
    let mut all = Vec::with_capacity(findings.tracked.len());
    let mut rules: Option<SubmoduleRules> = None;
    let mut entries = ByNumber::new(tracked);
    for &(number, observed) in &findings.tracked {
        let Some(entry) = entries.get(number) else {
            continue;
        };
        if entry.flags.stage() > 0 {
            continue;
        }
        let path = entry.path.as_bstr();
        let mode = mode_of(observed);
        // With only an intent to add, the file counts as new, whatever is recorded.
        let is_new = entry.flags.is_intent_to_add() && observed != Observed::Missing;
        let mut submodule = None;
        if (if is_new { mode } else { entry.mode }).is_gitlink() {
            let rules = match &mut rules {
                Some(rules) => rules,
                none => none.insert(submodules.rules(request, tracked)?),
            };
            let ignored = rules.ignored(path)?;
            if ignored.all {
                continue;
            }
            if mode.is_symlink() && !is_new && !ignored.dirty && !request.as_diff_index {
                submodules.check_place(path)?;
            }
            if is_new {
                submodule = Some(SubmoduleState::default());
            } else if observed == Observed::Nested {
                let found = submodules.state(path, &entry.id, ignored, request, LOOKS)?;
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
            // To git, a repository in place of a file has other commits than the file.
            let new_commits = kind == ChangeKind::TypeChanged;
            submodule = Some(SubmoduleState {
                new_commits,
                ..SubmoduleState::default()
            });
        }
        all.push(Unstaged {
            entry,
            kind,
            mode,
            submodule,
            origin: None,
        });
    }
    Ok(all)
}
