//! What a table records for a reference.

use bstr::BString;
use gix_hash::ObjectId;

use crate::refs::raw::Raw;

/// The record of a reference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    /// It was deleted.
    Deleted,
    /// It points to an object: as a rule none that is a tag, but who moves all references from files says of none.
    Direct(ObjectId),
    /// It points to a tag object, and that to another object in the end.
    Peeled(ObjectId, ObjectId),
    /// It points to another reference.
    Symbolic(BString),
}

impl Value {
    /// What a reader sees of it.
    pub(crate) fn raw(&self) -> Raw {
        match self {
            Self::Deleted => Raw::Missing,
            Self::Direct(id) | Self::Peeled(id, _) => Raw::Direct(*id),
            Self::Symbolic(target) => Raw::Symbolic(target.clone()),
        }
    }
}
