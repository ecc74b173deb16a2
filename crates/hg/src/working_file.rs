//! The contents of a file of the working copy, as they would be committed.

use std::io;
use std::path::Path;

use vigil_linux::stat::lstat_path;
use vigil_stamp::file;

/// Reads the file at `path`. For a symbolic link, returns its target, whether or not the target exists.
///
/// # Errors
/// The file does not exist, cannot be read, or has more than `len_max` bytes.
pub fn read(path: &Path, len_max: u64) -> io::Result<Vec<u8>> {
    let is_link = lstat_path(path).is_ok_and(|seen| seen.is_symlink());
    contents(path, is_link, len_max)
}

/// Does the same as [`read`] if it is already known whether the file is a link.
///
/// # Errors
/// As for [`read`].
pub fn contents(path: &Path, is_link: bool, len_max: u64) -> io::Result<Vec<u8>> {
    match is_link {
        true => std::fs::read_link(path).map(|target| target.into_os_string().into_encoded_bytes()),
        false => file::read_up_to(path, len_max),
    }
}
