//! Attributes from outside the working tree: from the index, or from a tree.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bstr::{BStr, ByteSlice};
use vigil_convert::attribute_files::SourceTree;
use vigil_git::objects::Objects;
use vigil_git::refs::Refs;
use vigil_git::repository::{self, Repository};
use vigil_history::revision;
use vigil_model::ObjectId;
use vigil_model::tracked::Tracked;
use vigil_rules::attributes::{Blobs, IndexBlobs};

use super::error::SessionError;

/// The blobs of an index, for attributes.
struct IndexedBlobs {
    tracked: Tracked,
    objects: Objects,
}

impl IndexBlobs for IndexedBlobs {
    fn blob(&self, path: &BStr) -> Option<Vec<u8>> {
        let tracked = &self.tracked;
        let entry = tracked.find(path, 0).or_else(|| tracked.find(path, 2))?;
        self.objects.blob(&entry.id)
    }
}

/// The blobs of a tree, for attributes.
struct TreeBlobs {
    tree: ObjectId,
    objects: Objects,
}

impl IndexBlobs for TreeBlobs {
    fn blob(&self, path: &BStr) -> Option<Vec<u8>> {
        let id = self.objects.find_in_tree(&self.tree, path).ok()??;
        self.objects.blob(&id)
    }
}

/// Whether attributes were asked for that should come from a tree that is missing.
#[derive(Debug, Default)]
pub(super) struct MissedAttributes {
    is_missing: AtomicBool,
    is_asked_for: AtomicBool,
}

impl MissedAttributes {
    /// Starts over for a new question.
    pub(super) fn reset(&self, is_missing: bool) {
        self.is_missing.store(is_missing, Ordering::Relaxed);
        self.is_asked_for.store(false, Ordering::Relaxed);
    }

    /// Notes that git would look up attributes here.
    pub(super) fn ask(&self) {
        if self.is_missing.load(Ordering::Relaxed) {
            self.is_asked_for.store(true, Ordering::Relaxed);
        }
    }

    /// Whether missing attributes were asked for.
    pub(super) fn is_asked_for(&self) -> bool {
        self.is_asked_for.load(Ordering::Relaxed)
    }
}

/// Stands in for a tree that is missing.
struct MissingTree(Arc<MissedAttributes>);

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
    Missing(Arc<MissedAttributes>),
}

impl SourceOfAttributes {
    /// Where the attributes of `repository` come from now; lookups in a missing tree are noted in `missed`.
    pub(super) fn of(
        repository: &Repository,
        refs: &Refs,
        objects: &Objects,
        missed: &Arc<MissedAttributes>,
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

/// The tree of attributes is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NoTree;

/// Returns what attributes and conversion read from the repository.
pub(super) fn blobs(tracked: &Tracked, objects: &Objects, source: SourceOfAttributes) -> Blobs {
    Blobs {
        index: Arc::new(IndexedBlobs {
            tracked: tracked.clone(),
            objects: objects.clone(),
        }),
        tree: match source {
            SourceOfAttributes::Index => None,
            SourceOfAttributes::Tree(tree) => Some(Arc::new(TreeBlobs {
                tree,
                objects: objects.clone(),
            })),
            SourceOfAttributes::Missing(missed) => Some(Arc::new(MissingTree(missed))),
        },
    }
}
