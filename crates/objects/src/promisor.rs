//! Where objects that are missing here can be fetched.

use std::fmt::Debug;

use gix_hash::oid;

use super::error::Reason;

/// Fetches objects that a partial clone left out.
pub trait FetchMissing: Debug + Send + Sync {
    /// Fetches `id` from the first remote that has it; returns `false` if none does. Whether the object is there now is
    /// found out by the next lookup. git's messages are appended to `messages`, line by line.
    ///
    /// # Errors
    /// git exits.
    fn fetch(&self, id: &oid, messages: &mut Vec<String>) -> Result<bool, Reason>;
}
