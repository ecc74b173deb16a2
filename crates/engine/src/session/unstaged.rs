//! The changes that the scan found in the working tree, with the state of submodules.

use bstr::ByteSlice;
use vigil_model::tracked::{ByNumber, Tracked, TrackedEntry};

use super::changes::Unstaged;
use super::submodules::{AskedSubmodule, SubmoduleRules, Submodules};
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
    let mut search = Search {
        submodules,
        request,
        tracked,
        rules: None,
        found: Vec::with_capacity(findings.tracked.len()),
        asked: Vec::new(),
    };
    let mut entries = ByNumber::new(tracked);
    let all = findings.tracked.iter();
    let mut all = all.filter_map(|(number, observed)| Some((entries.get(*number)?, *observed)));
    let gone_through = all.try_for_each(|(entry, observed)| search.add(entry, observed));
    // An error of a submodule comes before one of what follows it.
    let states = submodules.states(&search.asked, request, LOOKS)?;
    gone_through?;
    let mut states = states.into_iter();
    let found = search
        .found
        .into_iter()
        .filter_map(|(mut change, is_asked)| {
            if is_asked {
                change.submodule = Some(states.next()??);
            }
            Some(change)
        });
    Ok(found.collect())
}

/// The changes so far, and the submodules that are still to be asked.
struct Search<'s> {
    submodules: &'s Submodules<'s>,
    request: &'s StatusRequest,
    tracked: &'s Tracked,
    /// Not read before there is a submodule.
    rules: Option<SubmoduleRules>,
    /// Each with whether it is the change of a submodule that is asked.
    found: Vec<(Unstaged, bool)>,
    asked: Vec<AskedSubmodule>,
}

impl Search<'_> {
    /// Adds the change of `entry`, if it is one.
    fn add(&mut self, entry: TrackedEntry, observed: Observed) -> Result<(), SessionError> {
        if entry.flags.stage() > 0 {
            return Ok(());
        }
        let path = entry.path.as_bstr();
        let mode = mode_of(observed);
        // With only an intent to add, the file counts as new, whatever is recorded.
        let is_new = entry.flags.is_intent_to_add() && observed != Observed::Missing;
        let mut submodule = None;
        let mut is_asked = false;
        if (if is_new { mode } else { entry.mode }).is_gitlink() {
            let rules = match &mut self.rules {
                Some(rules) => rules,
                none => none.insert(self.submodules.rules(self.request, self.tracked)?),
            };
            let ignored = rules.ignored(path)?;
            if ignored.all {
                return Ok(());
            }
            if mode.is_symlink() && !is_new && !ignored.dirty && !self.request.as_diff_index {
                self.submodules.check_place(path)?;
            }
            if is_new {
                submodule = Some(SubmoduleState::default());
            } else if observed == Observed::Nested {
                is_asked = true;
                self.asked.push(AskedSubmodule {
                    path: entry.path.clone(),
                    recorded: entry.id,
                    ignored,
                });
            }
        }
        let kind = match observed {
            Observed::Missing => ChangeKind::Deleted,
            _ if is_new => ChangeKind::Added,
            _ if entry.mode.same_type(mode) => ChangeKind::Modified,
            _ => ChangeKind::TypeChanged,
        };
        if mode.is_gitlink() && submodule.is_none() && !is_asked {
            // To git, a repository in place of a file has other commits than the file.
            let new_commits = kind == ChangeKind::TypeChanged;
            submodule = Some(SubmoduleState {
                new_commits,
                ..SubmoduleState::default()
            });
        }
        let change = Unstaged {
            entry,
            kind,
            mode,
            submodule,
            origin: None,
        };
        self.found.push((change, is_asked));
        Ok(())
    }
}
