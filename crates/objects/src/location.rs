//! Where objects are.

use gix_hash::{ObjectId, oid};
use gix_object::Kind;

/// Where an object was found. It stays valid for as long as the store lives, unless the file is removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Location {
    pub(super) id: ObjectId,
    /// The number of the folder that it is in.
    pub(super) dir: u32,
    pub(super) place: ObjectPlace,
}

/// Where an object is in a folder of objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ObjectPlace {
    Packed {
        pack: u32,
        offset: u64,
    },
    Loose,
    /// The tree without entries exists even if nobody wrote it.
    EmptyTree,
}

impl Location {
    /// The id of the object.
    pub fn id(&self) -> &oid {
        &self.id
    }

    /// Whether an object of this type with these contents has the id by which it was found.
    pub fn is_of(&self, kind: Kind, contents: &[u8]) -> bool {
        gix_object::compute_hash(self.id.kind(), kind, contents).is_ok_and(|id| id == self.id)
    }

    /// Whether the object is loose: in a file of its own.
    pub fn is_loose(&self) -> bool {
        self.place == ObjectPlace::Loose
    }
}
