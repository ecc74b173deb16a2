//! Looking up a path in a tree.

use bstr::BStr;
use gix_hash::{ObjectId, oid};
use vigil_objects::tree::{Step, look_up};

use super::{Error, Objects};

impl Objects {
    /// Finds the object at `path` in the tree `tree`; `None` if there is none.
    ///
    /// # Errors
    /// A tree on the way is missing or damaged, or is of another type.
    pub fn find_in_tree(&self, tree: &oid, path: &BStr) -> Result<Option<ObjectId>, Error> {
        let mut id = tree.to_owned();
        let mut rest: &[u8] = path;
        let mut buf = Vec::new();
        loop {
            self.tree(&id, &mut buf)?;
            let step = look_up(&buf, rest, self.hash_kind()).map_err(Error::MalformedTree)?;
            match step {
                Step::Missing => return Ok(None),
                Step::Found(id, _) => return Ok(Some(id)),
                Step::Below(tree, below) => (id, rest) = (tree, below),
            }
        }
    }
}
