//! Why reftables could not be read.

use std::path::PathBuf;

use vigil_linux::errno;
use vigil_model::raw_text::raw_path;

/// Why a stack of reftables could not be read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file that cannot be read.
    #[error("unable to read {}: {}", raw_path(path), errno::text_of(source))]
    Read {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: std::io::Error,
    },
    /// A file whose contents break the format.
    #[error("reftable {} is corrupt: {reason}", raw_path(path))]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The list of tables changed at every attempt to read them all.
    #[error("reftable stack {} does not hold still", raw_path(path))]
    KeepsChanging {
        /// The list.
        path: PathBuf,
    },
}
