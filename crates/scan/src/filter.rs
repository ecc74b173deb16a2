//! Which paths a scan is about.

use bstr::{BStr, ByteSlice};

/// How a directory that holds no tracked file relates to what is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DirMatch {
    /// Neither the directory nor anything below is asked for.
    No,
    /// Something below may be asked for, but not the directory as such: it must be looked into.
    Below,
    /// The directory itself is asked for.
    Yes,
}

/// Which paths a scan is about: what patterns on a command line say. All paths are relative to the top of the working tree.
pub trait PathFilter: Sync {
    /// Whether the file, link or nested repository (`is_dir`) at `path` is asked for.
    fn matches(&self, path: &BStr, is_dir: bool) -> bool;

    /// False only where nothing at or below `path` can be asked for; may err towards true.
    fn may_match_below(&self, path: &BStr) -> bool;

    /// How the untracked directory `dir`, given with a `/` at its end, relates to what is asked for.
    fn directory(&self, dir: &BStr) -> DirMatch;

    /// The directory that all paths asked for are in, without `/` at its end; empty where there is none.
    fn common_directory(&self) -> &BStr {
        BStr::new("")
    }

    /// Whether the search for what is not tracked begins further down than in the directory `path`, which is not listed then.
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
