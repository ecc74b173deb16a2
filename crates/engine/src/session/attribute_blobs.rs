//! Attributes that are not in the working tree: in the index, or in a tree.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bstr::BStr;
use vigil_git::objects::Objects;
use vigil_model::ObjectId;
use vigil_model::tracked::Tracked;
use vigil_rules::attributes::{Blobs, IndexBlobs};

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

/// Whether attributes should come from a tree that is not there, and somebody asked for them.
#[derive(Debug, Default)]
pub(super) struct MissedAttributes {
    is_missing: AtomicBool,
    is_asked_for: AtomicBool,
}

impl MissedAttributes {
    /// Starts anew.
    pub(super) fn reset(&self, is_missing: bool) {
        self.is_missing.store(is_missing, Ordering::Relaxed);
        self.is_asked_for.store(false, Ordering::Relaxed);
    }

    /// Notes that git would ask for attributes here.
    pub(super) fn ask(&self) {
        if self.is_missing.load(Ordering::Relaxed) {
            self.is_asked_for.store(true, Ordering::Relaxed);
        }
    }

    /// Whether somebody asked for what is missing.
    pub(super) fn is_asked_for(&self) -> bool {
        self.is_asked_for.load(Ordering::Relaxed)
    }
}

/// The place of a tree that is not there.
struct MissingTree(Arc<MissedAttributes>);

impl IndexBlobs for MissingTree {
    fn blob(&self, _: &BStr) -> Option<Vec<u8>> {
        self.0.ask();
        None
    }
}

/// Where attributes come from that are not those of the working tree.
pub(super) enum SourceOfAttributes {
    /// The index, where the working tree has no file.
    Index,
    /// A tree, instead of both.
    Tree(ObjectId),
    /// A tree that is not there; who asks is noted.
    Missing(Arc<MissedAttributes>),
}

/// A tree is wanted that is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NoTree;

/// What attributes and conversion take from the repository.
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
