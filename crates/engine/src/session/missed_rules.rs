//! What an answer depends on and could not be read: attributes, and rules for submodules.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use gix_object::Kind;
use parking_lot::Mutex;
use vigil_git::objects::{self, Objects};
use vigil_model::ObjectId;

/// Attributes that were asked for and could not be read (those of a tree that is missing, or an object that git exits over), and
/// objects with attributes or with rules for submodules that are not here.
#[derive(Debug, Default)]
pub(crate) struct MissedRules {
    /// The tree that attributes come from is missing.
    is_missing: AtomicBool,
    /// Attributes of that tree were asked for.
    is_asked_for: AtomicBool,
    /// Why git exits when it reads attributes.
    failure: Mutex<Option<objects::Error>>,
    absent: Mutex<Absent>,
    /// As [`Self::unread_count`] returns it.
    unread: AtomicUsize,
}

/// Objects that were asked for and are not here.
#[derive(Debug, Default)]
struct Absent {
    first: Option<ObjectId>,
    all: BTreeSet<ObjectId>,
}

impl MissedRules {
    /// Starts over for a new question. `is_missing` tells that the tree is missing that attributes come from.
    pub(super) fn reset(&self, is_missing: bool) {
        self.is_missing.store(is_missing, Ordering::Relaxed);
        self.is_asked_for.store(false, Ordering::Relaxed);
        *self.failure.lock() = None;
        *self.absent.lock() = Absent::default();
    }

    /// Notes that an object was asked for that is not here.
    pub(super) fn miss(&self, id: ObjectId) {
        self.note_unread();
        let mut absent = self.absent.lock();
        absent.first.get_or_insert(id);
        absent.all.insert(id);
    }

    /// Notes that an object was asked for that is not here or cannot be read.
    pub(crate) fn note_unread(&self) {
        self.unread.fetch_add(1, Ordering::Relaxed);
    }

    /// How often an object was asked for that was not here or could not be read. It may be readable later, so no verdict that was
    /// found meanwhile may be kept.
    pub(crate) fn unread_count(&self) -> usize {
        self.unread.load(Ordering::Relaxed)
    }

    /// Reads the blob that `find` finds. The first error is kept; git exits over it, so nothing is read after it.
    pub(super) fn read(
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
