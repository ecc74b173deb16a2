//! HEAD's tree, and git's messages if it cannot be read.

use gix_hash::ObjectId;
use gix_object::Kind;

use super::SessionError;
use vigil_git::objects::{self, Objects};
use vigil_git::refs::Head;
use vigil_git::repository::Repository;
use vigil_git::staged;

/// What to check about HEAD's tree.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Check {
    /// Whether it exists: its contents were checked before.
    Presence,
    /// Whether it can be read and matches its ID.
    Contents,
}

/// Returns the tree of the commit `id`, which HEAD names.
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
            (None, error) => return Err(no_tree(error)),
        },
    };
    check_tree(objects, &tree, check).map(|()| tree)
}

/// Adds git's earlier lines to `error` if an object is to blame. They were not recorded when it was read,
/// so it is read again. If git would fetch the object, the error says that instead. `shared` is where it was read.
pub(super) fn explained(
    repository: &Repository,
    head: &Head,
    shared: &Objects,
    error: SessionError,
) -> SessionError {
    let (tree, directory) = match &error {
        // Nothing is fetched when it is read again.
        _ if error.is_of_fetching() => return error,
        SessionError::Staged(
            staged::Error::Missing { id, path } | staged::Error::Unreadable { id, path, .. },
        ) => (Some(*id), Some(path.clone())),
        SessionError::BadHead | SessionError::BadHeadTree | SessionError::Objects(_) => {
            (None, None)
        }
        _ => return error,
    };
    let (Some(head), Ok(objects)) = (head.commit(), Objects::open(repository)) else {
        return error;
    };
    if let Some(id) = missing(&objects, &head, &error)
        && let Some(left_out) = shared.left_out(repository, &id)
    {
        return left_out.into();
    }
    // A new store: the shared one would also record what other threads read.
    objects.collect_messages();
    // The shared store reports the messages about alternates.
    let [_, grafts] = objects.reported_once();
    objects.set_reported_once([true, grafts]);
    let failed = match tree {
        Some(tree) => objects.read(&tree, &mut Vec::new()).err().map(Into::into),
        None => reread(&objects, &head).err(),
    };
    let source = failed.unwrap_or(error);
    source.explained(objects.take_messages(), directory)
}

/// Returns the object that `error` is about, if it is not here.
fn missing(objects: &Objects, head: &ObjectId, error: &SessionError) -> Option<ObjectId> {
    let id = match error {
        SessionError::Staged(staged::Error::Missing { id, .. }) => *id,
        SessionError::BadHead => *head,
        SessionError::BadHeadTree => match objects.tree_in_graph(head) {
            Some(tree) => tree,
            None => objects.peel_to_tree(head).ok()?,
        },
        _ => return None,
    };
    (!objects.is_here(&id)).then_some(id)
}

/// How many times git asks for the type of HEAD's commit before reading it. It reports the damage each
/// time.
const LOOKS: usize = 2;

/// Reads HEAD's commit `id` and its tree as often as git does, to record the messages.
fn reread(objects: &Objects, id: &ObjectId) -> Result<(), SessionError> {
    let tree = match objects.tree_in_graph(id) {
        Some(tree) => tree,
        None => {
            for _ in 0..LOOKS {
                // Any error is recorded as a message.
                let _ = objects.kind(id);
            }
            if objects.read(id, &mut Vec::new())?.is_none() {
                return Err(no_head(objects, id));
            }
            objects.peel_to_tree(id).map_err(no_tree)?
        }
    };
    check_tree(objects, &tree, Check::Contents)
}

/// Returns the error for a HEAD of which `error` says that it leads to no tree.
fn no_tree(error: objects::Error) -> SessionError {
    match error {
        objects::Error::WrongKind {
            expected: Kind::Tree,
            ..
        } => SessionError::BadHeadTree,
        error => error.into(),
    }
}

/// Returns the error for a HEAD that leads to no commit, or to one whose replacement is missing.
fn no_head(objects: &Objects, id: &ObjectId) -> SessionError {
    match objects.check_replacement(id) {
        Ok(()) => SessionError::BadHead,
        Err(error) => error.into(),
    }
}

/// Fails if HEAD's tree is missing or damaged.
fn check_tree(objects: &Objects, tree: &ObjectId, check: Check) -> Result<(), SessionError> {
    let is_good = match check {
        Check::Presence => objects.kind(tree)?.is_some(),
        Check::Contents => objects.matches_id(tree)?,
    };
    if is_good {
        return Ok(());
    }
    objects.check_replacement(tree)?;
    Err(SessionError::BadHeadTree)
}
