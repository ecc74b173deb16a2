//! Whether the working tree differs from HEAD as `git diff-index --quiet HEAD` sees it, for `--dirty` and `--broken` of
//! `vigil describe`.

use bstr::{BStr, BString, ByteSlice};
use gix_hash::ObjectId;
use vigil_model::mode::FileMode;

use crate::checked_out::checked_out;
use crate::session::{Session, SessionError};
use crate::status::{Change, Status, StatusRequest, SubmoduleState};
use vigil_git::config;
use vigil_git::repository::settings::{CommandScope, Settings};
use vigil_git::repository::{self, Repository};
use vigil_git::staged;
use vigil_history::describe::{Context, Error};
use vigil_history::revision::head::HeadByName;
use vigil_model::change::ChangeKind;
use vigil_model::request::{IgnoreSubmodules, UntrackedMode};

/// Returns the settings with which a session must be opened for [`look_at_worktree`]: untracked files in submodules do not count,
/// unless the submodule's own configuration says so.
///
/// # Errors
/// A value that makes git give up.
pub fn settings_of(repository: &Repository) -> Result<Settings, config::Error> {
    Ok(Settings {
        ignore_submodules: Some(IgnoreSubmodules::Untracked),
        ..Settings::of_any_command(repository, CommandScope::Index, |_| Ok(()))?
    })
}

/// The most submodules to leave out because they have no answer.
const FAILED_SUBMODULES_MAX: usize = 100;

/// What a look at the working tree found.
#[derive(Debug)]
pub struct Dirtiness {
    /// Whether any tracked path differs between HEAD and index, or index and working tree.
    pub is_dirty: bool,
    /// The lines that git writes to stderr meanwhile.
    pub messages: Vec<BString>,
}

