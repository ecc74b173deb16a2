//! Where Mercurial walks to find files that are not recorded. The answer depends on that if the place of a recorded file is
//! taken by something else, and if ignore patterns are read during the walk.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use bstr::{BStr, ByteSlice};
use vigil_hg::patterns::{Ignore, Matcher};
use vigil_linux::stat::lstat_path;
use vigil_model::path_set::PathSet;

/// A walk of Mercurial, which is not made, only predicted.
pub(super) struct Walk<'w> {
    ignore: &'w Ignore,
    /// Whether it enters ignored directories, too.
    enters_ignored: bool,
    /// The directories where it begins; `None` stands for the top.
    begins_at: Option<PathSet<&'w BStr>>,
}

impl<'w> Walk<'w> {
    pub(super) fn new(
        root: &'w Path,
        ignore: &'w Ignore,
        matcher: &'w Matcher,
        enters_ignored: bool,
    ) -> Self {
        let is_directory = |path: &&BStr| {
            let stat = lstat_path(&root.join(OsStr::from_bytes(path)));
            stat.is_ok_and(|stat| stat.is_dir())
        };
        let named = matcher.named();
        let begins_at = match named.is_empty() {
            true => None,
            false => Some(PathSet::new(
                named.into_iter().filter(is_directory).collect(),
            )),
        };
        Self {
            ignore,
            enters_ignored,
            begins_at,
        }
    }

    /// The named directories where it begins; none if it begins at the top.
    pub(super) fn begins_at(&self) -> &[&'w BStr] {
        let begins_at = self.begins_at.as_ref();
        begins_at.map(PathSet::as_slice).unwrap_or_default()
    }

    /// Whether it enters ignored directories, too.
    pub(super) fn enters_ignored(&self) -> bool {
        self.enters_ignored
    }

    /// Whether it may come to, or begin at, a path below `directory`, which is the top or has a slash at its end.
    pub(super) fn may_come_to(&self, directory: &BStr) -> bool {
        self.begins_at.as_ref().is_none_or(|all| {
            let directory = directory.trim_end_with(|letter| letter == '/');
            all.has_at_or_above(directory) || all.has_at_or_below(directory)
        })
    }

    /// Whether it comes to the file `path`. If it does not, Mercurial looks at this path by itself, and takes whatever is
    /// there for the file.
    pub(super) fn comes_to(&self, path: &BStr) -> bool {
        let begins_above = self
            .begins_at
            .as_ref()
            .is_none_or(|all| all.has_at_or_above(path));
        let is_ignored = |slash| {
            let above: &[u8] = path.get(..slash).unwrap_or_default();
            self.ignore.is_match(above.as_bstr())
        };
        let mut ends = std::iter::once(0).chain(path.find_iter("/"));
        begins_above && (self.enters_ignored || !ends.any(is_ignored))
    }
}
