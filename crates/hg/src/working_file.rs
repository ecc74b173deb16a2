//! What a file of the working copy holds, as it would be committed.

use std::io;
use std::path::Path;

use vigil_linux::stat::lstat_path;
use vigil_stamp::file;

/// Reads the file at `path`; of a link where it leads, whether or not there is something.
///
/// # Errors
/// It is not there, cannot be read, or has more than `len_max` bytes.
pub fn read(path: &Path, len_max: u64) -> io::Result<Vec<u8>> {
    let is_link = lstat_path(path).is_ok_and(|seen| seen.is_symlink());
    contents(path, is_link, len_max)
}

/// The same where it is known whether it `is_link`.
///
/// # Errors
/// As for [`read`].
pub fn contents(path: &Path, is_link: bool, len_max: u64) -> io::Result<Vec<u8>> {
    match is_link {
        true => std::fs::read_link(path).map(|target| target.into_os_string().into_encoded_bytes()),
        false => file::read_up_to(path, len_max),
    }
}
