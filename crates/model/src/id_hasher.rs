//! Hash maps keyed by object id.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use gix_hash::ObjectId;

/// A map from object ids to values.
pub type ById<T> = HashMap<ObjectId, T, BuildHasherDefault<IdHasher>>;

/// A hasher that uses the first eight bytes of an id, since ids are evenly distributed already.
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
