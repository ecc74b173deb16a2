//! Files as they were when they were read.

use std::path::PathBuf;

use vigil_model::timestamp::Timestamp;

use crate::stamp::Stamp;

/// A file as it was when it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenFile {
    /// Where it is.
    pub path: PathBuf,
    /// Its stamp when it was open; `None` where there was none.
    pub stamp: Option<Stamp>,
}

impl SeenFile {
    /// Whether the file is still the one that was read at `read_at`. A file written just before that counts as changed.
    pub fn is_current(&self, read_at: Timestamp) -> bool {
        let is_young = self
            .stamp
            .is_some_and(|stamp| stamp.is_written_since(read_at));
        !is_young && self.is_same()
    }

    /// Whether the file has the same stamp now, or is still missing.
    pub fn is_same(&self) -> bool {
        Stamp::of(&self.path).is_ok_and(|now| now == self.stamp)
    }
}
