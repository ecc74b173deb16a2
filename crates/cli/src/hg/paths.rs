//! How paths are shown.

use std::path::Path;

use bstr::{BStr, BString};
use vigil_hg::bytes::of_path;
use vigil_hg::patterns::shown_from;

/// Shows paths from the top, or from the working directory.
#[derive(Clone, Debug)]
pub(super) struct Shown {
    cwd: BString,
    is_relative: bool,
}

impl Shown {
    pub(super) fn new(root: &Path, cwd: &Path, is_relative: bool) -> Self {
        let below = cwd.strip_prefix(root);
        // From outside, paths lead up to where both have a folder in common.
        let cwd = match below {
            Ok(below) => of_path(below).into(),
            Err(_) => BString::from("\0"),
        };
        Self { cwd, is_relative }
    }

    pub(super) fn path(&self, path: &BStr) -> BString {
        match self.is_relative {
            true => self.relative(path),
            false => path.into(),
        }
    }

    /// Always from the working directory.
    pub(super) fn relative(&self, path: &BStr) -> BString {
        match self.cwd.as_slice() {
            b"\0" => path.into(),
            _ => shown_from(self.cwd.as_ref(), path),
        }
    }
}
