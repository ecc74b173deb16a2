//! The attributes files that are recorded in the index or in a tree.

use std::sync::Arc;

use bstr::BStr;

/// Blobs by path, from the index (stage 0, else stage 2) or from a tree.
pub trait IndexBlobs: Send + Sync {
    /// Returns the contents recorded for `path`, if that is a blob.
    fn blob(&self, path: &BStr) -> Option<Vec<u8>>;
}

/// The recorded attributes files, as of one request.
#[derive(Clone)]
pub struct Blobs {
    /// The index.
    pub index: Arc<dyn IndexBlobs>,
    /// The tree that `attr.tree` names. If there is one, no `.gitattributes` file of the working tree
    /// or the index counts.
    pub tree: Option<Arc<dyn IndexBlobs>>,
}
