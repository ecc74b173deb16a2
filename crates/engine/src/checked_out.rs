//! The commit that is checked out.

use bstr::BStr;
use gix_hash::ObjectId;
use vigil_git::refs::Refs;
use vigil_git::repository::{Repository, submodule_references};

/// Returns the commit that is checked out in the repository at `path`, whether or not that is a
/// submodule.
pub(crate) fn checked_out(parent: &Repository, path: &BStr) -> Option<ObjectId> {
    let repository = submodule_references(parent, path).ok()??;
    Refs::open(&repository).head().ok()?.commit()
}
