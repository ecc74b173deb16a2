//! What is recorded of one file.

use std::ops::BitOr;

/// Marks of an entry: the bits of the second format, into which those of the first are translated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(pub u16);

impl Flags {
    /// It is tracked in the working copy.
    pub const WDIR_TRACKED: Self = Self(1);
    /// It is in the first parent.
    pub const P1_TRACKED: Self = Self(1 << 1);
    /// A merge took something of it from the second parent.
    pub const P2_INFO: Self = Self(1 << 2);
    /// Its owner may execute it.
    pub const MODE_EXEC_PERM: Self = Self(1 << 3);
    /// It is a symbolic link.
    pub const MODE_IS_SYMLINK: Self = Self(1 << 4);
    /// The file is known to differ from its parent's.
    pub const EXPECTED_STATE_IS_MODIFIED: Self = Self(1 << 9);
    /// Mode and size are recorded.
    pub const HAS_MODE_AND_SIZE: Self = Self(1 << 10);
    /// The mtime is recorded.
    pub const HAS_MTIME: Self = Self(1 << 11);
    /// The file may have changed within the second of its mtime.
    pub const MTIME_SECOND_AMBIGUOUS: Self = Self(1 << 12);
    /// It is a directory, whose mtime is recorded.
    pub const DIRECTORY: Self = Self(1 << 13);
    /// All files in the directory that are neither tracked nor ignored have records.
    pub const ALL_UNKNOWN_RECORDED: Self = Self(1 << 14);
    /// All ignored files in the directory have records.
    pub const ALL_IGNORED_RECORDED: Self = Self(1 << 15);

    /// Whether all of `flags` are set.
    pub fn has(self, flags: Self) -> bool {
        self.0 & flags.0 == flags.0
    }

    /// Without `flags`.
    #[must_use]
    pub fn without(self, flags: Self) -> Self {
        Self(self.0 & !flags.0)
    }

    /// Whether it is a file of which Mercurial says anything: tracked here or in a parent.
    pub fn is_any_tracked(self) -> bool {
        self.0 & (Self::WDIR_TRACKED.0 | Self::P1_TRACKED.0 | Self::P2_INFO.0) != 0
    }
}

impl BitOr for Flags {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// What is recorded of one file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    /// The marks.
    pub flags: Flags,
    /// Its size in bytes, the lowest 31 bits, if that is recorded.
    pub size: u32,
    /// Its mtime in seconds, the lowest 31 bits, if that is recorded.
    pub mtime_s: u32,
    /// Its mtime, nanoseconds within the second; 0 where they are not known.
    pub mtime_ns: u32,
}

impl Entry {
    /// Whether it is tracked in the working copy.
    pub fn is_tracked(&self) -> bool {
        self.flags.has(Flags::WDIR_TRACKED)
    }

    /// Whether it is no longer tracked, but was in a parent.
    pub fn is_removed(&self) -> bool {
        !self.is_tracked() && self.flags.is_any_tracked()
    }

    /// Whether it is tracked, and in no parent.
    pub fn is_added(&self) -> bool {
        self.is_tracked() && self.flags.0 & (Flags::P1_TRACKED | Flags::P2_INFO).0 == 0
    }

    /// Whether a merge took something of it from the second parent.
    pub fn has_p2_info(&self) -> bool {
        self.is_tracked() && self.flags.has(Flags::P2_INFO)
    }
}
