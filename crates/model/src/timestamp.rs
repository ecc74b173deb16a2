//! When a modification time may be trusted: the racy rule, written once.

/// A point in time in seconds and nanoseconds since 1970.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp {
    /// Whole seconds; negative before 1970.
    pub s: i64,
    /// Nanoseconds within the second.
    pub ns: u32,
}

/// Whether a file whose mtime is `mtime` may have changed after an observation at `observed_at` and still
/// have that mtime.
///
/// The kernel stamps a change with the time of the tick in which it happens, so a change after the
/// observation bears a stamp that is `observed_at` or later. An mtime at, or after, the observation therefore
/// proves nothing. A file system that stores whole (or even) seconds cuts the stamp down: an mtime without
/// nanoseconds is taken to be such a stamp, and must lie two full seconds back.
pub fn is_racy(mtime: Timestamp, observed_at: Timestamp) -> bool {
    if mtime.ns == 0 {
        return mtime.s.saturating_add(2) >= observed_at.s;
    }
    mtime >= observed_at
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(s: i64, ns: u32) -> Timestamp {
        Timestamp { s, ns }
    }

    #[test]
    fn only_an_mtime_before_the_observation_is_proof() {
        assert!(!is_racy(at(10, 1), at(10, 2)));
        assert!(is_racy(at(10, 2), at(10, 2)));
        assert!(is_racy(at(10, 3), at(10, 2)));
        assert!(is_racy(at(11, 3), at(10, 2)));
    }

    #[test]
    fn a_whole_second_may_stand_for_two() {
        assert!(is_racy(at(10, 0), at(12, 999_999_999)));
        assert!(!is_racy(at(10, 0), at(13, 0)));
    }
}
