//! Short text files that are read whole: settings, names and patterns.

use std::io;
use std::path::Path;

use vigil_stamp::file;

use crate::abort::Abort;

/// The length of the longest file that is read, in bytes. Mercurial has written no longer one.
pub const LEN_MAX: u64 = 64 << 20;

/// Reads the file at `path`.
///
/// # Errors
/// The file does not exist, cannot be read, or is longer than [`LEN_MAX`].
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    file::read_up_to(path, LEN_MAX)
}

/// Reads the file at `path`, if there is one.
///
/// # Errors
/// The file cannot be read, which Mercurial reports too, or is longer than [`LEN_MAX`].
pub(crate) fn read_if_there(path: &Path) -> Result<Option<Vec<u8>>, Abort> {
    match read(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Abort::io(path, &error)),
    }
}
