//! Where objects that are missing here can be fetched.

use std::fmt::Debug;

use gix_hash::ObjectId;

use super::error::Reason;

/// Fetches objects that a partial clone left out.
pub trait FetchMissing: Debug + Send + Sync {
    /// Fetches the objects `ids` from one remote after the other, until none `is_missing`. Returns those that no remote has.
    /// git's messages are appended to `messages`, line by line.
    ///
    /// # Errors
    /// git exits.
    fn fetch(
        &self,
        ids: Vec<ObjectId>,
        is_missing: &mut dyn FnMut(&ObjectId) -> bool,
        messages: &mut Vec<String>,
    ) -> Result<Vec<ObjectId>, Reason>;
}
