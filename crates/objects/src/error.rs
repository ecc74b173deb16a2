//! Why an object cannot be read.

use bstr::BString;
use gix_hash::ObjectId;

use super::inflate::InflateError;
use vigil_model::raw_text::raw;

/// Why an object cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("{reason}")]
pub struct Error {
    /// The messages that git prints before, line by line, with "error: " or "warning: ".
    pub messages: Vec<String>,
    /// The reason.
    pub reason: Reason,
}

impl Error {
    /// Whether git exits with the reason as its fatal error. Otherwise it goes on as if the object did not exist.
    pub fn is_fatal(&self) -> bool {
        !matches!(self.reason, Reason::Missing { .. })
    }
}

/// The reason of an [`Error`]. If git exits, this is git's text without "fatal: ".
#[derive(Debug, thiserror::Error)]
pub enum Reason {
    /// There is no usable copy of the object.
    #[error("bad object {id}")]
    Missing {
        /// The object.
        id: ObjectId,
    },
    /// The loose object's file is damaged.
    #[error("loose object {id} (stored in {path}) is corrupt")]
    CorruptLoose {
        /// The object.
        id: ObjectId,
        /// Its file.
        path: String,
    },
    /// The object is damaged in a pack, and there is no other copy.
    #[error("packed object {id} (stored in {path}) is corrupt")]
    CorruptPacked {
        /// The object.
        id: ObjectId,
        /// The pack.
        path: String,
    },
    /// The loose object's header has a type that git does not know.
    #[error("invalid object type")]
    InvalidType,
    /// A part of the object was handed on, and the rest is damaged.
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
    /// There is too little memory to map the pack.
    #[error("packfile {pack} cannot be mapped: {text}")]
    NotMapped {
        /// The pack.
        pack: String,
        /// The system's reason.
        text: String,
    },
    /// The system failed at a folder or an index while all objects were listed. The messages name it.
    #[error("not all objects can be listed")]
    NotListed,
    /// A position is outside of a pack's index.
    #[error("offset beyond end of pack index for {pack} (truncated index?)")]
    BeyondIndex {
        /// The pack.
        pack: String,
    },
    /// A multi-pack-index is invalid.
    #[error("{text}")]
    Midx {
        /// git's words.
        text: String,
    },
    /// A file that has a length cannot be mapped, because it is a directory.
    #[error("mmap failed: {0}")]
    Map(String),
    /// A size does not fit into 64 bits.
    #[error("size_t overflow: {0} {1} {2}")]
    SizeOverflow(u64, char, u64),
    /// A promisor remote is badly configured.
    #[error("{text}")]
    BadPromisor {
        /// git's words.
        text: String,
    },
    /// git could not be run to fetch the object.
    #[error("cannot run git to fetch {id} from promisor remote '{remote}': {text}", remote = raw(remote))]
    NotRun {
        /// The object.
        id: ObjectId,
        /// The remote's name.
        remote: BString,
        /// The system's reason.
        text: String,
    },
    /// The object was promised, but no remote has it.
    #[error("could not fetch {id} from promisor remote")]
    NotFetched {
        /// The object.
        id: ObjectId,
    },
    /// There is too little memory for an object.
    #[error("Out of memory, malloc failed (tried to allocate {len} bytes)")]
    NoMemory {
        /// How many bytes git asks for.
        len: u64,
    },
    /// The object is too large to be put together in memory.
    #[error("object {id} is too large")]
    TooLarge {
        /// The object.
        id: ObjectId,
    },
}

impl Reason {
    /// There is no memory for contents of `len` bytes, for which git asks with a NUL at their end.
    pub(super) fn no_memory(len: usize) -> Self {
        let len = (len as u64).saturating_add(1);
        Self::NoMemory { len }
    }

    /// Whether a missing object could not be fetched. Each attempt may start git, ask a remote and write to standard error.
    pub fn is_of_fetching(&self) -> bool {
        matches!(
            self,
            Self::BadPromisor { .. } | Self::NotRun { .. } | Self::NotFetched { .. }
        )
    }
}

/// Makes an error of a reason and of git's messages before it.
pub(super) fn error(messages: &mut Vec<String>) -> impl FnOnce(Reason) -> Error + '_ {
    |reason| Error {
        messages: std::mem::take(messages),
        reason,
    }
}

/// The trouble with one copy of an object.
#[derive(Debug)]
pub(super) enum CopyError {
    /// The copy is damaged; there may be others.
    Damaged,
    /// Its bases are damaged. They begin at these offsets of the pack; the first of them with a sound copy elsewhere is
    /// enough.
    DamagedBases(Vec<u64>),
    /// git exits.
    Fatal(Reason),
}

impl From<InflateError> for CopyError {
    fn from(failed: InflateError) -> Self {
        match failed {
            InflateError::Damaged => Self::Damaged,
            InflateError::Truncated => Self::Fatal(Reason::BeyondPack),
            InflateError::NoMemory(len) => Self::Fatal(Reason::no_memory(len)),
        }
    }
}

impl From<Reason> for CopyError {
    fn from(reason: Reason) -> Self {
        Self::Fatal(reason)
    }
}
