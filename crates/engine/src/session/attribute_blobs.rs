//! Attributes from outside the working tree: from the index, or from a tree.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bstr::{BStr, ByteSlice};
use gix_object::Kind;
use parking_lot::Mutex;
use vigil_convert::attribute_files::SourceTree;
use vigil_git::objects::{self, Objects};
use vigil_git::refs::Refs;
use vigil_git::repository::{self, Repository};
use vigil_history::revision;
use vigil_model::ObjectId;
use vigil_model::tracked::Tracked;
use vigil_objects::Reason;
use vigil_rules::attributes::{Blobs, IndexBlobs};

use super::error::SessionError;

/// The blobs of an index, for attributes.
struct IndexedBlobs {
    tracked: Tracked,
    objects: Objects,
    missed: Arc<MissedAttributes>,
}

impl IndexBlobs for IndexedBlobs {
    fn blob(&self, path: &BStr) -> Option<Vec<u8>> {
        let tracked = &self.tracked;
        let entry = tracked.find(path, 0).or_else(|| tracked.find(path, 2))?;
        self.missed.read(|| Ok(Some(entry.id)), &self.objects)
    }
}

/// The blobs of a tree, for attributes.
struct TreeBlobs {
    tree: ObjectId,
    objects: Objects,
    missed: Arc<MissedAttributes>,
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

/// Attributes that were asked for and could not be read: those of a tree that is missing, or an object that git exits over. Also a
/// `.gitmodules` that is not here, which the answer depends on in the same way.
#[derive(Debug, Default)]
pub(super) struct MissedAttributes {
    is_missing: AtomicBool,
    is_asked_for: AtomicBool,
    failure: Mutex<Option<objects::Error>>,
    absent: Mutex<Absent>,
}

/// Objects that were asked for and are not here.
#[derive(Debug, Default)]
struct Absent {
    first: Option<ObjectId>,
    all: BTreeSet<ObjectId>,
}

impl MissedAttributes {
    /// Starts over for a new question.
    pub(super) fn reset(&self, is_missing: bool) {
        self.is_missing.store(is_missing, Ordering::Relaxed);
        self.is_asked_for.store(false, Ordering::Relaxed);
        *self.failure.lock() = None;
        *self.absent.lock() = Absent::default();
    }

    /// Notes that an object was asked for that is not here.
    pub(super) fn miss(&self, id: ObjectId) {
        let mut absent = self.absent.lock();
        absent.first.get_or_insert(id);
        absent.all.insert(id);
    }

    /// Reads the blob that `find` finds. The first error is kept; git exits over it, so nothing is read after it.
    fn read(
        &self,
        find: impl FnOnce() -> Result<Option<ObjectId>, objects::Error>,
        objects: &Objects,
    ) -> Option<Vec<u8>> {
        if self.failure.lock().is_some() {
            return None;
        }
        let mut contents = Vec::new();
        let read = find().and_then(|id| {
            let Some(id) = id else {
                return Ok(None);
            };
            let kind = objects.read(&id, &mut contents)?;
            if kind.is_none() {
                self.miss(id);
            }
            Ok(kind)
        });
        match read {
            Ok(kind) => (kind? == Kind::Blob).then_some(contents),
            Err(error) => {
                self.failure.lock().get_or_insert(error);
                None
            }
        }
    }

    /// Takes the error over which git would have exited when it read attributes.
    pub(super) fn take_failure(&self) -> Option<objects::Error> {
        self.failure.lock().take()
    }

    /// Notes that git would look up attributes here.
    pub(super) fn ask(&self) {
        if self.is_missing.load(Ordering::Relaxed) {
            self.is_asked_for.store(true, Ordering::Relaxed);
        }
    }

    /// Whether an error is kept over which git would have exited.
    pub(super) fn has_failed(&self) -> bool {
        self.failure.lock().is_some()
    }

    /// The first object that was asked for and is not here.
    pub(super) fn first_absent(&self) -> Option<ObjectId> {
        self.absent.lock().first
    }

    /// Takes the objects that were asked for and are not here.
    pub(super) fn take_absent(&self) -> BTreeSet<ObjectId> {
        std::mem::take(&mut self.absent.lock().all)
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
    let Ok(objects) = Objects::open(repository) else {
        return Vec::new();
    };
    objects.collect_messages();
    // The shared store reports the messages about alternates and grafts.
    objects.set_reported_once([true, true]);
    // Any error is recorded as a message.
    let _ = objects.read(id, &mut Vec::new());
    objects.take_messages()
}

/// The tree of attributes is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NoTree;

/// Returns what attributes and conversion read from the repository. What cannot be read is noted in `missed`.
pub(super) fn blobs(
    tracked: &Tracked,
    objects: &Objects,
    source: SourceOfAttributes,
    missed: &Arc<MissedAttributes>,
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
