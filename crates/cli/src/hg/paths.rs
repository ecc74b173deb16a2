//! How paths are printed.

use std::borrow::Cow;
use std::path::Path;

use bstr::{BStr, BString, ByteSlice};
use vigil_hg::bytes::of_path;
use vigil_hg::patterns::shown_from;

use crate::reply::bytes;

/// Prints paths relative to the top or to the working directory.
#[derive(Clone, Debug)]
pub(super) struct Shown {
    /// The working directory: relative to the top if it is below, otherwise absolute.
    cwd: BString,
    /// The top, if the working directory is not below it. Relative paths then go up to the nearest common folder.
    top: Option<BString>,
    is_relative: bool,
}

impl Shown {
    pub(super) fn new(root: &Path, cwd: &Path, is_relative: bool) -> Self {
        let (cwd, top) = match cwd.strip_prefix(root) {
            Ok(below) => (of_path(below), None),
            Err(_) => (of_path(cwd), Some(of_path(root).into())),
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
