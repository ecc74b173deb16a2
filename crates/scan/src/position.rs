//! The walk's position in the tree of tracked files.

use bstr::{BStr, BString, ByteSlice};
use vigil_model::tracked::{Budget, DirNumber, Directory, ROOT, Subdir, Tracked, TrackedFile};

/// A directory with tracked files.
#[derive(Clone)]
pub(super) struct DirPosition {
    pub(super) number: DirNumber,
    /// The number of index entries before the first entry of this directory's tree.
    first: u32,
    /// The path, without a trailing slash.
    pub(super) path: BString,
    /// Whether all of it is looked at, if the scan has a focus.
    pub(super) is_whole: bool,
    /// Whether a directory above cannot be listed: only tracked files are then reported.
    pub(super) is_below_unlisted: bool,
}

impl DirPosition {
    /// The top of the working tree.
    pub(super) fn top() -> Self {
        Self {
            number: ROOT,
            first: 0,
            path: BString::default(),
            is_whole: false,
            is_below_unlisted: false,
        }
    }

    /// Moves to the directory `number`, called `name`, in the directory whose path is the first `above_len` bytes of the path.
    /// `first` is the number of index entries before the first entry of its tree.
    pub(super) fn move_to(&mut self, number: DirNumber, first: u32, above_len: usize, name: &BStr) {
        self.number = number;
        self.first = first;
        self.path.truncate(above_len);
        if above_len > 0 {
            self.path.push(b'/');
        }
        self.path.extend_from_slice(name);
    }
}

/// A directory with tracked files, with its block read.
pub(super) struct CurrentDir<'t> {
    pub(super) directory: Directory<'t>,
    pub(super) path: &'t BStr,
    pub(super) number: DirNumber,
    first: u32,
    pub(super) is_whole: bool,
    /// Whether the directories below are below one that cannot be listed.
    pub(super) is_below_unlisted: bool,
}

impl<'t> CurrentDir<'t> {
    pub(super) fn read(position: &'t DirPosition, tracked: &'t Tracked) -> Self {
        Self {
            directory: tracked.directory(position.number),
            path: position.path.as_bstr(),
            number: position.number,
            first: position.first,
            is_whole: position.is_whole,
            is_below_unlisted: position.is_below_unlisted,
        }
    }

    /// Like [`Self::read`], when a walk first enters the directory.
    pub(super) fn enter(position: &'t DirPosition, tracked: &'t Tracked, budget: &Budget) -> Self {
        Self {
            directory: tracked.visit_within(position.number, position.path.len(), budget),
            path: position.path.as_bstr(),
            number: position.number,
            first: position.first,
            is_whole: position.is_whole,
            is_below_unlisted: position.is_below_unlisted,
        }
    }

    /// Returns the position of the subdirectory `sub`.
    pub(super) fn below(&self, sub: &Subdir<'_>) -> DirPosition {
        DirPosition {
            number: sub.number,
            first: self.first_below(sub),
            path: vigil_model::path::join(self.path, sub.name()),
            is_whole: self.is_whole,
            is_below_unlisted: self.is_below_unlisted,
        }
    }

    /// Returns the number of index entries before the first entry of the tree of the subdirectory `sub`.
    pub(super) fn first_below(&self, sub: &Subdir<'_>) -> u32 {
        self.first.saturating_add(sub.before)
    }

    /// Returns the number, among all entries of the index, of the file at position `at`.
    pub(super) fn entry_number(&self, at: usize) -> u32 {
        self.first.saturating_add(self.directory.offset(at))
    }

    /// Whether the file at position `at` is a later side of the conflict of the path before it: of the sides, only
    /// the first counts. If a path has a merged entry besides, both are looked at.
    #[inline]
    pub(super) fn is_later_stage(&self, at: usize, file: &TrackedFile<'_>) -> bool {
        file.is_side()
            && at
                .checked_sub(1)
                .and_then(|before| self.directory.file(before))
                .is_some_and(|before| before.is_side() && before.name() == file.name())
    }
}
