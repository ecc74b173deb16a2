//! Why the recorded form of a file could not be determined.

use std::io;

use bstr::BString;
use vigil_linux::errno;

use vigil_git::config;
use vigil_model::raw_text::raw;

/// Why the recorded form of a file could not be determined. The text is git's own, without "fatal: " or "error: ".
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A required filter failed: git exits.
    #[error("{path}: clean filter '{filter}' failed", path = raw(path), filter = raw(filter))]
    RequiredFilter {
        /// The file.
        path: BString,
        /// The filter's name.
        filter: BString,
    },
    /// A required filter failed on the way to the working tree: git exits.
    #[error("{path}: smudge filter {filter} failed", path = raw(path), filter = raw(filter))]
    RequiredSmudge {
        /// The file.
        path: BString,
        /// The filter's name.
        filter: BString,
    },
    /// The attribute `working-tree-encoding` has no value: git exits.
    #[error("true/false are no valid working-tree-encodings")]
    NoEncoding,
    /// A setting of a filter is invalid: git exits.
    #[error(transparent)]
    Config(#[from] config::Error),
    /// A filter process violates the protocol: git exits.
    #[error("{0}")]
    Protocol(String),
    /// A filter would have to run, but none may run in this process.
    #[error("the filter '{}' is not run here", raw(.0))]
    FilterRefused(BString),
    /// The file cannot be read: git reports it, and treats the file as changed.
    #[error("read error while indexing {path}: {}", errno::text_of(source), path = raw(path))]
    Read {
        /// The file.
        path: BString,
        /// The error.
        source: io::Error,
    },
    /// The file is shorter than its size says: git reports it, and treats the file as changed.
    #[error("short read while indexing {}", raw(.0))]
    ShortRead(BString),
}

impl Error {
    /// Whether git goes on after this error.
    pub fn is_about_reading(&self) -> bool {
        matches!(self, Self::Read { .. } | Self::ShortRead(_))
    }
}
