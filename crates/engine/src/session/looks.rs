//! Looking for many paths in one working tree.

use std::cell::OnceCell;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use bstr::{BStr, ByteSlice};
use rustix::fs::{Mode, OFlags};
use vigil_linux::Errno;
use vigil_linux::stat::{Stat, lstat_path, stat_at_first};

/// Looks for paths from the top of a working tree: there may be a hundred thousand, and the way to the top is as long as that
/// from there.
pub(super) struct Looks<'t> {
    top: &'t Path,
    /// The top, once it was opened; `None` if it cannot be.
    opened: OnceCell<Option<OwnedFd>>,
    /// The path that is looked for, with a NUL.
    c_path: Vec<u8>,
}

impl<'t> Looks<'t> {
    pub(super) fn new(top: &'t Path) -> Self {
        Self {
            top,
            opened: OnceCell::new(),
            c_path: Vec::new(),
        }
    }

    /// Returns what is at `path`, not following a symbolic link there unless `path` ends in `/`. An empty path is the top.
    pub(super) fn lstat(&mut self, path: &BStr) -> Result<Stat, Errno> {
        let opened = self.opened.get_or_init(|| {
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
            rustix::fs::open(self.top, flags, Mode::empty()).ok()
        });
        let (false, Some(opened)) = (path.is_empty(), opened) else {
            return lstat_path(&self.top.join(path.to_path_lossy()));
        };
        self.c_path.clear();
        self.c_path.extend_from_slice(path);
        self.c_path.push(0);
        stat_at_first(opened.as_fd(), &self.c_path)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_look_from_the_top_finds_what_one_by_the_whole_path_does() {
        let parent = tempfile::tempdir().unwrap();
        let top = parent.path().join("top");
        let gone = parent.path().join("gone");
        fs::create_dir_all(top.join("folder")).unwrap();
        fs::write(top.join("folder/file"), "").unwrap();
        symlink("folder", top.join("link")).unwrap();
        for top in [&top, &gone] {
            let mut looks = Looks::new(top);
            for path in [
                "folder/file",
                "link",
                "link/",
                "link/file",
                "file",
                "folder/file/",
                "",
            ] {
                let whole = lstat_path(&top.join(path)).map(|stat| (stat.ino, stat.mode));
                let found = looks.lstat(path.into());
                let found = found.map(|stat| (stat.ino, stat.mode));
                assert_eq!(found, whole, "{path:?}");
            }
        }
    }
}
