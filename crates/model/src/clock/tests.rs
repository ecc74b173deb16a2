use proptest::prelude::*;

use super::*;

const BOOT: [u8; 16] = [7; 16];
const OTHER_BOOT: [u8; 16] = [8; 16];
const UNKNOWN_BOOT: [u8; 16] = [0; 16];

/// A time of day in 2023, in seconds and milliseconds.
fn at(s: i64, ms: u32) -> Timestamp {
    Timestamp {
        s: 1_700_000_000 + s,
        ns: ms * 1_000_000,
    }
}

fn mark(wall: Timestamp, since_boot_s: i64, boot: [u8; 16]) -> ClockMark {
    ClockMark {
        wall,
        since_boot: Timestamp {
            s: since_boot_s,
            ns: 0,
        },
        boot,
    }
}

#[test]
fn within_one_boot_a_step_back_shows_against_the_uptime() {
    let recorded = mark(at(1000, 0), 50, BOOT);
    let from = |wall, since_boot_s| untrusted_since(&recorded, &mark(wall, since_boot_s, BOOT));
    assert_eq!(from(at(1000, 0), 50), None);
    assert_eq!(from(at(1100, 0), 150), None);
    // The machine was suspended, or the clock was set forward.
    assert_eq!(from(at(9100, 0), 8150), None);
    assert_eq!(from(at(9100, 0), 150), None);
    // Two readings that were not taken at the same instant.
    assert_eq!(from(at(1099, 995), 150), None);

    // Back by 20 seconds: at the recording the clock would have shown 980.
    assert_eq!(from(at(1080, 0), 150), Some(at(978, 0)));
    assert_eq!(from(at(980, 0), 50), Some(at(978, 0)));
    // A leap second.
    assert_eq!(from(at(1099, 0), 150), Some(at(998, 0)));
    assert_eq!(from(at(1099, 980), 150), Some(at(998, 0)));
    // Back by ten years.
    assert_eq!(from(at(-315_000_000, 0), 150), Some(Timestamp::MIN));
}

#[test]
fn across_boots_a_start_before_the_recording_is_a_step_back() {
    for (then, since) in [
        (BOOT, OTHER_BOOT),
        (UNKNOWN_BOOT, UNKNOWN_BOOT),
        (BOOT, UNKNOWN_BOOT),
        (UNKNOWN_BOOT, BOOT),
    ] {
        let recorded = mark(at(1000, 0), 50, then);
        let from =
            |wall, since_boot_s| untrusted_since(&recorded, &mark(wall, since_boot_s, since));
        assert_eq!(from(at(1100, 0), 70), None);
        assert_eq!(from(at(1001, 0), 1), None);
        // The clock shows an earlier time than before.
        assert_eq!(from(at(900, 0), 5), Some(at(894, 0)));
        assert_eq!(from(at(-40_000_000, 0), 5), Some(Timestamp::MIN));
    }
}

#[test]
fn a_clock_that_catches_up_was_behind_when_the_machine_started() {
    let recorded = mark(at(1000, 0), 50, BOOT);
    let now = mark(at(1100, 0), 111, OTHER_BOOT);
    assert_eq!(untrusted_since(&recorded, &now), Some(at(988, 0)));
}

#[test]
fn an_unknown_boot_may_be_the_same() {
    for (then, since) in [
        (UNKNOWN_BOOT, UNKNOWN_BOOT),
        (BOOT, UNKNOWN_BOOT),
        (UNKNOWN_BOOT, BOOT),
    ] {
        let recorded = mark(at(1000, 0), 50, then);
        let from = |wall| untrusted_since(&recorded, &mark(wall, 150, since));
        assert_eq!(from(at(1100, 0)), None);
        // If it is another boot, the clock has shown everything since 930.
        assert_eq!(from(at(1080, 0)), Some(at(928, 0)));
    }
}

#[test]
fn impossible_marks_are_not_believed() {
    let good = mark(at(1000, 0), 50, BOOT);
    let nothing = Some(Timestamp::MIN);
    // A machine whose memory was restored to an earlier state.
    assert_eq!(
        untrusted_since(&good, &mark(at(1000, 0), 49, BOOT)),
        nothing
    );
    let mut bad_wall = good;
    bad_wall.wall.ns = 1_000_000_000;
    let mut bad_boottime = good;
    bad_boottime.since_boot.ns = u32::MAX;
    for bad in [bad_wall, bad_boottime, mark(at(1000, 0), -1, BOOT)] {
        assert_eq!(untrusted_since(&bad, &good), nothing);
        assert_eq!(untrusted_since(&good, &bad), nothing);
    }
    let blank = ClockMark::from_bytes(&[0; ClockMark::LEN]);
    assert_eq!(untrusted_since(&blank, &good), nothing);
    assert_eq!(
        untrusted_since(&ClockMark::from_bytes(&[0xff; ClockMark::LEN]), &good),
        nothing
    );
    // A machine without a battery-backed clock: each boot begins in 1970.
    let unset = mark(Timestamp { s: 60, ns: 0 }, 60, BOOT);
    assert_eq!(
        untrusted_since(&unset, &mark(at(0, 0), 70, OTHER_BOOT)),
        nothing
    );
    let later = mark(Timestamp { s: 70, ns: 0 }, 70, BOOT);
    assert_eq!(untrusted_since(&unset, &later), None);
}

#[test]
fn a_mark_survives_encoding() {
    let mark = ClockMark {
        wall: Timestamp { s: -2, ns: 3 },
        since_boot: Timestamp { s: 4, ns: 5 },
        boot: std::array::from_fn(|at| at as u8),
    };
    let bytes = mark.to_bytes();
    assert_eq!(bytes[..8], (-2_i64).to_le_bytes());
    assert_eq!(bytes[8..16], 3_u64.to_le_bytes());
    assert_eq!(bytes[16..24], 4_u64.to_le_bytes());
    assert_eq!(bytes[24..32], 5_u64.to_le_bytes());
    assert_eq!(bytes[32..], mark.boot);
    assert_eq!(ClockMark::from_bytes(&bytes), mark);
}

proptest! {
    #[test]
    fn any_bytes_are_a_mark(bytes: [u8; 48], other: [u8; 48]) {
        let marks = [bytes, other].map(|bytes| ClockMark::from_bytes(&bytes));
        prop_assert_eq!(ClockMark::from_bytes(&marks[0].to_bytes()), marks[0]);
        untrusted_since(&marks[0], &marks[1]);
    }

    /// If the clock steps once or twice in the same direction, a recorded stamp that is still trusted is older
    /// than every later stamp.
    #[test]
    fn no_stamp_comes_again_that_is_still_believed(
        before_s in 0_i64..100,
        steps in proptest::array::uniform2((0_i64..100, -100_i64..100)),
        change_s in 0_i64..300,
        end_s in 0_i64..300,
    ) {
        prop_assume!(steps[0].1.signum() == steps[1].1.signum());
        let wall = |since_recording: i64| {
            let stepped = steps.iter().filter(|step| step.0 < since_recording);
            at(1000 + since_recording + stepped.map(|step| step.1).sum::<i64>(), 0)
        };
        let recorded = mark(at(1000, 0), 50, BOOT);
        let end_s = change_s + end_s;
        let now = mark(wall(end_s), 50 + end_s, BOOT);
        let old_stamp = at(1000 - before_s - 1, 0);
        let new_stamp = wall(change_s);
        let is_believed = untrusted_since(&recorded, &now).is_none_or(|from| old_stamp < from);
        prop_assert!(!is_believed || new_stamp > old_stamp);
    }
}
