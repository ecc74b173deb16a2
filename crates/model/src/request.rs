//! How a question about a working copy is asked: which untracked, ignored and renamed paths, and which submodules.

use bstr::{BStr, ByteSlice};

use crate::config_value;

/// Which untracked files are reported (`--untracked-files`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum UntrackedMode {
    /// None.
    No,
    /// Files, and directories without tracked files as one name.
    #[default]
    Normal,
    /// Every file.
    All,
}

impl UntrackedMode {
    /// The mode that git calls `value`, which may be a boolean.
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
    /// Files, and directories in which all is ignored as one name (unless untracked files are all shown).
    Traditional,
    /// What an ignore rule matches by itself.
    Matching,
}

/// Which changes of submodules are left out (`--ignore-submodules`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum IgnoreSubmodules {
    /// None: all are reported.
    #[default]
    None,
    /// Untracked files in the submodule.
    Untracked,
    /// All but the submodule's commit.
    Dirty,
    /// All.
    All,
}

impl IgnoreSubmodules {
    /// What git calls it.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Untracked => "untracked",
            Self::Dirty => "dirty",
            Self::All => "all",
        }
    }

    /// What git calls `value`.
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

/// How renames are looked for between HEAD and index, and for intent-to-add entries in the working tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RenameRule {
    /// Whether copies are found too (`status.renames=copies`).
    pub copies: bool,
    /// The least similarity, of 60,000 (git's own scale; 30,000 is 50 %).
    pub min_score: u32,
    /// How many candidates each side may have before inexact detection is skipped; 0 is no limit.
    pub limit: usize,
}

impl RenameRule {
    /// The similarity from which git takes two files for one that was renamed: half.
    pub const MIN_SCORE: u32 = 30_000;
}
