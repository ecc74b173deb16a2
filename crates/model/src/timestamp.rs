//! When a timestamp may be trusted: the racy rule, written once.

mod granularity;

pub use granularity::Granularity;

/// A point in time in seconds and nanoseconds since 1970.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp {
    /// Whole seconds; negative before 1970.
    pub s: i64,
    /// Nanoseconds within the second, which count forward before 1970 too.
    pub ns: u32,
}

impl Timestamp {
    /// Earlier than any other.
    pub const MIN: Self = Self { s: i64::MIN, ns: 0 };
}

/// Whether a file with the mtime (or ctime) `stamp` may have changed after an observation at `observed_at` and still
/// have that stamp. The granularity of its file system is guessed from the stamp: [`Granularity::of`].
///
/// `observed_at` is the time of the last tick before the observation (`CLOCK_REALTIME_COARSE`). The kernel stamps a
/// later change with one of these:
/// - the time of the last tick, as always: that of the observation, or a later one;
/// - if the old stamp was queried in between, the exact time (multigrain timestamps, since Linux 6.13), which is later
///   than the tick.
///
/// The file system then rounds that down to its unit. So a change after the observation gets a stamp that is not earlier
/// than `observed_at` rounded down, and an earlier stamp proves that there was no change. It does not matter
/// - whether a racy stamp stems from a change before the observation: an exact stamp of the observation's own tick only
///   costs another look;
/// - whether the stamp is before 1970, which only says that somebody set it: any change moves it to now;
/// - whether it is in the future: a change would move it back to now, but such a stamp is not trusted. Somebody set it,
///   or the clock, and may do so again.
///
/// All this holds for mtime and ctime alike, and both should pass. A change moves both, but anybody can set mtime back,
/// and ctime is not reliable on every file system. It does not hold across steps of the clock. A store into shared
/// memory (mmap(2)) moves them no later than the kernel writes it back, which is also when git notices it.
#[inline]
pub fn is_racy(stamp: Timestamp, observed_at: Timestamp) -> bool {
    stamp >= Granularity::of(stamp).cut(observed_at)
}

#[cfg(test)]
mod tests;
