//! The source of tree objects.

use gix_hash::oid;

use super::error::SourceError;
use crate::objects::{self, Objects, TREE_DEPTH_MAX};

/// A source of tree objects.
pub trait TreeSource {
    /// Replaces the contents of `buf` by those of the tree `id`; false if there is no such object.
    ///
    /// # Errors
    /// It cannot be read.
    fn tree(&self, id: &oid, buf: &mut Vec<u8>) -> Result<bool, SourceError>;

    /// The limit on how deep directories may nest (`core.maxTreeDepth`).
    fn depth_max(&self) -> i64 {
        TREE_DEPTH_MAX
    }
}

impl TreeSource for Objects {
    fn depth_max(&self) -> i64 {
        self.tree_depth_max()
    }

    fn tree(&self, id: &oid, buf: &mut Vec<u8>) -> Result<bool, SourceError> {
        match Self::tree(self, id, buf) {
            Ok(()) => Ok(true),
            Err(objects::Error::MissingTree { .. }) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}
