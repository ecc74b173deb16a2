//! The value of a reference in a table.

use bstr::BString;
use gix_hash::ObjectId;

use crate::refs::raw::Raw;

/// The value of a reference in a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    /// It was deleted.
    Deleted,
    /// An object, normally not a tag. But git records no peeled ids when it migrates all references from files.
    Direct(ObjectId),
    /// A tag object, and the object that it finally leads to.
    Peeled(ObjectId, ObjectId),
    /// Another reference.
    Symbolic(BString),
}

impl Value {
    /// The value as readers of references see it.
    pub(crate) fn raw(&self) -> Raw {
        match self {
            Self::Deleted => Raw::Missing,
            Self::Direct(id) | Self::Peeled(id, _) => Raw::Direct(*id),
            Self::Symbolic(target) => Raw::Symbolic(target.clone()),
        }
    }
}
