//! Computes ids of blobs, as fast as the machine allows.

use gix_hash::{Kind, ObjectId};
use sha1::Digest;

/// Returns the id of `content` as a blob.
pub fn hash_blob(kind: Kind, content: &[u8]) -> ObjectId {
    let mut hasher = BlobHasher::new(kind, content.len() as u64);
    hasher.update(content);
    hasher.finish()
}

/// Computes the id of a blob whose contents come in pieces.
///
/// SHA-1 is used without detection of collisions. git detects contents that were made to collide and refuses
/// them; here they get an id, which at worst is the recorded one.
#[derive(Clone)]
pub struct BlobHasher(Inner);

#[derive(Clone)]
enum Inner {
    Sha1(sha1::Sha1),
    Other(gix_hash::Hasher, Kind),
}

impl std::fmt::Debug for BlobHasher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("BlobHasher")
    }
}

impl BlobHasher {
    /// A hasher for a blob of `size` bytes. If the pieces have another length in total, the id is
    /// meaningless.
    pub fn new(kind: Kind, size: u64) -> Self {
        let mut hasher = Self(match kind {
            Kind::Sha1 => Inner::Sha1(sha1::Sha1::new()),
            other => Inner::Other(gix_hash::hasher(other), other),
        });
        hasher.update(b"blob ");
        hasher.update(size.to_string().as_bytes());
        hasher.update(b"\0");
        hasher
    }

    /// Adds the next piece.
    #[inline]
    pub fn update(&mut self, piece: &[u8]) {
        match &mut self.0 {
            Inner::Sha1(hasher) => hasher.update(piece),
            Inner::Other(hasher, _) => hasher.update(piece),
        }
    }

    /// Returns the id of the blob.
    pub fn finish(self) -> ObjectId {
        match self.0 {
            Inner::Sha1(hasher) => ObjectId::Sha1(hasher.finalize().into()),
            // Only SHA-1 has collisions that are refused.
            Inner::Other(hasher, kind) => hasher.try_finalize().unwrap_or_else(|_| kind.null()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vigil_testkit::sandbox::Sandbox;

    #[test]
    fn ids_are_those_of_git() {
        let sandbox = Sandbox::new();
        for (kind, name) in [(Kind::Sha1, "sha1"), (Kind::Sha256, "sha256")] {
            sandbox.git(["init", "-q", &format!("--object-format={name}"), name]);
            for content in [b"".as_slice(), b"hello\n", &[7; 100_000]] {
                let git = sandbox.output(name, ["hash-object", "--stdin"], content);
                let git = String::from_utf8(git.stdout).unwrap().trim_end().to_owned();
                assert_eq!(hash_blob(kind, content).to_string(), git);
                let mut hasher = BlobHasher::new(kind, content.len() as u64);
                for piece in content.chunks(1000) {
                    hasher.update(piece);
                }
                assert_eq!(hasher.finish().to_string(), git);
            }
        }
    }
}
