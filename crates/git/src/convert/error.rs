//! Why the recorded form of a file is not known.

use std::io;

use bstr::BString;
use vigil_linux::errno;

use crate::config;
use vigil_model::raw_text::raw;

/// Why the recorded form of a file is not known. The text is git's own, without "fatal: " or "error: ".
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A required filter failed: git ends here.
    #[error("{path}: clean filter '{filter}' failed", path = raw(path), filter = raw(filter))]
    RequiredFilter {
        /// The file.
        path: BString,
        /// The filter's name.
        filter: BString,
    },
    /// A required filter failed on the way to the working tree: git ends here.
    #[error("{path}: smudge filter {filter} failed", path = raw(path), filter = raw(filter))]
    RequiredSmudge {
        /// The file.
        path: BString,
        /// The filter's name.
        filter: BString,
    },
    /// The attribute `working-tree-encoding` without a value: git ends here.
    #[error("true/false are no valid working-tree-encodings")]
    NoEncoding,
    /// A setting of a filter: git ends here.
    #[error(transparent)]
    Config(#[from] config::Error),
    /// A filter process does not keep to the protocol: git ends here.
    #[error("{0}")]
    Protocol(String),
    /// A filter would have to run, and none may in this process.
    #[error("the filter '{}' is not run here", raw(.0))]
    NotHere(BString),
    /// The file cannot be read: git says so, and takes it as changed.
    #[error("read error while indexing {path}: {}", errno::text_of(source), path = raw(path))]
    Read {
        /// The file.
        path: BString,
        /// Why.
        source: io::Error,
    },
    /// The file ends before its size: git says so, and takes it as changed.
    #[error("short read while indexing {}", raw(.0))]
    ShortRead(BString),
}

impl Error {
    /// Whether git goes on after it.
    pub fn is_about_reading(&self) -> bool {
        matches!(self, Self::Read { .. } | Self::ShortRead(_))
    }
}
