//! Objects whose ids start alike.

use std::collections::HashSet;

use bstr::{BStr, ByteSlice};
use gix_hash::{ObjectId, Prefix};

use super::{Error, Objects, guarded};

impl Objects {
    /// The objects whose ids start with the hexadecimal `digits`, four of them or more, in order. What was added
    /// meanwhile is looked for where nothing is found.
    pub(crate) fn starting_with(&self, digits: &BStr) -> Result<Vec<ObjectId>, Error> {
        let Some(prefix) = prefix_of(digits, self.places.hash) else {
            return Ok(Vec::new());
        };
        let found = self.all_with(prefix);
        if !found.is_empty() {
            return Ok(found);
        }
        let stores = self.places.open()?;
        self.stores.replace(stores);
        Ok(self.all_with(prefix))
    }

    /// As [`Self::starting_with`], of what is known without looking again.
    pub(crate) fn all_starting_with(&self, digits: &BStr) -> Vec<ObjectId> {
        let prefix = prefix_of(digits, self.places.hash);
        prefix
            .map(|prefix| self.all_with(prefix))
            .unwrap_or_default()
    }

    fn all_with(&self, prefix: Prefix) -> Vec<ObjectId> {
        let mut found = HashSet::new();
        for store in self.stores.borrow().iter() {
            // A store that cannot be read adds none, as for git.
            let _ = guarded(|| {
                store
                    .lookup_prefix(prefix, Some(&mut found))
                    .map_err(|error| error.to_string())
            });
        }
        let mut found: Vec<ObjectId> = found.into_iter().collect();
        found.sort_unstable();
        found
    }
}

/// The prefix of an id of the kind `hash`: the digits alone do not tell the kind.
fn prefix_of(digits: &BStr, hash: gix_hash::Kind) -> Option<Prefix> {
    let missing = hash.len_in_hex().checked_sub(digits.len())?;
    let padded = [digits.as_bytes(), &vec![b'0'; missing]].concat();
    let id = ObjectId::from_hex(&padded).ok()?;
    Prefix::new(&id, digits.len()).ok()
}
