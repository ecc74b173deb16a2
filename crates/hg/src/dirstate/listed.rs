//! Directories in which Mercurial found nothing but recorded and ignored files, with their mtimes at that time.

use std::cmp::Ordering;

use bstr::{BStr, ByteSlice};
use vigil_linux::stat::Stat;

use super::record::ByteRange;

/// The bits of the seconds that are recorded.
pub(super) const SECONDS_MASK: u32 = 0x7fff_ffff;

/// A directory, with its mtime when it was listed.
#[derive(Clone, Copy, Debug)]
pub(super) struct ListedRecord {
    pub(super) path: ByteRange,
    pub(super) mtime_s: u32,
    pub(super) mtime_ns: u32,
}

impl ListedRecord {
    /// Returns whether a directory with this `stat` still has the recorded mtime.
    fn is_current(&self, stat: &Stat) -> bool {
        let seconds = stat.mtime_s & i64::from(SECONDS_MASK);
        seconds == i64::from(self.mtime_s) && stat.mtime_ns == self.mtime_ns
    }
}

/// The directories of a dirstate of the second format that were listed with certain ignore patterns.
#[derive(Clone, Copy, Debug)]
pub struct ListedDirectories<'d> {
    pub(super) bytes: &'d [u8],
    pub(super) directories: &'d [ListedRecord],
}

impl ListedDirectories<'_> {
    /// Returns whether the directory at `path`, whose stat data are `stat`, holds only recorded and ignored files: that
    /// was so when it was listed with this mtime. What is on disk may be of another type than its record says.
    pub fn holds_only_recorded(&self, path: &BStr, stat: &Stat) -> bool {
        let text =
            |record: &ListedRecord| self.bytes.get(record.path.as_range()).unwrap_or_default();
        let compare = |record: &ListedRecord| -> Ordering { text(record).cmp(path.as_bytes()) };
        let found = self.directories.binary_search_by(compare);
        let record = found.ok().and_then(|at| self.directories.get(at));
        record.is_some_and(|record| record.is_current(stat))
    }
}
