//! Object ids of blobs, made with the processor's own instructions where it has them.
//!
//! SHA-1 is computed without the collision detection that git has: a file made to collide gets an id here where
//! git refuses.

use gix_hash::{Kind, ObjectId};
use sha1::{Digest, Sha1};
use sha2::Sha256;

/// Hashes one blob whose length is known beforehand.
#[derive(Debug)]
pub(super) struct BlobHasher(State);

#[derive(Debug)]
enum State {
    Sha1(Sha1),
    Sha256(Sha256),
}

impl BlobHasher {
    /// Begins a blob of `size` bytes.
    pub(super) fn new(kind: Kind, size: u64) -> Self {
        let state = match kind {
            Kind::Sha256 => State::Sha256(Sha256::new()),
            _ => State::Sha1(Sha1::new()),
        };
        let mut hasher = Self(state);
        hasher.update(format!("blob {size}\0").as_bytes());
        hasher
    }

    /// Adds bytes of the contents.
    pub(super) fn update(&mut self, bytes: &[u8]) {
        match &mut self.0 {
            State::Sha1(state) => state.update(bytes),
            State::Sha256(state) => state.update(bytes),
        }
    }

    /// The blob's id.
    pub(super) fn finish(self) -> ObjectId {
        match self.0 {
            State::Sha1(state) => ObjectId::Sha1(state.finalize().into()),
            State::Sha256(state) => ObjectId::Sha256(state.finalize().into()),
        }
    }
}

/// The id of a blob of these contents.
pub(super) fn hash(kind: Kind, contents: &[u8]) -> ObjectId {
    let mut hasher = BlobHasher::new(kind, contents.len() as u64);
    hasher.update(contents);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_empty_blob_has_its_well_known_ids() {
        assert_eq!(
            hash(Kind::Sha1, b"").to_string(),
            "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"
        );
        assert_eq!(
            hash(Kind::Sha256, b"").to_string(),
            "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813"
        );
    }
}
