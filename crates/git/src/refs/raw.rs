//! The value of a reference.

use bstr::BString;
use gix_hash::ObjectId;

/// The value of a reference, before any symbolic reference is followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Raw {
    /// An object.
    Direct(ObjectId),
    /// The name of another reference.
    Symbolic(BString),
    /// There is no such reference.
    Missing,
    /// The reference exists, but is invalid.
    Broken,
    /// Something is there that cannot be read. To git that is no invalid reference, so it says nothing of it.
    Unreadable,
}
