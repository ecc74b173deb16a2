//! What a reference holds.

use bstr::BString;
use gix_hash::ObjectId;

/// What a reference holds, before any symbolic reference is followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Raw {
    /// An object.
    Direct(ObjectId),
    /// The name of another reference.
    Symbolic(BString),
    /// There is no such reference.
    Missing,
    /// There is one, but it makes no sense.
    Broken,
}
