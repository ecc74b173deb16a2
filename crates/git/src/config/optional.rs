//! Files that the configuration names as optional: one that is missing counts as not named.

use std::path::{Path, PathBuf};

use vigil_linux::stat::stat_path;
use vigil_stamp::paths::is_missing;

/// What goes before the path in a value.
pub(super) const MARK: &[u8] = b":(optional)";

/// One such file, as it was when the configuration was read.
#[derive(Clone, Debug)]
pub(super) struct OptionalFile {
    path: PathBuf,
    /// Whether nothing was there.
    pub(super) is_missing: bool,
}

impl OptionalFile {
    /// Looks at `path`.
    pub(super) fn look(path: PathBuf) -> Self {
        Self {
            is_missing: is_missing_at(&path),
            path,
        }
    }

    /// Whether it is still there, or still missing.
    pub(super) fn is_fresh(&self) -> bool {
        is_missing_at(&self.path) == self.is_missing
    }
}

fn is_missing_at(path: &Path) -> bool {
    stat_path(path).is_err_and(is_missing)
}
