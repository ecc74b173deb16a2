//! Why a reference could not be read.

use std::path::{Path, PathBuf};

use bstr::BString;
use vigil_linux::errno;
use vigil_model::raw_text::{raw, raw_path};

use crate::reftable;

/// Why a reference could not be read. If git has a text for the error, it is git's, without "fatal: ".
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
    /// A `packed-refs` that cannot be read.
    #[error("couldn't read {}: {reason}", raw_path(path))]
    Unread {
        /// The file, as git names it.
        path: PathBuf,
        /// The system's error text.
        reason: String,
    },
    /// A line of `packed-refs` is not a record.
    #[error("unexpected line in {}: {}", raw_path(path), raw(line))]
    UnexpectedLine {
        /// The file.
        path: PathBuf,
        /// The line.
        line: BString,
    },
    /// The last line of `packed-refs` has no line feed: the file was cut off.
    #[error("unterminated line in {}: {}", raw_path(path), raw(line))]
    UnterminatedLine {
        /// The file.
        path: PathBuf,
        /// The line.
        line: BString,
    },
    /// A name in `packed-refs` or a reftable could be the path of a file elsewhere.
    #[error("{}", raw(text))]
    Name {
        /// git's error text, with the name's own bytes.
        text: BString,
    },
    /// A reftable that cannot be read.
    #[error(transparent)]
    Reftable(#[from] reftable::Error),
    /// HEAD leads to the null id, which is not an object.
    #[error("bad object HEAD")]
    NullHead,
    /// HEAD is missing, or holds neither an id nor a reference: git does not accept such a directory as a repository.
    #[error("not a git repository (or any of the parent directories): .git")]
    BrokenHead,
}

impl Error {
    pub(super) fn read(path: &Path, source: std::io::Error) -> Self {
        Self::Read {
            path: path.to_owned(),
            source,
        }
    }
}
