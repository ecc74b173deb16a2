//! Selects the paths that a scan is about.

use bstr::{BStr, ByteSlice};

/// How a directory without tracked files relates to the filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DirMatch {
    /// Neither the directory nor anything below it is selected.
    No,
    /// Something below may be selected, but not the directory as such: it must be searched.
    Below,
    /// The directory itself is selected.
    Yes,
}

/// Selects the paths that a scan is about, by the patterns of a command line. All paths are relative to the top of the
/// working tree.
pub trait PathFilter: Sync {
    /// Whether the file, symbolic link or nested repository (`is_dir`) at `path` is selected.
    fn matches(&self, path: &BStr, is_dir: bool) -> bool;

    /// Returns false only if nothing at or below `path` can be selected; may err towards true.
    fn may_match_below(&self, path: &BStr) -> bool;

    /// How the untracked directory `dir`, given with a trailing `/`, relates to the filter.
    fn directory(&self, dir: &BStr) -> DirMatch;

    /// The directory that contains all selected paths, without a trailing `/`; empty if there is none.
    fn common_directory(&self) -> &BStr {
        BStr::new("")
    }

    /// Whether the search for untracked files begins below the directory `path`, which is then not listed.
    fn begins_below(&self, path: &BStr) -> bool {
        let common = self.common_directory();
        match path.is_empty() {
            true => !common.is_empty(),
            false => {
                let below = common.strip_prefix(path.as_bytes());
                below.is_some_and(|rest| rest.starts_with(b"/"))
            }
        }
    }
}