/// Why a look at the working tree failed.
#[derive(Debug, thiserror::Error)]
pub enum LookError {
    /// The session could not look.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The session could not look at everything.
    #[error("{source}")]
    Unfinished {
        /// Why.
        source: Box<SessionError>,
        /// The lines that git writes to stderr before.
        messages: Vec<BString>,
        /// Whether git already fails when it refreshes the index, and would find a difference without that.
        only_refreshing: bool,
    },
    /// HEAD could not be read.
    #[error(transparent)]
    Head(#[from] Error),
}

/// Checks whether the working tree differs from HEAD.
///
/// # Errors
/// git would fail, too.
pub fn look_at_worktree(
    session: &mut Session,
    context: Context<'_>,
) -> Result<Dirtiness, LookError> {
    let request = StatusRequest {
        untracked: UntrackedMode::No,
        as_diff_index: true,
        ..StatusRequest::default()
    };
    let status = match session.status(&request) {
        Ok(status) => status,
        Err(error) => {
            let messages = session.take_messages();
            let differs = differs_before(session, request, context, &error)?;
            if differs && !ends_refreshing(&error) {
                return Ok(Dirtiness {
                    is_dirty: true,
                    messages: session.take_messages(),
                });
            }
            return Err(LookError::Unfinished {
                source: Box::new(error),
                messages,
                only_refreshing: differs,
            });
        }
    };
    Ok(Dirtiness {
        is_dirty: differs(session, &status, None, context)?,
        messages: status.warnings,
    })
}

/// Whether git finds `error` when it refreshes the index, for which it looks at all paths: it then reads the formats of submodules.
fn ends_refreshing(error: &SessionError) -> bool {
    matches!(
        error,
        SessionError::NoSubmodule {
            source: repository::Error::Config(_),
            ..
        }
    )
}

/// Whether anything differs before the path at which `error` occurred: git goes through the paths in order and stops at the first
/// difference, so it never reaches that path.
fn differs_before(
    session: &mut Session,
    mut request: StatusRequest,
    context: Context<'_>,
    error: &SessionError,
) -> Result<bool, LookError> {
    match error {
        SessionError::Submodule { path, .. } | SessionError::NoSubmodule { path, .. } => {
            let mut failed = path.clone();
            // Errors come in the order of paths, so what is left out then is behind the first one.
            for _ in 0..FAILED_SUBMODULES_MAX {
                let beside = [b":(top,exclude,literal)", failed.as_slice()].concat();
                request.pathspecs.push(beside.into());
                match session.status(&request) {
                    Ok(status) => return differs(session, &status, Some(path.as_bstr()), context),
                    Err(
                        SessionError::Submodule { path, .. }
                        | SessionError::NoSubmodule { path, .. },
                    ) => failed = path,
                    Err(_) => break,
                }
            }
            Ok(false)
        }
        SessionError::Staged(
            staged::Error::Missing { path, .. } | staged::Error::Unreadable { path, .. },
        )
        | SessionError::Damaged {
            directory: Some(path),
            ..
        } => Ok(session.differs_before(path.as_bstr(), &request)?),
        SessionError::Modules(_) => {
            // git reads `.gitmodules` when it comes to the first submodule.
            let Some(path) = session.first_submodule() else {
                return Ok(false);
            };
            request.ignore_submodules = Some(IgnoreSubmodules::All);
            let status = session.status(&request)?;
            differs(session, &status, Some(path.as_bstr()), context)
        }
        _ => Ok(false),
    }
}

/// Whether anything in `status` counts as a difference, before `end` if that is given.
fn differs(
    session: &Session,
    status: &Status,
    end: Option<&BStr>,
    context: Context<'_>,
) -> Result<bool, LookError> {
    for (path, change) in &status.changes {
        let path = path.as_bstr();
        if end.is_some_and(|end| path >= end) {
            break;
        }
        if counts(path, change, context)?
            && !(is_of_submodule(change) && session.ignores_all_of_submodule(path)?)
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether `change` counts. git compares HEAD with the working tree, and takes only the list of paths from the index: a path that
/// is neither in HEAD nor in the working tree is no difference.
fn counts(path: &BStr, change: &Change, context: Context<'_>) -> Result<bool, Error> {
    match change {
        Change::Tracked(change) => {
            if change.unstaged != Some(ChangeKind::Deleted) {
                return Ok(true);
            }
            // For an intent-to-add entry, only HEAD itself tells whether it has the path.
            let may_be_intent = change.index_id == ObjectId::empty_blob(change.index_id.kind());
            match change.staged {
                None if may_be_intent => Ok(id_in_head(path, context)?.is_some()),
                _ => Ok(change.head_mode != FileMode::NONE),
            }
        }
        Change::Unmerged(change) => {
            let [base, ours, theirs] = change.stages;
            match base.or(ours).or(theirs) {
                Some(first) if first.mode.is_gitlink() && change.worktree_mode.is_gitlink() => {
                    submodule_differs(path, &first.id, change.submodule, context)
                }
                _ => {
                    Ok(change.worktree_mode != FileMode::NONE
                        || id_in_head(path, context)?.is_some())
                }
            }
        }
    }
}

/// Whether the submodule at `path`, which is in this `state` and in conflict, differs from HEAD. Of its commits in the index, git looks
/// only at the `first`.
fn submodule_differs(
    path: &BStr,
    first: &ObjectId,
    state: Option<SubmoduleState>,
    context: Context<'_>,
) -> Result<bool, Error> {
    let has_other_commit = checked_out(context.repository, path).is_some_and(|id| id != *first);
    let is_dirty = state.is_some_and(|state| state.modified || state.untracked);
    Ok(has_other_commit || is_dirty || id_in_head(path, context)? != Some(*first))
}

/// Whether each side is a submodule or nothing.
fn is_of_submodule(change: &Change) -> bool {
    let modes = match change {
        Change::Tracked(change) => {
            let now = match change.unstaged {
                Some(_) => change.worktree_mode,
                None => change.index_mode,
            };
            [change.head_mode, now]
        }
        Change::Unmerged(change) => {
            let [_, ours, _] = change.stages;
            [
                ours.map_or(FileMode::NONE, |side| side.mode),
                change.worktree_mode,
            ]
        }
    };
    modes
        .iter()
        .all(|mode| mode.is_gitlink() || *mode == FileMode::NONE)
}

/// Returns the object that HEAD has at `path`.
fn id_in_head(path: &BStr, context: Context<'_>) -> Result<Option<ObjectId>, Error> {
    let Context {
        repository,
        refs,
        objects,
    } = context;
    let Some(head) = HeadByName::read(repository, refs, objects)?.found.commit() else {
        return Ok(None);
    };
    let tree = objects.peel_to_tree(&head)?;
    Ok(objects.find_in_tree(&tree, path)?)
}

#[cfg(test)]
mod tests;
