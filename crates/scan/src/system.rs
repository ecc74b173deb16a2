//! What a scan asks of the version control system of the working copy: git, Mercurial, or a list in a test.

use std::any::Any;
use std::ffi::CStr;
use std::fmt::Debug;
use std::fs::File;
use std::os::fd::BorrowedFd;
use std::sync::Arc;

use bstr::{BStr, BString};
use vigil_linux::Errno;
use vigil_linux::dir::{EntryKind, Listing};
use vigil_linux::stat::Stat;
use vigil_model::ObjectId;
use vigil_model::conversion::Conversion;
use vigil_model::mode::FileMode;
use vigil_model::raw_text::raw;
use vigil_model::timestamp::Timestamp;
use vigil_model::tracked::{Directory, TrackedFile};
use vigil_stamp::Stamp;

use super::findings::{Observed, RulesWarning};

/// The number of the conversion of contents that nothing converts.
pub const NOT_CONVERTED: u64 = 0;

/// A system that records files. It is asked from many threads. All paths are from the top of the working copy.
pub trait System: Sync {
    /// Compares the recorded facts of an existing file with `stat`. `path` returns its path, for the rare case that it matters.
    ///
    /// # Errors
    /// The file is, or may be, different.
    fn compare_stat(
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

    /// Tells how the contents of the file at `path` are converted before they are compared. `None` if that cannot be known.
    fn conversion(&self, path: &BStr) -> Option<Conversion>;

    /// The same for the symbolic link at `path`. Symbolic links are not converted, unless a system says otherwise.
    fn link_conversion(&self, _path: &BStr) -> Option<Conversion> {
        Some(Conversion::known(NOT_CONVERTED))
    }

    /// Whether a file of this name decides how the files in its directory and below are compared.
    fn affects_comparison(&self, _name: &[u8]) -> bool {
        false
    }

    /// The number of warnings so far, and of records that could not be read. A comparison that causes one must be repeated, so that
    /// the warning is, too; and the record may be readable the next time.
    fn warnings_len(&self) -> usize;

    /// Whether a symbolic link to `target`, found at `path`, would be recorded as `recorded`.
    fn is_unchanged_link(&self, path: &BStr, target: &[u8], recorded: &ObjectId) -> bool;

    /// Whether the directory at `path` is the top of another repository's working copy.
    ///
    /// # Errors
    /// The directory may not be searched, and [`Self::looks_up_listed_names`].
    fn is_repository(&self, path: &BStr) -> Result<bool, Errno>;

    /// Whether a directory whose names may be listed, but not looked up, counts as one that may not be listed.
    fn looks_up_listed_names(&self) -> bool {
        false
    }

    /// Whether the entry at `path`, of this kind, is the system's own, and never reported.
    fn is_metadata(&self, path: &BStr, kind: EntryKind) -> bool;

    /// Whether it is known without a listing that the directory at `path`, whose stat data is `stat`, holds nothing but recorded
    /// and ignored files, and has no rules of its own.
    fn holds_only_recorded(&self, _dir: BorrowedFd<'_>, _path: &BStr, _stat: &Stat) -> bool {
        false
    }

    /// The rules in force at the top, without those of a file in the top directory.
    fn rules_at_top(&self) -> Arc<dyn IgnoreScope>;

    /// Returns the rules in force in a directory, and the file there that they come from. Appends the system's `warnings`.
    fn rules_in(
        &self,
        directory: &ListedDirectory<'_>,
        above: &Arc<dyn IgnoreScope>,
        warnings: &mut Vec<RulesWarning>,
    ) -> (Arc<dyn IgnoreScope>, RulesFile);

    /// Returns the rules in force in the directory `dir`, which are known to have this digest; they are read when first used.
    fn rules_of_digest(
        &self,
        above: &Arc<dyn IgnoreScope>,
        dir: &BStr,
        digest: u128,
    ) -> Arc<dyn IgnoreScope>;

    /// The name of the files that hold a directory's own ignore rules.
    fn rules_file_name(&self) -> &'static CStr;
}

/// How a file differs from its record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Difference {
    /// It certainly differs.
    Certain(Observed),
    /// The contents decide. If they differ, the file would be recorded with this mode.
    InContents(FileMode),
}

/// The ignore rules in force below one directory.
pub trait IgnoreScope: Any + Debug + Send + Sync {
    /// A digest of the rules in force: equal only if all rules are.
    fn digest(&self) -> u128;

    /// Returns false if the rules were read by now, and are not those of [`Self::digest`]: the file could not be read, or
    /// changed just then. Nothing that was found by them may be remembered.
    fn is_true_to_digest(&self) -> bool {
        true
    }

    /// Returns the system's warnings about files that could not be read when these rules were first used, and about which nobody was
    /// told yet. `directory` is where the rules were used, and where these warnings go as soon as it is looked at again.
    fn take_warnings(&self, directory: &BStr) -> Vec<RulesWarning> {
        let _ = directory;
        Vec::new()
    }

    /// Whether a rule ignores `path`.
    fn is_ignored(&self, path: &BStr, is_dir: bool) -> bool;
}

/// A directory that was listed, as input for reading its ignore rules.
#[derive(Clone, Copy)]
pub struct ListedDirectory<'d> {
    /// The tracked files in it, if any.
    pub tracked: Option<&'d Directory<'d>>,
    /// The directory itself.
    pub dir: BorrowedFd<'d>,
    /// Its path, without a trailing slash.
    pub path: &'d BStr,
    /// Its entries.
    pub listing: &'d Listing,
    /// Whether any of its entries is looked up in the rules.
    pub asks_for_rules: &'d dyn Fn() -> bool,
    /// When the scan started: an mtime of then or later proves nothing.
    pub scan_started_at: Timestamp,
}

impl Debug for ListedDirectory<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("ListedDirectory").field(&self.path).finish()
    }
}

/// The file with a directory's own ignore rules, as it was when the rules were read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RulesFile {
    /// There is none, and its absence shows in the listing.
    Absent,
    /// It has this stamp, which can be trusted.
    Seen(Stamp),
    /// It is as young as the scan, or may not be read, so that no stamp proves anything. A later change causes an event in the
    /// directory.
    Young,
    /// Nothing can prove later that the rules are unchanged.
    Unproven,
}

/// Why contents could not be compared: a required filter failed, and the text is the system's; or the kernel refused for a reason
/// that says nothing about the file.
#[derive(Debug, thiserror::Error)]
#[error("{}", raw(.0))]
pub struct ContentError(pub BString);
