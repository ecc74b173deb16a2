//! The parameters of a question: which untracked, ignored and renamed paths, and which submodules it covers.

use bstr::{BStr, ByteSlice};

use crate::config_value;

/// Which untracked files are reported (`--untracked-files`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum UntrackedMode {
    /// None.
    No,
    /// Files, and a directory without tracked files as a single name.
    #[default]
    Normal,
    /// Every file.
    All,
}

impl UntrackedMode {
    /// git's name for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::No => "no",
            Self::Normal => "normal",
            Self::All => "all",
        }
    }

    /// The mode that `value` means to git, which may also be a boolean.
    pub fn named(value: &BStr) -> Option<Self> {
        match (config_value::boolean(Some(value)), value.as_bytes()) {
            (Some(true), _) | (_, b"normal") => Some(Self::Normal),
            (Some(false), _) => Some(Self::No),
            (None, b"all") => Some(Self::All),
            _ => None,
        }
    }
}

/// Which ignored files are reported (`--ignored`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum IgnoredMode {
    /// None.
    #[default]
    No,
    /// Files, and a directory in which everything is ignored as a single name (unless all untracked files are
    /// shown).
    Traditional,
    /// Paths that an ignore rule matches directly.
    Matching,
}

impl IgnoredMode {
    /// git's name for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::No => "no",
            Self::Traditional => "traditional",
            Self::Matching => "matching",
        }
    }
}

/// Which changes in submodules are left out (`--ignore-submodules`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum IgnoreSubmodules {
    /// None: every change is reported.
    #[default]
    None,
    /// Untracked files in the submodule.
    Untracked,
    /// Everything but another commit checked out in the submodule.
    Dirty,
    /// Everything.
    All,
}

impl IgnoreSubmodules {
    /// git's name for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Untracked => "untracked",
            Self::Dirty => "dirty",
            Self::All => "all",
        }
    }

    /// The value that git calls `value`.
    pub fn named(value: &BStr) -> Option<Self> {
        match value.as_bytes() {
            b"none" => Some(Self::None),
            b"untracked" => Some(Self::Untracked),
            b"dirty" => Some(Self::Dirty),
            b"all" => Some(Self::All),
            _ => None,
        }
    }
}

/// How renames are detected between HEAD and index, and for intent-to-add entries in the working tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RenameRule {
    /// Whether copies are detected too (`status.renames=copies`).
    pub copies: bool,
    /// The minimum similarity, out of 60,000 (git's own scale; 30,000 is 50 %).
    pub min_score: u32,
    /// Inexact detection is skipped if there are more pairs of candidates than the square of this; 0 is no limit.
    pub limit: usize,
}

impl RenameRule {
    /// git's default minimum similarity for a rename: half.
    pub const MIN_SCORE: u32 = 30_000;
}
