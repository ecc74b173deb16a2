//! Whether the wall clock stepped back since something was recorded.
//!
//! Files are stamped by the wall clock, and a stamp that stays what it was proves something only as long as that
//! clock does not show the same time twice. Steps forward do no harm: later changes get later stamps all the same.
//! What a step back leaves behind is found by [`distrusted_from`].

use crate::timestamp::{Granularity, Timestamp};

/// How far two readings of clocks may be apart that do not stem from one instant, and how long before it a change
/// may be stamped, with the time of the last tick: nanoseconds. Steps back of less are not seen.
const SLACK_NS: i128 = 10_000_000;

/// A step back by more than this, in nanoseconds, is that of a clock that has lost the time altogether: a year.
const LOST_NS: i128 = 365 * 86400 * SECOND_NS;

/// A wall clock that shows an earlier time was never set, in seconds since 1970: 2020 began.
const SET_SINCE_S: i64 = 1_577_836_800;

const SECOND_NS: i128 = 1_000_000_000;

/// What the clocks showed when something was recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockMark {
    /// The wall clock (`CLOCK_REALTIME`).
    pub wall: Timestamp,
    /// The time since the machine started, sleep included (`CLOCK_BOOTTIME`).
    pub since_boot: Timestamp,
    /// Which start of the machine it was (`/proc/sys/kernel/random/boot_id`); zero if that is not known.
    pub boot: [u8; 16],
}

impl ClockMark {
    /// How many bytes [`ClockMark::to_bytes`] makes.
    pub const LEN: usize = 48;

    /// The mark for a file on disk, little-endian: seconds and nanoseconds of the wall clock, then of the time since
    /// the start, 8 bytes each; the start's 16 bytes.
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

    /// The mark that `bytes` stand for. Any bytes are a mark; one with impossible times is believed by nobody.
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

/// From which time on mtimes and ctimes that were recorded under the mark `recorded` prove nothing any more, because
/// the wall clock may have shown that time again since; `None` if they all do. [`Timestamp::MIN`] if none does. A
/// stamp that is earlier is proof as before.
///
/// The mark must have been made before what is recorded was looked at, and it holds for all that is recorded under
/// it: what is not looked at again may get a new mark only if it is not distrusted under the old one.
///
/// Within one run of the machine, wall clock and time since the start go at one pace, however they are slewed
/// (adjtimex(2)), and only a step of the wall clock moves them against each other. What the wall clock would have
/// shown at the recording, had it been set as it is now, is thus the earliest time that it has shown since, if it
/// made one step.
///
/// Across runs, all that is known is that this one began after the recording. If it began before it, as the wall
/// clock has it now, that clock was set back, and has shown all times since then for a second time. Where it is not
/// known whether it is the same run, it is taken for the same as long as it may be.
///
/// What cannot be found: of a clock that was set back and then forward again between two marks, more than what is left
/// of the step (nothing, if it is right again); the same while the machine was off, or early in a run; and steps of
/// less than some milliseconds. A change that was made under the wrong clock is then missed if its stamps are the
/// recorded ones to the last digit that the file system keeps, and the size is the same. Processes in another time
/// namespace (time_namespaces(7)) may take its offset for a step.
pub fn distrusted_from(recorded: &ClockMark, now: &ClockMark) -> Option<Timestamp> {
    if !recorded.is_possible() || !now.is_possible() {
        return Some(Timestamp::MIN);
    }
    let since_boot = nanoseconds(now.since_boot);
    let elapsed = since_boot - nanoseconds(recorded.since_boot);
    let is_run_known = recorded.boot != [0; 16] && now.boot != [0; 16];
    let is_same_run = is_run_known && recorded.boot == now.boot;
    if is_same_run && elapsed < 0 {
        // A machine that was put back to an earlier state of itself.
        return Some(Timestamp::MIN);
    }
    if !is_same_run && recorded.wall.s < SET_SINCE_S {
        // Each run that begins without the time passes through the same times.
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
    // The coarsest file system cuts its stamps down to two seconds.
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
