//! The attribute that git computes: `builtin_objectmode` (gitattributes(5), "RESERVED BUILTIN_* ATTRIBUTES").

use std::path::Path;

use bstr::{BStr, BString, ByteSlice};
use parking_lot::Mutex;
use vigil_linux::errno;
use vigil_linux::stat::lstat_path;
use vigil_model::mode::FileMode;
use vigil_model::tracked::Tracked;

use super::error::SessionError;
use crate::checked_out::checked_out;
use vigil_git::repository::Repository;

/// The attribute's name.
pub(super) const NAME: &str = "builtin_objectmode";

/// The modes with which files in the working tree would be recorded.
pub(super) struct ObjectModes<'a> {
    top: &'a Path,
    repository: &'a Repository,
    tracked: &'a Tracked,
    /// The error for the first missing path that was asked about.
    missing: Mutex<Option<SessionError>>,
}

impl<'a> ObjectModes<'a> {
    pub(super) fn new(top: &'a Path, repository: &'a Repository, tracked: &'a Tracked) -> Self {
        Self {
            top,
            repository,
            tracked,
            missing: Mutex::new(None),
        }
    }

    /// Returns the mode of `path`, in six octal digits. `None` if nothing is there, which is noted.
    pub(super) fn of(&self, path: &BStr) -> Option<BString> {
        let stat = match path.to_path().map(|path| lstat_path(&self.top.join(path))) {
            Ok(Ok(stat)) => stat,
            Ok(Err(error)) => {
                self.missing
                    .lock()
                    .get_or_insert_with(|| SessionError::NoMode {
                        path: path.to_owned(),
                        reason: errno::text(error),
                    });
                return None;
            }
            Err(_) => return None,
        };
        let mode = if stat.is_file() {
            match stat.mode & 0o100 {
                0 => FileMode::FILE,
                _ => FileMode::EXECUTABLE,
            }
        } else if stat.is_symlink() {
            FileMode::SYMLINK
        } else if stat.is_dir() && !self.is_submodule(path) {
            FileMode::TREE
        } else {
            FileMode::GITLINK
        };
        Some(mode.to_string().into())
    }

    /// Whether the directory at `path` is, or would be, recorded as a submodule.
    fn is_submodule(&self, path: &BStr) -> bool {
        if let Some(entry) = self.tracked.find(path, 0) {
            return entry.mode.is_gitlink();
        }
        let path = path.trim_end_with(|end| end == '/').as_bstr();
        checked_out(self.repository, path).is_some()
    }

    /// Fails, as git does, if a path whose mode was asked for is missing.
    ///
    /// # Errors
    /// The first such path.
    pub(super) fn check(&self) -> Result<(), SessionError> {
        self.missing.lock().take().map_or(Ok(()), Err)
    }
}
