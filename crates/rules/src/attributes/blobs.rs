//! What is recorded of files of attributes.

use std::sync::Arc;

use bstr::BStr;

/// Blobs by their path: of the index (stage 0, else stage 2) or of a tree.
pub trait IndexBlobs: Send + Sync {
    /// The contents recorded for `path`, if it is there and is a blob.
    fn blob(&self, path: &BStr) -> Option<Vec<u8>>;
}

/// What is recorded, as of one request.
#[derive(Clone)]
pub struct Blobs {
    /// The index.
    pub index: Arc<dyn IndexBlobs>,
    /// The tree that `attr.tree` names: then no `.gitattributes` file of working tree or index counts.
    pub tree: Option<Arc<dyn IndexBlobs>>,
}
