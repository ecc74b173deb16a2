//! What a scan asks of the system whose working copy it walks over: git, Mercurial, or a list in a test.

use std::any::Any;
use std::ffi::CStr;
use std::fmt::Debug;
use std::fs::File;
use std::os::fd::BorrowedFd;
use std::sync::Arc;

use bstr::{BStr, BString};
use vigil_linux::dir::{EntryKind, Listing};
use vigil_linux::stat::Stat;
use vigil_model::ObjectId;
use vigil_model::mode::FileMode;
use vigil_model::raw_text::raw;
use vigil_model::timestamp::Timestamp;
use vigil_model::tracked::{Directory, TrackedFile};
use vigil_stamp::Stamp;

use super::findings::Observed;

/// In the place of what decides how contents are converted: nothing does.
pub const NOT_CONVERTED: u64 = 0;

/// A system that records files, asked from many threads. All paths are from the top of the working copy.
pub trait System: Sync {
    /// What the facts say of a recorded file that is there. `path` makes its path, for the rare case that it matters.
    fn by_facts(
        &self,
        file: &TrackedFile<'_>,
        stat: &Stat,
        path: &dyn Fn() -> BString,
    ) -> Result<(), Difference>;

    /// Whether `file`, of `size` bytes and found at `path`, would be recorded as `recorded`.
    ///
    /// # Errors
    /// The contents cannot be compared.
    fn is_unchanged(
        &self,
        path: &BStr,
        file: File,
        size: u64,
        recorded: &ObjectId,
    ) -> Result<bool, ContentError>;

    /// What decides how the contents of the file at `path` are converted before they are compared: where it is
    /// another value than before, so may be the verdict. `None` where that cannot be said.
    fn conversion(&self, path: &BStr) -> Option<u64>;

    /// The same for the symbolic link at `path`. Nothing converts those, unless a system says otherwise.
    fn link_conversion(&self, _path: &BStr) -> Option<u64> {
        Some(NOT_CONVERTED)
    }

    /// Whether a file of this name decides how the files beside it and below are compared.
    fn governs(&self, _name: &[u8]) -> bool {
        false
    }

    /// How many warnings there were so far: where one comes up, it must the next time, too.
    fn told(&self) -> usize;

    /// Whether a symbolic link to `target`, found at `path`, would be recorded as `recorded`.
    fn is_unchanged_link(&self, path: &BStr, target: &[u8], recorded: &ObjectId) -> bool;

    /// Whether the directory at `path` is the top of another repository's working copy.
    fn is_repository(&self, path: &BStr) -> bool;

    /// Whether what is at `path`, of this kind, is the system's own, and never reported.
    fn is_own(&self, path: &BStr, kind: EntryKind) -> bool;

    /// Whether it is known without a list that nothing is in the directory at `path`, which looks like `stat`, but what is recorded
    /// in it, and what the rules ignore; and that it has no rules of its own.
    fn holds_only_recorded(&self, _dir: BorrowedFd<'_>, _path: &BStr, _stat: &Stat) -> bool {
        false
    }

    /// The rules in force at the top, without those of a file there.
    fn rules_at_top(&self) -> Arc<dyn IgnoreScope>;

    /// The rules in force in a directory, and the file there on which they rest. Adds to `warnings` what the system says.
    fn rules_in(
        &self,
        directory: &ListedDirectory<'_>,
        above: &Arc<dyn IgnoreScope>,
        warnings: &mut Vec<BString>,
    ) -> (Arc<dyn IgnoreScope>, RulesFile);

    /// The rules in force in the directory `dir`, which are known to have this digest; they are read once they are asked.
    fn rules_of_digest(
        &self,
        above: &Arc<dyn IgnoreScope>,
        dir: &BStr,
        digest: u128,
    ) -> Arc<dyn IgnoreScope>;

    /// The name of the file in which a directory has ignore rules of its own.
    fn rules_file_name(&self) -> &'static CStr;
}

/// How a file is unlike its record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Difference {
    /// It is.
    Certain(Observed),
    /// The contents decide; where they differ, it would be recorded with this mode.
    InContents(FileMode),
}

/// What is ignored below one directory.
pub trait IgnoreScope: Any + Debug + Send + Sync {
    /// Equal only where all rules in force are.
    fn digest(&self) -> u128;

    /// Whether a rule ignores `path`.
    fn is_ignored(&self, path: &BStr, is_dir: bool) -> bool;
}

/// A directory that was listed, for its ignore rules.
#[derive(Clone, Copy)]
pub struct ListedDirectory<'d> {
    /// What is recorded in it, if anything is.
    pub tracked: Option<&'d Directory<'d>>,
    /// The directory itself.
    pub dir: BorrowedFd<'d>,
    /// Its path, without a slash at the end.
    pub path: &'d BStr,
    /// What is in it.
    pub listing: &'d Listing,
    /// Whether anything in it is looked up in the rules.
    pub asks_for_rules: &'d dyn Fn() -> bool,
    /// No mtime from here on proves anything.
    pub scan_started_at: Timestamp,
}

impl Debug for ListedDirectory<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("ListedDirectory").field(&self.path).finish()
    }
}

/// The file with a directory's own ignore rules, as it was when they were read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RulesFile {
    /// There is none, and its absence shows in the listing.
    Absent,
    /// It has this stamp, which can be trusted.
    Seen(Stamp),
    /// Nothing proves later that the rules are the same.
    Unproven,
}

/// Why contents could not be compared: a filter that must not fail did, and the text is the system's; or the kernel refused
/// for a reason that says nothing of the file.
#[derive(Debug, thiserror::Error)]
#[error("{}", raw(.0))]
pub struct ContentError(pub BString);
