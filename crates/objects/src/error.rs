//! Why an object cannot be had.

use bstr::BString;
use gix_hash::ObjectId;

use super::inflate::Failed;
use vigil_model::raw_text::raw;

/// Why an object cannot be had.
#[derive(Debug, thiserror::Error)]
#[error("{reason}")]
pub struct Error {
    /// What git says before, line by line, with "error: " or "warning: ".
    pub said: Vec<String>,
    /// The reason.
    pub reason: Reason,
}

impl Error {
    /// Whether git ends, with the reason as its last words. Else it goes on as if there were no such object.
    pub fn is_fatal(&self) -> bool {
        !matches!(self.reason, Reason::Missing { .. })
    }
}

/// The reason of an [`Error`]: git's text without "fatal: ", where git ends.
#[derive(Debug, thiserror::Error)]
pub enum Reason {
    /// There is no usable copy of it.
    #[error("bad object {id}")]
    Missing {
        /// The object.
        id: ObjectId,
    },
    /// Its file is damaged.
    #[error("loose object {id} (stored in {path}) is corrupt")]
    CorruptLoose {
        /// The object.
        id: ObjectId,
        /// Its file.
        path: String,
    },
    /// It is damaged in a pack, and there is no other copy.
    #[error("packed object {id} (stored in {path}) is corrupt")]
    CorruptPacked {
        /// The object.
        id: ObjectId,
        /// The pack.
        path: String,
    },
    /// Its file says that it is something else than git knows.
    #[error("invalid object type")]
    InvalidType,
    /// A part of it was handed on, and the rest is damaged.
    #[error("unable to stream {id} to stdout")]
    Stream {
        /// The object.
        id: ObjectId,
    },
    /// The pack cannot be opened any more.
    #[error("packfile {pack} cannot be accessed")]
    NoAccess {
        /// The pack.
        pack: String,
    },
    /// An offset is outside of its pack.
    #[error("offset beyond end of packfile (truncated pack?)")]
    BeyondPack,
    /// A place is outside of a pack's index.
    #[error("offset beyond end of pack index for {pack} (truncated index?)")]
    BeyondIndex {
        /// The pack.
        pack: String,
    },
    /// A multi-pack-index makes no sense.
    #[error("{text}")]
    Midx {
        /// git's words.
        text: String,
    },
    /// A file that has a length cannot be mapped: a folder is in its place.
    #[error("mmap failed: {0}")]
    Map(String),
    /// A size has more digits than there can be.
    #[error("size_t overflow: {0} {1} {2}")]
    SizeOverflow(u64, char, u64),
    /// A promisor remote is badly configured.
    #[error("{text}")]
    BadPromisor {
        /// git's words.
        text: String,
    },
    /// git cannot be run to fetch it.
    #[error("cannot run git to fetch {id} from promisor remote '{remote}': {text}", remote = raw(remote))]
    NotRun {
        /// The object.
        id: ObjectId,
        /// The remote's name.
        remote: BString,
        /// The system's reason.
        text: String,
    },
    /// It was promised, and no remote gives it.
    #[error("could not fetch {id} from promisor remote")]
    NotFetched {
        /// The object.
        id: ObjectId,
    },
    /// It is too large to be put together in memory.
    #[error("object {id} is too large")]
    TooLarge {
        /// The object.
        id: ObjectId,
    },
}

/// A reason with what git said before.
pub(super) fn error(said: &mut Vec<String>) -> impl FnOnce(Reason) -> Error + '_ {
    |reason| Error {
        said: std::mem::take(said),
        reason,
    }
}

/// What is wrong with one copy of an object.
#[derive(Debug)]
pub(super) enum Trouble {
    /// It is damaged; there may be others.
    Damaged,
    /// It rests on damaged ones. They begin at these offsets of the pack; the first one that can be had elsewhere helps.
    Bases(Vec<u64>),
    /// git ends.
    Fatal(Reason),
}

impl From<Failed> for Trouble {
    fn from(failed: Failed) -> Self {
        match failed {
            Failed::Damaged => Self::Damaged,
            Failed::Ended => Self::Fatal(Reason::BeyondPack),
        }
    }
}

impl From<Reason> for Trouble {
    fn from(reason: Reason) -> Self {
        Self::Fatal(reason)
    }
}
