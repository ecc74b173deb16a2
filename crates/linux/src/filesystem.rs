//! The kind of file system that a file is on, and whether it may be written to.

use std::os::fd::BorrowedFd;
use std::path::Path;

use rustix::fs::{Access, access, fstatfs};
use rustix::io::Errno;

/// The kind of file system that the open file `fd` is on: its magic number (`f_type` in
/// fstatfs(2)).
///
/// # Errors
/// fstatfs(2) failed.
pub fn kind_of(fd: BorrowedFd<'_>) -> Result<u32, Errno> {
    #[allow(
        clippy::unnecessary_cast,
        reason = "the field's type differs between architectures"
    )]
    fstatfs(fd).map(|facts| facts.f_type as u32)
}

/// Whether this process may create files in `folder`.
pub fn may_create_in(folder: &Path) -> bool {
    access(folder, Access::WRITE_OK | Access::EXEC_OK).is_ok()
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::fd::AsFd;

    use super::*;

    #[test]
    fn a_kind_is_that_of_the_file_system() {
        let proc = File::open("/proc").unwrap();
        assert_eq!(kind_of(proc.as_fd()), Ok(0x9fa0));
    }
}
