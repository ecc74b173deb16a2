//! How a path changed.

use bstr::BString;

/// How a path changed between two of HEAD, index and working tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// New on the later side: `A`.
    Added,
    /// Other contents, or another executable bit: `M`.
    Modified,
    /// Gone on the later side: `D`.
    Deleted,
    /// Another type of file: `T`.
    TypeChanged,
    /// Renamed: `R`; the source is beside it.
    Renamed,
    /// Copied: `C`; the source is beside it.
    Copied,
    /// In conflict, but not shown by its stages, since the path has a merged entry too: `U`.
    Unmerged,
}

impl ChangeKind {
    /// The letter in git's short formats.
    pub fn letter(self) -> u8 {
        match self {
            Self::Added => b'A',
            Self::Modified => b'M',
            Self::Deleted => b'D',
            Self::TypeChanged => b'T',
            Self::Renamed => b'R',
            Self::Copied => b'C',
            Self::Unmerged => b'U',
        }
    }
}

/// Where a renamed or copied path came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RenameSource {
    /// The former path.
    pub path: BString,
    /// The similarity in percent, as printed after `R` or `C`.
    pub score_percent: u8,
}
