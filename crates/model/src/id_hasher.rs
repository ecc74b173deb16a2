//! Tables by the ids of objects.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use gix_hash::ObjectId;

/// What is known of objects, by their ids.
pub type ById<T> = HashMap<ObjectId, T, BuildHasherDefault<IdHasher>>;

/// Ids are evenly spread already: their first bytes are hash enough.
#[derive(Default)]
pub struct IdHasher(u64);

impl Hasher for IdHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        if let Some(first) = bytes.first_chunk::<8>() {
            self.0 = u64::from_le_bytes(*first);
        }
    }
}
