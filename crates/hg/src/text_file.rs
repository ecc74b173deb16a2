//! Files of text that are read whole, and are short: those with settings, names and patterns.

use std::io;
use std::path::Path;

use vigil_stamp::file;

use crate::abort::Abort;

/// The longest one that is read, in bytes. Longer ones are none that Mercurial has written.
pub const LEN_MAX: u64 = 64 << 20;

/// Reads the file at `path`.
///
/// # Errors
/// It is not there, cannot be read, or is too long.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    file::read_up_to(path, LEN_MAX)
}

/// Reads the file at `path`; nothing where it is not there.
///
/// # Errors
/// It cannot be read, or is too long: Mercurial says why, too.
pub fn read_if_there(path: &Path) -> Result<Vec<u8>, Abort> {
    match read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        read => read.map_err(|error| Abort::io(path, &error)),
    }
}
