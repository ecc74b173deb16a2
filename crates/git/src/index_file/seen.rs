//! The files of an index, as they were when they were read.

use std::path::Path;

use bstr::BString;
use vigil_model::timestamp::Timestamp;

pub use vigil_stamp::SeenFile;

/// The files that an index was read from, and what they contain besides the entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexFile {
    /// The index itself. Its mtime is what the racy rule compares entries with.
    pub own: SeenFile,
    /// The shared index, if the index is split.
    pub shared: Option<SeenFile>,
    /// Whether it was written as a sparse index, in which one entry may stand for a directory.
    pub is_sparse: bool,
    /// What git would write to stderr, without a prefix.
    pub notices: Vec<String>,
    /// Where the untracked cache was made, if there is one: working tree and system, as one sentence.
    pub untracked_cache_origin: Option<BString>,
    /// A time before the files were read.
    pub read_at: Timestamp,
}

impl IndexFile {
    /// Describes an index at `path` that does not exist.
    pub(super) fn absent(path: &Path, read_at: Timestamp) -> Self {
        Self {
            own: SeenFile::absent(path.to_owned()),
            shared: None,
            is_sparse: false,
            notices: Vec::new(),
            untracked_cache_origin: None,
            read_at,
        }
    }

    /// Whether there was an index.
    pub fn exists(&self) -> bool {
        self.own.stamp.is_some()
    }

    /// The mtime of the index file, or the epoch if there is none: the `index_written_at` of the racy rule.
    pub fn written_at(&self) -> Timestamp {
        self.own
            .stamp
            .map_or(Timestamp::default(), |stamp| stamp.mtime())
    }

    /// Whether both files are still those that were read: one `stat(2)` each. The answer may be no without
    /// reason for files that were written just before they were read; reading them again later cures that.
    pub fn is_current(&self) -> bool {
        self.files().all(|file| file.is_current(self.read_at))
    }

    /// Whether the stamps of both files are from before `time`.
    pub fn is_entirely_before(&self, time: Timestamp) -> bool {
        self.files()
            .filter_map(|file| file.stamp)
            .all(|stamp| stamp.is_entirely_before(time))
    }

    fn files(&self) -> impl Iterator<Item = &SeenFile> {
        [&self.own].into_iter().chain(&self.shared)
    }
}
