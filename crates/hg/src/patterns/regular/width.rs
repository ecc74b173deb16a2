//! The length of what an expression matches.

/// The least and the greatest length, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Width {
    least: u64,
    most: u64,
}

impl Width {
    pub(super) const NOTHING: Self = Self { least: 0, most: 0 };
    pub(super) const ONE: Self = Self { least: 1, most: 1 };

    /// The width of a sequence of two.
    pub(super) fn and(self, next: Self) -> Self {
        Self {
            least: self.least.saturating_add(next.least),
            most: self.most.saturating_add(next.most),
        }
    }

    /// The width of an alternative of two.
    pub(super) fn or(self, other: Self) -> Self {
        Self {
            least: self.least.min(other.least),
            most: self.most.max(other.most),
        }
    }

    /// The width of a repetition.
    pub(super) fn times(self, least: u32, most: Option<u32>) -> Self {
        let most = most.map_or(u64::MAX, u64::from);
        Self {
            least: self.least.saturating_mul(u64::from(least)),
            most: self.most.saturating_mul(most),
        }
    }

    /// The length in bytes, if it is fixed.
    pub(super) fn exact(self) -> Option<usize> {
        let least = usize::try_from(self.least).ok();
        least.filter(|_| self.least == self.most)
    }
}
