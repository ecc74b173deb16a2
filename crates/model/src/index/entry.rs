//! One entry of the index.

use std::cmp::Ordering;

use bstr::{BStr, ByteSlice};
use gix_hash::{ObjectId, oid};

use crate::facts::RecordedStat;
use crate::mode::FileMode;

/// The flags of an entry, with git's own bits: the first 16 as on disk, the extended ones shifted left
/// by 16.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EntryFlags(pub u32);

impl EntryFlags {
    /// `assume-unchanged`: the user promises that the file does not change.
    pub(crate) const ASSUME_VALID: u32 = 0x8000;
    /// The entry has extended flags.
    pub(crate) const EXTENDED: u32 = 0x4000;
    /// `skip-worktree`: the file is not in the working tree, because of the sparse checkout or because
    /// the user said so.
    pub(crate) const SKIP_WORKTREE: u32 = 0x4000_0000;
    /// `intent-to-add`: the path is tracked, but its contents are not yet.
    pub(crate) const INTENT_TO_ADD: u32 = 0x2000_0000;

    /// The merge stage: 0 for a merged path, 1 base, 2 ours, 3 theirs.
    pub fn stage(self) -> u8 {
        ((self.0 >> 12) & 3) as u8
    }

    /// Whether the user promised that the file does not change.
    pub fn is_assume_valid(self) -> bool {
        self.0 & Self::ASSUME_VALID != 0
    }

    /// Whether the file is not expected in the working tree.
    pub fn is_skip_worktree(self) -> bool {
        self.0 & Self::SKIP_WORKTREE != 0
    }

    /// Whether only the intent to add is recorded.
    pub fn is_intent_to_add(self) -> bool {
        self.0 & Self::INTENT_TO_ADD != 0
    }
}

/// One entry of the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The stat data recorded when the entry was made or last refreshed.
    pub stat: RecordedStat,
    /// Type and executable bit.
    pub mode: FileMode,
    /// The blob, or the commit of a submodule, or the tree of a sparse directory.
    pub id: ObjectId,
    /// The stage and the marks.
    pub flags: EntryFlags,
    pub(super) path_start: u32,
    pub(super) path_len: u32,
}

impl Entry {
    /// An entry without its path, which is kept elsewhere. Any version control system's record of a
    /// file has this form.
    pub fn new(stat: RecordedStat, mode: FileMode, id: ObjectId, flags: EntryFlags) -> Self {
        Self {
            stat,
            mode,
            id,
            flags,
            path_start: 0,
            path_len: 0,
        }
    }
}

// A large index has hundreds of thousands of these.
const _: () = assert!(size_of::<Entry>() <= 90);

impl Entry {
    /// The blob, or the commit of a submodule, or the tree of a sparse directory.
    #[inline]
    pub fn id(&self) -> &oid {
        &self.id
    }

    /// Whether this stands for a whole directory outside the sparse checkout; its path ends in `/`.
    #[inline]
    pub fn is_sparse_directory(&self) -> bool {
        self.mode.is_tree()
    }
}

/// git's order of entries: path bytes, the shorter first, then stage.
pub(super) fn compare(a: (&BStr, u8), b: (&BStr, u8)) -> Ordering {
    a.0.as_bytes().cmp(b.0.as_bytes()).then(a.1.cmp(&b.1))
}
