//! The known types of objects.
//!
//! A tag names the type of its target, and git believes that until it reads the object. If the two contradict each other,
//! what git learned first stands: it rejects the object, or the tag.

use std::sync::atomic::{AtomicBool, Ordering};

use gix_hash::oid;
use gix_object::Kind;
use parking_lot::Mutex;
use vigil_model::id_hasher::ById;

/// How many types are kept. Beyond that only claims of tags are kept; they are few, since most tags point to commits.
const KINDS_MAX: usize = 1 << 20;

/// The types of objects that were read or claimed by tags. Nothing is kept unless somebody listens to the messages.
#[derive(Debug, Default)]
pub(super) struct KnownKinds {
    is_kept: AtomicBool,
    kinds: Mutex<ById<Kind>>,
    /// Whether any tag claimed that an object is not a commit: otherwise commits need not be looked up.
    has_non_commit_claims: AtomicBool,
    /// The objects about which tags claimed so.
    non_commits: Mutex<ById<Kind>>,
}

impl KnownKinds {
    /// Starts to keep what becomes known.
    pub(super) fn keep(&self) {
        self.is_kept.store(true, Ordering::Relaxed);
    }

    /// Forgets all that is known.
    pub(super) fn forget(&self) {
        self.kinds.lock().clear();
        self.non_commits.lock().clear();
        self.has_non_commit_claims.store(false, Ordering::Relaxed);
    }

    /// Returns the known type of the object `id`.
    pub(super) fn kind(&self, id: &oid) -> Option<Kind> {
        if !self.is_kept.load(Ordering::Relaxed) {
            return None;
        }
        self.kinds.lock().get(id).copied()
    }

    /// Notes that the object `id` is of the type `kind`.
    ///
    /// # Errors
    /// The other type that it was known to have.
    pub(super) fn note(&self, id: &oid, kind: Kind) -> Result<(), Kind> {
        if !self.is_kept.load(Ordering::Relaxed) {
            return Ok(());
        }
        let mut kinds = self.kinds.lock();
        if kinds.len() >= KINDS_MAX {
            kinds.clone_from(&self.non_commits.lock());
        }
        let known = *kinds.entry(id.to_owned()).or_insert(kind);
        if known == kind { Ok(()) } else { Err(known) }
    }

    /// Notes that a tag claims the object `id` to be of the type `kind`.
    ///
    /// # Errors
    /// As for [`Self::note`].
    pub(super) fn note_claim(&self, id: &oid, kind: Kind) -> Result<(), Kind> {
        self.note(id, kind)?;
        if kind != Kind::Commit && self.is_kept.load(Ordering::Relaxed) {
            self.non_commits.lock().insert(id.to_owned(), kind);
            self.has_non_commit_claims.store(true, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Whether any tag claimed that an object is not a commit.
    pub(super) fn has_non_commit_claims(&self) -> bool {
        self.has_non_commit_claims.load(Ordering::Relaxed)
    }

    /// Returns the type, other than a commit, that a tag claimed for the object `id`.
    pub(super) fn claimed_kind(&self, id: &oid) -> Option<Kind> {
        match self.has_non_commit_claims() {
            true => self.non_commits.lock().get(id).copied(),
            false => None,
        }
    }
}
