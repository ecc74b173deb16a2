//! Of which types objects are known to be.
//!
//! Tags say of which type is what they point to, and git believes them until it reads the object: from then on the two
//! contradict each other, and the object is nothing. Which of them comes first, decides.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};

use gix_hash::{ObjectId, oid};
use gix_object::Kind;
use parking_lot::Mutex;

/// Of so many objects the types are kept. Then only what tags said remains, which few tags say: most point to commits.
const KINDS_MAX: usize = 1 << 20;

/// The types of objects, as far as they were read or said. Nothing is kept unless somebody listens to what is said of it.
#[derive(Debug, Default)]
pub(super) struct Known {
    is_kept: AtomicBool,
    kinds: Mutex<HashMap<ObjectId, Kind>>,
    /// Whether a tag said of anything that it is no commit: else commits need not be looked up.
    has_others: AtomicBool,
    /// Of what tags said so.
    others: Mutex<HashMap<ObjectId, Kind>>,
}

impl Known {
    /// From now on keeps what is known.
    pub(super) fn keep(&self) {
        self.is_kept.store(true, Ordering::Relaxed);
    }

    /// Forgets all that is known.
    pub(super) fn forget(&self) {
        self.kinds.lock().clear();
        self.others.lock().clear();
        self.has_others.store(false, Ordering::Relaxed);
    }

    /// The type of the object `id`.
    pub(super) fn kind(&self, id: &oid) -> Option<Kind> {
        if !self.is_kept.load(Ordering::Relaxed) {
            return None;
        }
        self.kinds.lock().get(id).copied()
    }

    /// Notes that the object `id` is of the type `kind`.
    ///
    /// # Errors
    /// The other type that it was known to be of.
    pub(super) fn note(&self, id: &oid, kind: Kind) -> Result<(), Kind> {
        if !self.is_kept.load(Ordering::Relaxed) {
            return Ok(());
        }
        let mut kinds = self.kinds.lock();
        if kinds.len() >= KINDS_MAX {
            kinds.clone_from(&self.others.lock());
        }
        let known = *kinds.entry(id.to_owned()).or_insert(kind);
        if known == kind { Ok(()) } else { Err(known) }
    }

    /// Notes that a tag says so of the object `id`.
    ///
    /// # Errors
    /// As for [`Self::note`].
    pub(super) fn claim(&self, id: &oid, kind: Kind) -> Result<(), Kind> {
        self.note(id, kind)?;
        if kind != Kind::Commit && self.is_kept.load(Ordering::Relaxed) {
            self.others.lock().insert(id.to_owned(), kind);
            self.has_others.store(true, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Whether a tag said of anything that it is no commit.
    pub(super) fn has_others(&self) -> bool {
        self.has_others.load(Ordering::Relaxed)
    }

    /// The type other than a commit's that a tag said of the object `id`.
    pub(super) fn other_kind(&self, id: &oid) -> Option<Kind> {
        match self.has_others() {
            true => self.others.lock().get(id).copied(),
            false => None,
        }
    }
}
