//! The clocks, and the id of the current boot.

use rustix::fs::{Mode, OFlags, open};
use rustix::io::read;
use rustix::time::{ClockId, Timespec, clock_gettime};

/// How far apart two readings may be and still count as one instant, in nanoseconds.
const INSTANT_NS: i64 = 100_000;

/// The number of attempts to read both clocks within one instant.
const TRIES_MAX: usize = 8;

/// What two clocks showed at the same instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clocks {
    /// The wall clock (`CLOCK_REALTIME`), whole seconds since 1970.
    pub wall_s: i64,
    /// The wall clock, nanoseconds within the second.
    pub wall_ns: u32,
    /// The time since the machine booted, including suspended time (`CLOCK_BOOTTIME`), whole seconds.
    pub since_boot_s: i64,
    /// The time since the machine booted, nanoseconds within the second.
    pub since_boot_ns: u32,
}

/// Reads the clocks. Tries again, up to a limit, if the thread is interrupted between two readings.
pub fn clocks() -> Clocks {
    let mut best = None;
    for _ in 0..TRIES_MAX {
        let before = clock_gettime(ClockId::Boottime);
        let wall = clock_gettime(ClockId::Realtime);
        let gap = between(before, clock_gettime(ClockId::Boottime));
        if best.is_none_or(|(least, _, _)| gap < least) {
            best = Some((gap, wall, before));
        }
        if gap <= INSTANT_NS {
            break;
        }
    }
    let (wall, since_boot) = best.map_or_else(Default::default, |(_, wall, boot)| (wall, boot));
    Clocks {
        wall_s: wall.tv_sec,
        wall_ns: nanoseconds(wall),
        since_boot_s: since_boot.tv_sec,
        since_boot_ns: nanoseconds(since_boot),
    }
}

/// The id of the current boot (`/proc/sys/kernel/random/boot_id`, random(4)). `None` if it cannot be read.
pub fn boot_id() -> Option<[u8; 16]> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let file = open("/proc/sys/kernel/random/boot_id", flags, Mode::empty()).ok()?;
    let mut text = [0; 64];
    let length = read(&file, &mut text).ok()?;
    parse_uuid(text.get(..length)?)
}

/// The bytes written as the 32 hexadecimal digits of `text`. Hyphens and newlines are skipped.
fn parse_uuid(text: &[u8]) -> Option<[u8; 16]> {
    let mut digits = text
        .iter()
        .filter(|byte| !matches!(byte, b'-' | b'\n'))
        .map(|byte| {
            char::from(*byte)
                .to_digit(16)
                .and_then(|digit| u8::try_from(digit).ok())
        });
    let mut id = [0; 16];
    for byte in &mut id {
        *byte = digits.next()?? << 4 | digits.next()??;
    }
    digits.next().is_none().then_some(id)
}

fn between(earlier: Timespec, later: Timespec) -> i64 {
    let seconds = later.tv_sec.saturating_sub(earlier.tv_sec);
    let nanoseconds = i64::from(nanoseconds(later)) - i64::from(nanoseconds(earlier));
    seconds
        .saturating_mul(1_000_000_000)
        .saturating_add(nanoseconds)
}

fn nanoseconds(time: Timespec) -> u32 {
    u32::try_from(time.tv_nsec).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::*;

    #[test]
    fn the_clocks_are_those_of_the_machine() {
        let wall = |time: SystemTime| time.duration_since(SystemTime::UNIX_EPOCH).unwrap();
        let before = wall(SystemTime::now());
        let (first, second) = (clocks(), clocks());
        let after = wall(SystemTime::now());
        let shown = Duration::new(first.wall_s.try_into().unwrap(), first.wall_ns);
        assert!(before <= shown && shown <= after);
        let since_boot = |at: Clocks| (at.since_boot_s, at.since_boot_ns);
        assert!((0, 0) < since_boot(first) && since_boot(first) <= since_boot(second));
        assert!(first.since_boot_s < first.wall_s);
    }

    #[test]
    fn the_number_of_this_start_is_read_to_the_end() {
        let text = b"01234567-89ab-cdef-0123-456789ABCDEF\n";
        let expected = [1, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef];
        assert_eq!(parse_uuid(text).unwrap()[..8], expected);
        assert_eq!(parse_uuid(text).unwrap()[8..], expected);
        for other in ["", "0", "01234567-89ab-cdef-0123-456789ABCDE"] {
            assert_eq!(parse_uuid(other.as_bytes()), None);
        }
        assert_eq!(parse_uuid(&[text.as_slice(), b"0"].concat()), None);
        assert_eq!(parse_uuid(b"g1234567-89ab-cdef-0123-456789abcdef"), None);
        let id = boot_id().unwrap();
        assert_ne!(id, [0; 16]);
        assert_eq!(boot_id(), Some(id));
    }
}
