//! Why HEAD and the index cannot be compared.

use bstr::BString;
use gix_hash::ObjectId;

/// Why an object could not be read, as its source says it.
pub type SourceError = Box<dyn std::error::Error + Send + Sync>;

/// Why HEAD and the index cannot be compared. The text is git's own, without "fatal: ".
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A tree object does not exist.
    #[error("unable to read tree ({id})")]
    Missing {
        /// The tree.
        id: ObjectId,
        /// Its directory, with a `/` at its end; empty at the top.
        path: BString,
    },
    /// A tree object cannot be read.
    #[error("unable to read tree ({id})")]
    Unreadable {
        /// The tree.
        id: ObjectId,
        /// Its directory, with a `/` at its end; empty at the top.
        path: BString,
        /// The source's error.
        source: SourceError,
    },
    /// A tree object is malformed.
    #[error("{reason}")]
    Corrupt {
        /// The tree.
        id: ObjectId,
        /// git's error text.
        reason: &'static str,
    },
    /// Directories nest deeper than git allows (`core.maxTreeDepth`).
    #[error("exceeded maximum allowed tree depth")]
    TooDeep {
        /// The first tree that was not read, or the object in HEAD that differs there.
        id: ObjectId,
    },
    /// The same inside a directory that is one entry of a sparse index, where git counts the depth from that directory.
    #[error("exceeded maximum allowed tree depth")]
    TooDeepInOneEntry {
        /// A path that differs in it.
        path: BString,
    },
    /// There are more changes than any repository has files. git goes on until it has no memory left.
    #[error("Out of memory, too many files differ")]
    TooMany,
}
