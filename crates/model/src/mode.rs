//! File modes as git records them in trees and in the index (gitformat-index(5), "mode").

use std::fmt;

/// A mode as recorded in a tree or an index entry. Only the values git writes are meaningful, but any 32 bits
/// may be read from disk.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct FileMode(pub u32);

impl FileMode {
    /// No file: the side of a change on which the path does not exist.
    pub const NONE: Self = Self(0);
    /// A directory (a tree object).
    pub const TREE: Self = Self(0o040_000);
    /// A regular file without the executable bit.
    pub const FILE: Self = Self(0o100_644);
    /// A regular file with the executable bit.
    pub const EXECUTABLE: Self = Self(0o100_755);
    /// A symbolic link.
    pub const SYMLINK: Self = Self(0o120_000);
    /// A submodule, "gitlink": the commit of another repository.
    pub const GITLINK: Self = Self(0o160_000);

    /// The mode as git canonicalizes it: a regular file keeps only its owner's executable bit, a symbolic link or a
    /// submodule keeps no permission bits. Other types stay as they are.
    pub fn canonical(self) -> Self {
        if self.is_file() {
            match self.0 & 0o100 {
                0 => Self::FILE,
                _ => Self::EXECUTABLE,
            }
        } else if self.is_symlink() {
            Self::SYMLINK
        } else if self.is_gitlink() {
            Self::GITLINK
        } else {
            self
        }
    }

    /// The mode as git reads it from a tree object: as [`Self::canonical`], but a directory has no other bits, and every
    /// other type counts as a submodule.
    pub fn canonical_in_tree(self) -> Self {
        if self.is_file() || self.is_symlink() {
            self.canonical()
        } else if self.is_tree() {
            Self::TREE
        } else {
            Self::GITLINK
        }
    }

    const TYPE_MASK: u32 = 0o170_000;

    /// Whether the type bits say regular file, executable or not.
    pub fn is_file(self) -> bool {
        self.0 & Self::TYPE_MASK == 0o100_000
    }

    /// Whether the type bits say symbolic link.
    pub fn is_symlink(self) -> bool {
        self.0 & Self::TYPE_MASK == Self::SYMLINK.0
    }

    /// Whether the type bits say submodule.
    pub fn is_gitlink(self) -> bool {
        self.0 & Self::TYPE_MASK == Self::GITLINK.0
    }

    /// Whether the type bits say directory; an index entry of this type is a sparse directory.
    pub fn is_tree(self) -> bool {
        self.0 & Self::TYPE_MASK == Self::TREE.0
    }

    /// Whether both modes have the same type. Regular files do, whatever their executable bits.
    pub fn same_type(self, other: Self) -> bool {
        self.0 & Self::TYPE_MASK == other.0 & Self::TYPE_MASK
    }
}

impl fmt::Display for FileMode {
    /// Six octal digits, as in `git status --porcelain=v2` and `git ls-files -s`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:06o}", self.0)
    }
}

impl fmt::Debug for FileMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
