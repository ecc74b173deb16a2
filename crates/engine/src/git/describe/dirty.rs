//! Whether the working tree differs from HEAD (`--dirty`, `--broken`), as `git diff-index --quiet HEAD` sees it.

use crate::git::repository::Repository;
use crate::git::repository::settings::Settings;
use crate::session::{Session, SessionError};
use crate::status::{Change, ChangeKind, IgnoreSubmodules, StatusRequest, UntrackedMode};
use vigil_model::mode::FileMode;

/// The settings with which a session must be opened for [`differs_from_head`]: untracked files in submodules do not
/// count, unless the submodule's own configuration says so. Only where `reads_diff_settings`, `diff.ignoreSubmodules`
/// counts.
///
/// # Errors
/// A value for which git gives up.
pub fn settings_of(
    repository: &Repository,
    reads_diff_settings: bool,
) -> Result<Settings, crate::git::config::Error> {
    let mut settings = Settings::new(repository)?;
    settings.ignore_submodules = settings
        .ignore_submodules
        .filter(|_| reads_diff_settings)
        .or(Some(IgnoreSubmodules::Untracked));
    Ok(settings)
}

/// Whether any tracked path differs between HEAD and index, or index and working tree.
///
/// # Errors
/// Where git could not look either.
pub fn differs_from_head(session: &mut Session) -> Result<bool, SessionError> {
    let request = StatusRequest {
        untracked: UntrackedMode::No,
        ..StatusRequest::default()
    };
    let status = session.status(&request)?;
    Ok(status.changes.iter().any(|(_, change)| counts(change)))
}

/// git compares HEAD with the working tree, and asks the index only which paths there are: what HEAD does not have
/// and the working tree does not either is no difference.
fn counts(change: &Change) -> bool {
    match change {
        Change::Tracked(change) => {
            change.head_mode != FileMode::NONE || change.unstaged != Some(ChangeKind::Deleted)
        }
        Change::Unmerged(change) => {
            let [_, ours, _] = change.stages;
            ours.is_some() || change.worktree_mode != FileMode::NONE
        }
    }
}
