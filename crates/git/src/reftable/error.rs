//! Why reftables could not be read.

use std::path::PathBuf;

/// Why a stack of reftables could not be read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file that cannot be read.
    #[error("unable to read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: std::io::Error,
    },
    /// A file whose contents break the format.
    #[error("reftable {} is corrupt: {reason}", path.display())]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The list of tables changed at every attempt to read them all.
    #[error("reftable stack {} does not hold still", path.display())]
    Unsettled {
        /// The list.
        path: PathBuf,
    },
}
