//! Attributes from outside the working tree: from the index, or from a tree.

use std::sync::{Arc, OnceLock};

use bstr::{BStr, ByteSlice};
use vigil_convert::attribute_files::SourceTree;
use vigil_git::objects::{self, Objects};
use vigil_git::refs::Refs;
use vigil_git::repository::{self, Repository};
use vigil_history::revision;
use vigil_model::ObjectId;
use vigil_model::tracked::Tracked;
use vigil_objects::Reason;
use vigil_rules::attributes::{Blobs, IndexBlobs};

use super::error::{SessionError, messages_of};
use super::missed_rules::MissedRules;

/// The blobs of an index, for attributes.
struct IndexedBlobs {
    tracked: Arc<OnceLock<Tracked>>,
    objects: Objects,
    missed: Arc<MissedRules>,
}

impl IndexBlobs for IndexedBlobs {
    fn blob(&self, path: &BStr) -> Option<Vec<u8>> {
        let tracked = self.tracked.get()?;
        let entry = tracked.find(path, 0).or_else(|| tracked.find(path, 2))?;
        self.missed.read(|| Ok(Some(entry.id)), &self.objects)
    }
}

/// The blobs of a tree, for attributes.
struct TreeBlobs {
    tree: ObjectId,
    objects: Objects,
    missed: Arc<MissedRules>,
}

impl IndexBlobs for TreeBlobs {
    fn blob(&self, path: &BStr) -> Option<Vec<u8>> {
        let find = || match self.objects.find_in_tree(&self.tree, path) {
            Err(objects::Error::MissingTree { id }) => {
                self.missed.miss(id);
                Ok(None)
            }
            // git goes on without attributes.
            Err(objects::Error::WrongKind { .. }) => Ok(None),
            found => found,
        };
        self.missed.read(find, &self.objects)
    }
}

/// Stands in for a tree that is missing.
struct MissingTree(Arc<MissedRules>);

impl IndexBlobs for MissingTree {
    fn blob(&self, _: &BStr) -> Option<Vec<u8>> {
        self.0.ask();
        None
    }
}

/// The source of attributes other than the working tree.
pub(super) enum SourceOfAttributes {
    /// The index, for files that the working tree lacks.
    Index,
    /// A tree, instead of both.
    Tree(ObjectId),
    /// A tree that is missing; lookups are noted.
    Missing(Arc<MissedRules>),
}

impl SourceOfAttributes {
    /// Where the attributes of `repository` come from now; lookups in a missing tree are noted in `missed`.
    pub(super) fn of(
        repository: &Repository,
        refs: &Refs,
        objects: &Objects,
        missed: &Arc<MissedRules>,
    ) -> Self {
        let Some(source) = SourceTree::of(repository) else {
            return Self::Index;
        };
        match revision::resolve(source.name.as_bstr(), refs, objects) {
            Ok(Some(id)) => Self::Tree(objects.peel_to_tree(&id).unwrap_or(id)),
            _ if source.required => Self::Missing(missed.clone()),
            _ => Self::Index,
        }
    }
}

/// The error for a tree of attributes that is missing.
pub(super) fn source_is_missing() -> SessionError {
    repository::Error::Refused(SourceTree::UNRESOLVED.to_owned()).into()
}

/// Adds the lines that git writes before `error`, over which it exits when it reads attributes. They were not recorded when the
/// object was read, so it is read again.
pub(super) fn explained(repository: &Repository, error: objects::Error) -> SessionError {
    let messages = match &error {
        objects::Error::Unreadable(
            Reason::CorruptLoose { id, .. } | Reason::CorruptPacked { id, .. },
        ) => messages_about(repository, id),
        _ => Vec::new(),
    };
    SessionError::from(error).explained(messages, None)
}

/// Returns what git writes when it reads the damaged object `id`.
fn messages_about(repository: &Repository, id: &ObjectId) -> Vec<String> {
    // Any error is recorded as a message.
    let read = |objects: &Objects| drop(objects.read(id, &mut Vec::new()));
    messages_of(repository, read)
}

/// The tree of attributes is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NoTree;

/// Returns what attributes and conversion read from the repository. What cannot be read is noted in `missed`.
pub(super) fn blobs(
    tracked: &Tracked,
    objects: &Objects,
    source: SourceOfAttributes,
    missed: &Arc<MissedRules>,
) -> Blobs {
    let tracked = Arc::new(OnceLock::from(tracked.clone()));
    late_blobs(&tracked, objects, source, missed)
}

/// The same for an index that may be read later.
pub(super) fn late_blobs(
    tracked: &Arc<OnceLock<Tracked>>,
    objects: &Objects,
    source: SourceOfAttributes,
    missed: &Arc<MissedRules>,
) -> Blobs {
    Blobs {
        index: Arc::new(IndexedBlobs {
            tracked: tracked.clone(),
            objects: objects.clone(),
            missed: missed.clone(),
        }),
        tree: match source {
            SourceOfAttributes::Index => None,
            SourceOfAttributes::Tree(tree) => Some(Arc::new(TreeBlobs {
                tree,
                objects: objects.clone(),
                missed: missed.clone(),
            })),
            SourceOfAttributes::Missing(missed) => Some(Arc::new(MissingTree(missed))),
        },
    }
}
