//! The two sides of a status.

use vigil_hg::revision::{Revisions, Target};

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pair {
    /// The working copy with its first parent.
    WorkingCopy,
    /// One changeset, or the working copy, with another.
    Targets([Target; 2]),
}

impl Pair {
    /// Makes a pair; `revisions` knows the first parent.
    pub(super) fn new([from, to]: [Target; 2], revisions: &Revisions<'_>) -> Self {
        match to == Target::WorkingCopy && from == revisions.parent() {
            true => Self::WorkingCopy,
            false => Self::Targets([from, to]),
        }
    }

    pub(super) fn has_working_copy(self) -> bool {
        self.ends_in_working_copy() || matches!(self, Self::Targets([Target::WorkingCopy, _]))
    }

    pub(super) fn ends_in_working_copy(self) -> bool {
        matches!(
            self,
            Self::WorkingCopy | Self::Targets([_, Target::WorkingCopy])
        )
    }
}
