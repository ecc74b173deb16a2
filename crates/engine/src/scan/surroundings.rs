//! What a scan asks of the repository around it.

use std::fs::File;

use bstr::{BStr, BString};
use vigil_model::ObjectId;

/// What a scan asks of the repository around it, from many threads.
pub trait Surroundings: Sync {
    /// Whether `file`, of `size` bytes and found at `path`, would be added as the blob `recorded`.
    fn is_unchanged(
        &self,
        path: &BStr,
        file: File,
        size: u64,
        recorded: &ObjectId,
    ) -> Result<bool, ContentError>;

    /// What decides how the contents of the file at `path` are converted before they are compared: where it is
    /// another value than before, so may be the verdict. `None` where that cannot be said.
    fn conversion(&self, path: &BStr) -> Option<u64>;

    /// How many warnings there were so far: where one comes up, it must the next time, too.
    fn told(&self) -> usize;

    /// Whether a symbolic link to `target` would be added as the blob `recorded`.
    fn is_unchanged_link(&self, target: &[u8], recorded: &ObjectId) -> bool;

    /// The contents of the blob `id`, an ignore file that is not checked out.
    fn blob(&self, id: &ObjectId) -> Option<Vec<u8>>;

    /// Whether the directory at `path` is the top of another repository's working tree.
    fn is_repository(&self, path: &BStr) -> bool;

    /// Whether the directory at `path` is the top of a working tree in which a commit is checked out.
    fn has_commit(&self, path: &BStr) -> bool;
}

/// Why contents could not be compared: a filter that must not fail did, and the text is git's; or the system refused for
/// a reason that says nothing of the file.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ContentError(pub BString);
