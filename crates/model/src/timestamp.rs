//! When a time stamp may be trusted: the racy rule, written once.

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
    /// Before all others.
    pub const MIN: Self = Self { s: i64::MIN, ns: 0 };
}

/// Whether a file whose mtime (or ctime) is `stamp` may have changed after an observation at `observed_at` and still
/// have that stamp. How far its file system cuts stamps down is told from the stamp: [`Granularity::of`].
#[inline]
pub fn is_racy(stamp: Timestamp, observed_at: Timestamp) -> bool {
    is_racy_at(stamp, observed_at, None)
}

/// As [`is_racy`], where it may be known how far the file system cuts stamps down.
///
/// `observed_at` is what `CLOCK_REALTIME_COARSE`, the time of the last tick, showed before the observation. A change
/// after it gets, by the kernel's rules, one of these:
/// - the time of the last tick, as ever: of the observation's own tick, or a later one;
/// - where the old stamp was looked at meanwhile, the exact time (multigrain timestamps, since Linux 6.13), which is
///   later than the tick.
///
/// The file system then cuts that down to its unit. So a change after the observation bears a stamp that is
/// `observed_at`, cut down, or later, and an earlier one is proof that there was none. It matters not
/// - whether a stamp that is racy is that of a change before the observation: all that an exact stamp of the
///   observation's own tick costs is another look;
/// - whether the stamp is before 1970, which says no more than that somebody set it: any change moves it to now;
/// - whether it is in the future: a change would move it back to now, but such a stamp is not trusted. Somebody set
///   it, or the clock, and may do so again.
///
/// All this holds for mtime and ctime alike, and both should pass: a change moves both, mtime can be set back by
/// anybody, and ctime is not what it should be on every file system. It does not hold across steps of the clock. A
/// store into shared memory (mmap(2)) moves them no later than the kernel writes it back, which is when git sees it too.
#[inline]
pub fn is_racy_at(
    stamp: Timestamp,
    observed_at: Timestamp,
    granularity: Option<Granularity>,
) -> bool {
    let granularity = granularity.unwrap_or_else(|| Granularity::of(stamp));
    stamp >= granularity.cut(observed_at)
}

#[cfg(test)]
mod tests;
