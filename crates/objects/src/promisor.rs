//! Who has objects that are not here.

use std::fmt::Debug;

use gix_hash::oid;

use super::error::Reason;

/// Fetches objects that a partial clone left out.
pub trait FetchMissing: Debug + Send + Sync {
    /// Has `id` fetched from the first remote that gives it; `false` where none does. Whether the object is there now shows
    /// when it is looked for. Adds to `said` what git says, line by line.
    ///
    /// # Errors
    /// git ends.
    fn fetch(&self, id: &oid, said: &mut Vec<String>) -> Result<bool, Reason>;
}
