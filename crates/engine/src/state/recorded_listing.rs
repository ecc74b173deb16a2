//! Whether a recorded listing of a directory can still be used instead of a new one.

use std::path::Path;

use bstr::{BStr, BString, ByteSlice};
use vigil_linux::stat::lstat_path;
use vigil_model::path::join;
use vigil_model::seen::{ListingRecord, SeenListing};
use vigil_model::timestamp::Timestamp;

use vigil_stamp::Stamp;

use crate::git_ignore_files::FILE_NAME;

/// Whether a recorded listing is still valid, or why not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListingValidity {
    /// Nothing that it rests on has changed: it can be used.
    Holds,
    /// On this file system, stamps do not show when a directory changes.
    FileSystem,
    /// The clock was set back since the listing was made.
    Clock,
    /// The directory has another stamp, with this mtime; `None` if it is no longer a directory.
    Directory(Option<Timestamp>),
    /// Its `.gitignore` was added, removed or changed.
    IgnoreFile,
    /// This file or directory below changed; the path is relative to the directory.
    Below(BString),
    /// The ignore rules above the directory, or for it, have changed.
    Rules,
}

/// What a listing must agree with.
pub(crate) struct ListingCheck<'a> {
    /// The top of the working tree.
    pub(crate) top: &'a Path,
    /// The directory, relative to the top.
    pub(crate) dir: &'a BStr,
    /// The digest of the ignore rules above it, and whether one of them excludes it.
    pub(crate) rules_above: u128,
    pub(crate) is_excluded: bool,
    /// Whether stamps of directories and files prove anything, and the time from which they do not.
    pub(crate) is_trusted: bool,
    pub(crate) untrusted_since: Option<Timestamp>,
}

impl ListingCheck<'_> {
    /// Returns the first thing that has changed since `listing`.
    pub(crate) fn validity(&self, listing: &SeenListing<'_>) -> ListingValidity {
        if !self.is_trusted {
            return ListingValidity::FileSystem;
        }
        let record = listing.record;
        let flag = |flag| record.flags.get() & flag != 0;
        let of = |path: &BStr| {
            let path = self.top.join(path.to_path().ok()?);
            lstat_path(&path).ok()
        };
        let recorded = Stamp::from_bytes(&record.stamp);
        let ignore_file =
            flag(ListingRecord::HAS_RULES_FILE).then(|| Stamp::from_bytes(&record.rules_file));
        let witnesses = || {
            let all = listing.witnesses();
            all.map(|(path, stamp)| (path, Stamp::from_bytes(stamp)))
        };
        let mut stamps = [recorded]
            .into_iter()
            .chain(ignore_file)
            .chain(witnesses().map(|(_, stamp)| stamp));
        let is_late = |stamp: Stamp| {
            self.untrusted_since
                .is_some_and(|time| !stamp.is_entirely_before(time))
        };
        if stamps.any(is_late) {
            return ListingValidity::Clock;
        }
        let now = of(self.dir).filter(|stat| stat.is_dir());
        let now = now.as_ref().map(Stamp::from);
        if now != Some(recorded) {
            return ListingValidity::Directory(now.map(|stamp| stamp.mtime()));
        }
        let has_moved = |path: &BStr, stamp: Stamp| {
            let path = join(self.dir, path);
            of(path.as_bstr()).as_ref().map(Stamp::from) != Some(stamp)
        };
        if ignore_file.is_some_and(|stamp| has_moved(BStr::new(FILE_NAME), stamp)) {
            return ListingValidity::IgnoreFile;
        }
        if let Some((path, _)) = witnesses().find(|(path, stamp)| has_moved(path, *stamp)) {
            return ListingValidity::Below(path.to_owned());
        }
        let is_excluded = flag(ListingRecord::IS_EXCLUDED);
        if record.rules_above.get() != self.rules_above || is_excluded != self.is_excluded {
            return ListingValidity::Rules;
        }
        ListingValidity::Holds
    }
}
