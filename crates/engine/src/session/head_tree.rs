//! HEAD's tree, and what git says where it cannot be read.

use gix_hash::ObjectId;

use super::SessionError;
use crate::checked_out::head_id;
use vigil_git::objects::{self, Objects};
use vigil_git::refs::Head;
use vigil_git::repository::Repository;
use vigil_git::staged;

/// What of HEAD's tree is looked at.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Check {
    /// Whether it is there: its contents were looked at before.
    Presence,
    /// Whether it can be read, and is what its id stands for.
    Contents,
}

/// The tree of the commit `id`, which HEAD names.
pub(super) fn tree_of(
    objects: &Objects,
    id: &ObjectId,
    check: Check,
) -> Result<ObjectId, SessionError> {
    let tree = match objects.peel_to_tree(id) {
        Ok(tree) => tree,
        // git does not read a commit that is in the commit-graph.
        Err(error) => match (objects.tree_in_graph(id), error) {
            (Some(tree), _) => tree,
            (None, objects::Error::Missing { id: missing }) if missing == *id => {
                return Err(no_head(objects, id));
            }
            (None, error) => return Err(error.into()),
        },
    };
    check_tree(objects, &tree, check).map(|()| tree)
}

/// `error`, with what git says before where an object is to blame: nobody listened when it was read.
pub(super) fn explained(repository: &Repository, head: &Head, error: SessionError) -> SessionError {
    let (tree, directory) = match &error {
        SessionError::Staged(
            staged::Error::Missing { id, path } | staged::Error::Unreadable { id, path, .. },
        ) => (Some(*id), Some(path.clone())),
        SessionError::BadHead | SessionError::BadHeadTree | SessionError::Objects(_) => {
            (None, None)
        }
        _ => return error,
    };
    let (Some(head), Ok(objects)) = (head_id(head), Objects::open(repository)) else {
        return error;
    };
    // In those at hand, what other threads read would be heard, too.
    objects.listen();
    // What is said of the alternates is told of those.
    let [_, grafts] = objects.has_said();
    objects.set_said([true, grafts]);
    let failed = match tree {
        Some(tree) => objects.read(&tree, &mut Vec::new()).err().map(Into::into),
        None => reread(&objects, &head).err(),
    };
    let source = failed.unwrap_or(error);
    let said = objects.take_said();
    match said.is_empty() && directory.is_none() {
        true => source,
        false => SessionError::Damaged {
            said,
            directory,
            source: Box::new(source),
        },
    }
}

/// How often git asks for the type of HEAD's commit before it reads it, and says each time what is wrong.
const LOOKS: usize = 2;

/// Reads HEAD's commit `id` and its tree as often as git does, to hear what it says.
fn reread(objects: &Objects, id: &ObjectId) -> Result<(), SessionError> {
    let tree = match objects.tree_in_graph(id) {
        Some(tree) => tree,
        None => {
            for _ in 0..LOOKS {
                // What is wrong is heard.
                let _ = objects.kind(id);
            }
            if objects.read(id, &mut Vec::new())?.is_none() {
                return Err(no_head(objects, id));
            }
            objects.peel_to_tree(id)?
        }
    };
    check_tree(objects, &tree, Check::Contents)
}

/// HEAD leads to no commit, or to one for which another is missing.
fn no_head(objects: &Objects, id: &ObjectId) -> SessionError {
    match objects.check_replacement(id) {
        Ok(()) => SessionError::BadHead,
        Err(error) => error.into(),
    }
}

/// An error where HEAD's tree is not there, or is not what it should be.
fn check_tree(objects: &Objects, tree: &ObjectId, check: Check) -> Result<(), SessionError> {
    let is_good = match check {
        Check::Presence => objects.kind(tree)?.is_some(),
        Check::Contents => objects.is_sound(tree)?,
    };
    if is_good {
        return Ok(());
    }
    objects.check_replacement(tree)?;
    Err(SessionError::BadHeadTree)
}
