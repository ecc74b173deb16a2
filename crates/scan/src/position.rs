//! Where a walk is in the tree of tracked files.

use bstr::{BStr, BString, ByteSlice};
use vigil_model::tracked::{Budget, DirNumber, Directory, ROOT, Subdir, Tracked, TrackedFile};

/// A directory with tracked files.
#[derive(Clone)]
pub(super) struct Spot {
    pub(super) number: DirNumber,
    /// How many index entries come before those of its tree.
    first: u32,
    /// The path, without a slash at its end.
    pub(super) path: BString,
    /// Whether all of it is looked at, where only a part of the tree is.
    pub(super) is_whole: bool,
    /// Whether a directory above cannot be listed: then nothing is told of but what is tracked.
    pub(super) is_out_of_sight: bool,
}

impl Spot {
    /// The top of the working tree.
    pub(super) fn top() -> Self {
        Self {
            number: ROOT,
            first: 0,
            path: BString::default(),
            is_whole: false,
            is_out_of_sight: false,
        }
    }
}

/// A directory with tracked files, read.
pub(super) struct Here<'t> {
    pub(super) directory: Directory<'t>,
    pub(super) path: &'t BStr,
    pub(super) number: DirNumber,
    first: u32,
    pub(super) is_whole: bool,
    /// Whether that holds for what is below.
    pub(super) is_out_of_sight: bool,
}

impl<'t> Here<'t> {
    pub(super) fn read(spot: &'t Spot, tracked: &'t Tracked) -> Self {
        Self {
            directory: tracked.directory(spot.number),
            path: spot.path.as_bstr(),
            number: spot.number,
            first: spot.first,
            is_whole: spot.is_whole,
            is_out_of_sight: spot.is_out_of_sight,
        }
    }

    /// The same in a walk, when it comes there.
    pub(super) fn met(spot: &'t Spot, tracked: &'t Tracked, budget: &Budget) -> Self {
        Self {
            directory: tracked.met(spot.number, spot.path.len(), budget),
            path: spot.path.as_bstr(),
            number: spot.number,
            first: spot.first,
            is_whole: spot.is_whole,
            is_out_of_sight: spot.is_out_of_sight,
        }
    }

    /// The subdirectory `sub`.
    pub(super) fn below(&self, sub: &Subdir<'_>) -> Spot {
        Spot {
            number: sub.number,
            first: self.first.saturating_add(sub.before),
            path: vigil_model::path::join(self.path, sub.name()),
            is_whole: self.is_whole,
            is_out_of_sight: self.is_out_of_sight,
        }
    }

    /// The number of the file at `at` among all entries of the index.
    pub(super) fn entry_number(&self, at: usize) -> u32 {
        self.first.saturating_add(self.directory.offset(at))
    }

    /// Whether the file at `at` is another stage of the path before it: of an unmerged path only the first counts. A
    /// conflict is looked at besides a merged entry of its path.
    #[inline]
    pub(super) fn is_later_stage(&self, at: usize, file: &TrackedFile<'_>) -> bool {
        file.is_side()
            && at
                .checked_sub(1)
                .and_then(|before| self.directory.file(before))
                .is_some_and(|before| before.is_side() && before.name() == file.name())
    }
}
