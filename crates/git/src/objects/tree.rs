//! Looking up a path in a tree.

use bstr::{BStr, ByteSlice};
use gix_hash::{ObjectId, oid};
use gix_object::TreeRefIter;

use super::{Error, Objects};

impl Objects {
    /// Finds the object at `path` in the tree `tree`; `None` if there is none.
    ///
    /// # Errors
    /// A tree on the way is missing or damaged, or is of another type.
    pub fn find_in_tree(&self, tree: &oid, path: &BStr) -> Result<Option<ObjectId>, Error> {
        let mut id = tree.to_owned();
        let mut buf = Vec::new();
        for name in path.split_str("/") {
            self.tree(&id, &mut buf)?;
            let entries = TreeRefIter::from_bytes(&buf, self.hash_kind());
            let found = entries
                .filter_map(Result::ok)
                .find(|entry| entry.filename == name);
            match found {
                Some(entry) => id = entry.oid.to_owned(),
                None => return Ok(None),
            }
        }
        Ok(Some(id))
    }
}
