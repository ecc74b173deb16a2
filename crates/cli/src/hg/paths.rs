//! How paths are printed.

use std::borrow::Cow;
use std::path::Path;

use bstr::{BStr, BString, ByteSlice};
use vigil_hg::patterns::shown_from;
use vigil_stamp::paths::bytes_of;

use crate::reply::bytes;

/// Prints paths relative to the top or to the working directory.
#[derive(Clone, Debug)]
pub(super) struct PathDisplay {
    /// The working directory: relative to the top if it is below, otherwise absolute.
    cwd: BString,
    /// The top, if the working directory is not below it. Relative paths then go up to the nearest common folder.
    top: Option<BString>,
    is_relative: bool,
}

impl PathDisplay {
    pub(super) fn new(root: &Path, cwd: &Path, is_relative: bool) -> Self {
        let (cwd, top) = match cwd.strip_prefix(root) {
            Ok(below) => (bytes_of(below), None),
            Err(_) => (bytes_of(cwd), Some(bytes_of(root).into())),
        };
        Self {
            cwd: cwd.into(),
            top,
            is_relative,
        }
    }

    pub(super) fn path<'p>(&self, path: &'p BStr) -> Cow<'p, BStr> {
        match self.is_relative {
            true => self.relative(path),
            false => Cow::Borrowed(path),
        }
    }

    /// Returns the path relative to the working directory, whatever is configured.
    pub(super) fn relative<'p>(&self, path: &'p BStr) -> Cow<'p, BStr> {
        let from = self.cwd.as_ref();
        match &self.top {
            Some(top) => {
                let path = bytes!(top, "/", path);
                Cow::Owned(shown_from(from, path.as_bstr()).into_owned())
            }
            None => shown_from(from, path),
        }
    }
}
