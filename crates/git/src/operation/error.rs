//! Why the operation in progress is not known.

use bstr::BString;
use vigil_linux::errno;
use vigil_model::raw_text::raw;

use crate::refs;

/// Why the operation in progress could not be detected.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A reference or its log cannot be read.
    #[error(transparent)]
    Refs(#[from] refs::Error),
    /// An object cannot be read.
    #[error(transparent)]
    Objects(#[from] crate::objects::Error),
    /// A configured value is invalid.
    #[error(transparent)]
    Config(#[from] crate::config::Error),
    /// A list of commands cannot be opened.
    #[error(
        "Could not open file {} for reading: {}",
        raw(path),
        errno::text_of(reason)
    )]
    Commands {
        /// The file, as git names it.
        path: BString,
        /// The reason.
        reason: std::io::Error,
    },
}
