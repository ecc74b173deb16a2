//! Whether the wall clock was set back after something was recorded.
//!
//! Files are stamped with the wall clock. An unchanged stamp is proof only if that clock never shows the same time
//! twice. Steps forward do no harm, because later changes still get later stamps. [`untrusted_since`] finds the stamps
//! that a step back makes worthless.

use crate::timestamp::{Granularity, Timestamp};

/// How far apart two clock readings that were not taken at the same instant may be, and how old the last tick that
/// stamps a change may be, in nanoseconds. Smaller steps back are not noticed.
const SLACK_NS: i128 = 10_000_000;

/// A larger step back, in nanoseconds, means that the clock has lost the time altogether: a year.
const LOST_NS: i128 = 365 * 86400 * SECOND_NS;

/// A wall clock that shows an earlier time was never set: the start of 2020, in seconds since 1970.
const SET_SINCE_S: i64 = 1_577_836_800;

const SECOND_NS: i128 = 1_000_000_000;

/// What the clocks showed when something was recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockMark {
    /// The wall clock (`CLOCK_REALTIME`).
    pub wall: Timestamp,
    /// The time since the machine booted, including suspended time (`CLOCK_BOOTTIME`).
    pub since_boot: Timestamp,
    /// The id of that boot (`/proc/sys/kernel/random/boot_id`), or zero if it is not known.
    pub boot: [u8; 16],
}

impl ClockMark {
    /// The length of [`ClockMark::to_bytes`].
    pub const LEN: usize = 48;

    /// Encodes the mark for a file, little-endian: seconds and nanoseconds of the wall clock, then of the time since
    /// boot, 8 bytes each; then the boot id, 16 bytes.
    pub fn to_bytes(&self) -> [u8; Self::LEN] {
        let mut bytes = [0; Self::LEN];
        let numbers = [self.wall, self.since_boot]
            .map(|time| [time.s.to_le_bytes(), u64::from(time.ns).to_le_bytes()]);
        let fields = numbers.as_flattened().as_flattened();
        for (place, field) in bytes.iter_mut().zip(fields.iter().chain(&self.boot)) {
            *place = *field;
        }
        bytes
    }

    /// Decodes a mark. Any bytes decode, but a mark with impossible times is never trusted.
    pub fn from_bytes(bytes: &[u8; Self::LEN]) -> Self {
        let (numbers, boot) = bytes.split_at(32);
        let (numbers, _) = numbers.as_chunks::<8>();
        let mut numbers = numbers.iter().map(|field| i64::from_le_bytes(*field));
        let mut time = || Timestamp {
            s: numbers.next().unwrap_or_default(),
            ns: numbers
                .next()
                .and_then(|ns| ns.try_into().ok())
                .unwrap_or(u32::MAX),
        };
        Self {
            wall: time(),
            since_boot: time(),
            boot: boot.try_into().unwrap_or_default(),
        }
    }

    fn is_possible(&self) -> bool {
        let in_second = |time: Timestamp| i128::from(time.ns) < SECOND_NS;
        in_second(self.wall) && in_second(self.since_boot) && self.since_boot.s >= 0
    }
}

/// Returns the time from which on mtimes and ctimes recorded under the mark `recorded` are no longer proof, because
/// the wall clock may have shown them again since. Earlier stamps are still proof. `None` if all are,
/// [`Timestamp::MIN`] if none is.
///
/// The mark must be made before anything recorded under it is looked at, and it covers all of that. Something that is
/// not looked at again may get a new mark only if its stamps are trusted under the old one.
///
/// Within one boot, the wall clock and the time since boot advance at one pace, even while they are slewed
/// (adjtimex(2)); only a step of the wall clock moves them apart. So if the wall clock made one step, the earliest
/// time it has shown since the recording is the time it would have shown then, had it already been set as it is now.
///
/// Across boots, all that is known is that this boot began after the recording. If, by the wall clock as it is set
/// now, it began before the recording, then the clock was set back and has shown all times since the boot twice. Where
/// it is not known whether the boot is the same, it is taken for the same as long as that is possible.
///
/// What cannot be detected: a clock that was set back and then forward again between two marks, except for what is
/// left of the step (nothing, if the clock is right again); the same while the machine was off, or early in a boot;
/// and steps of less than a few milliseconds. A change made under the wrong clock is then missed if its stamps equal
/// the recorded ones to the last digit that the file system keeps, and the size is the same. The offset of another
/// time namespace (time_namespaces(7)) may be taken for a step.
pub fn untrusted_since(recorded: &ClockMark, now: &ClockMark) -> Option<Timestamp> {
    if !recorded.is_possible() || !now.is_possible() {
        return Some(Timestamp::MIN);
    }
    let since_boot = nanoseconds(now.since_boot);
    let elapsed = since_boot - nanoseconds(recorded.since_boot);
    let is_run_known = recorded.boot != [0; 16] && now.boot != [0; 16];
    let is_same_run = is_run_known && recorded.boot == now.boot;
    if is_same_run && elapsed < 0 {
        // The machine was restored to an earlier snapshot.
        return Some(Timestamp::MIN);
    }
    if !is_same_run && recorded.wall.s < SET_SINCE_S {
        // Every boot without the correct time passes through the same times.
        return Some(Timestamp::MIN);
    }
    let start = nanoseconds(now.wall) - since_boot;
    let may_be_same_run = is_same_run || !is_run_known && elapsed >= 0;
    let shown_at_recording = if may_be_same_run {
        nanoseconds(now.wall) - elapsed
    } else {
        start
    };
    let step = nanoseconds(recorded.wall) - shown_at_recording;
    if step <= SLACK_NS {
        return None;
    }
    if step > LOST_NS {
        return Some(Timestamp::MIN);
    }
    let earliest = if is_same_run {
        shown_at_recording
    } else {
        start
    };
    // The coarsest file system rounds stamps down to two seconds.
    Some(Granularity::TWO_SECONDS.cut(timestamp(earliest - SLACK_NS)))
}

fn nanoseconds(time: Timestamp) -> i128 {
    i128::from(time.s) * SECOND_NS + i128::from(time.ns)
}

fn timestamp(nanoseconds: i128) -> Timestamp {
    let s = i64::try_from(nanoseconds.div_euclid(SECOND_NS));
    let ns = u32::try_from(nanoseconds.rem_euclid(SECOND_NS));
    match (s, ns) {
        (Ok(s), Ok(ns)) => Timestamp { s, ns },
        _ => Timestamp::MIN,
    }
}

#[cfg(test)]
mod tests;
