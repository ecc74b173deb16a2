//! The dirstate entry of one file.

use std::ops::BitOr;

use vigil_linux::stat::Stat;

/// The flags of an entry: the bits of the second format. Entries of the first format are translated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(pub u16);

impl Flags {
    /// The file is tracked in the working copy.
    pub(crate) const WDIR_TRACKED: Self = Self(1);
    /// The file is in the first parent.
    pub(crate) const P1_TRACKED: Self = Self(1 << 1);
    /// A merge took something of the file from the second parent.
    pub(crate) const P2_INFO: Self = Self(1 << 2);
    /// The file's owner may execute it.
    pub(crate) const MODE_EXEC_PERM: Self = Self(1 << 3);
    /// The file is a symbolic link.
    pub(crate) const MODE_IS_SYMLINK: Self = Self(1 << 4);
    /// The file is known to differ from its parent's.
    pub(crate) const EXPECTED_STATE_IS_MODIFIED: Self = Self(1 << 9);
    /// Mode and size are recorded.
    pub const HAS_MODE_AND_SIZE: Self = Self(1 << 10);
    /// The mtime is recorded.
    pub const HAS_MTIME: Self = Self(1 << 11);
    /// The file may have changed within the second of its mtime.
    pub(crate) const MTIME_SECOND_AMBIGUOUS: Self = Self(1 << 12);
    /// The entry is a directory, whose mtime is recorded.
    pub const DIRECTORY: Self = Self(1 << 13);
    /// All files in the directory that are neither tracked nor ignored have records.
    pub(crate) const ALL_UNKNOWN_RECORDED: Self = Self(1 << 14);

    /// Returns whether all of `flags` are set.
    pub fn has(self, flags: Self) -> bool {
        self.0 & flags.0 == flags.0
    }

    /// Returns the flags without `flags`.
    #[must_use]
    pub fn without(self, flags: Self) -> Self {
        Self(self.0 & !flags.0)
    }

    /// Returns whether the file is tracked in the working copy or in a parent, so that it has a status.
    pub(crate) fn is_any_tracked(self) -> bool {
        self.0 & (Self::WDIR_TRACKED.0 | Self::P1_TRACKED.0 | Self::P2_INFO.0) != 0
    }
}

impl BitOr for Flags {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// The dirstate entry of one file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DirstateEntry {
    /// The flags.
    pub flags: Flags,
    /// The lowest 31 bits of the size in bytes, if recorded.
    pub size: u32,
    /// The lowest 31 bits of the mtime in seconds, if recorded.
    pub mtime_s: u32,
    /// The nanoseconds of the mtime within its second; 0 if unknown.
    pub mtime_ns: u32,
}

impl DirstateEntry {
    /// Returns whether the file is tracked in the working copy.
    pub fn is_tracked(&self) -> bool {
        self.flags.has(Flags::WDIR_TRACKED)
    }

    /// Returns whether the file is no longer tracked, but was in a parent.
    pub fn is_removed(&self) -> bool {
        !self.is_tracked() && self.flags.is_any_tracked()
    }

    /// Returns whether the file is tracked, and in no parent.
    pub fn is_added(&self) -> bool {
        self.is_tracked() && self.flags.0 & (Flags::P1_TRACKED | Flags::P2_INFO).0 == 0
    }

    /// Returns whether a file with this `stat` differs from the recorded one by its executable bit, or because only one of both is a
    /// symbolic link.
    pub fn has_other_mode(&self, stat: &Stat) -> bool {
        let is_other = |flag, is_set| self.flags.has(flag) != is_set;
        self.flags.has(Flags::HAS_MODE_AND_SIZE)
            && (is_other(Flags::MODE_EXEC_PERM, stat.mode & 0o100 != 0)
                || is_other(Flags::MODE_IS_SYMLINK, stat.is_symlink()))
    }

    /// Returns whether the file may have changed within the second of its recorded mtime: then the second alone proves
    /// nothing.
    pub fn is_second_ambiguous(&self) -> bool {
        self.flags.has(Flags::MTIME_SECOND_AMBIGUOUS)
    }

    /// Returns whether the file is tracked, and a merge took something of it from the second parent.
    pub fn has_p2_info(&self) -> bool {
        self.is_tracked() && self.flags.has(Flags::P2_INFO)
    }
}
