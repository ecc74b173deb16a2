use super::granularity::SECOND_NS;
use super::*;

const fn at(s: i64, ns: u32) -> Timestamp {
    Timestamp { s, ns }
}

#[test]
fn only_a_stamp_before_the_observation_is_proof() {
    assert!(!is_racy(at(10, 1), at(10, 2)));
    assert!(is_racy(at(10, 2), at(10, 2)));
    assert!(is_racy(at(10, 3), at(10, 2)));
    assert!(is_racy(at(11, 3), at(10, 2)));
}

#[test]
fn a_whole_second_may_stand_for_two() {
    assert!(is_racy(at(10, 0), at(11, 999_999_999)));
    assert!(!is_racy(at(10, 0), at(12, 0)));
    assert!(is_racy(at(11, 0), at(11, 999_999_999)));
    assert!(!is_racy(at(11, 0), at(12, 0)));
}

#[test]
fn zeros_may_be_what_is_left_of_a_finer_time() {
    // exFAT stores hundredths of a second, UDF microseconds.
    assert!(is_racy(at(10, 120_000_000), at(10, 129_999_999)));
    assert!(!is_racy(at(10, 120_000_000), at(10, 130_000_000)));
    assert!(is_racy(at(10, 123_456_000), at(10, 123_456_999)));
    assert!(!is_racy(at(10, 123_456_000), at(10, 123_457_000)));
}

#[test]
fn times_before_1970_are_in_order() {
    // 1.5 seconds and 0.5 seconds before 1970.
    assert!(!is_racy(at(-2, 500_000_000), at(-1, 500_000_000)));
    assert!(is_racy(at(-1, 500_000_000), at(-2, 500_000_000)));
    assert!(is_racy(at(-2, 0), at(-1, 999_999_999)));
    assert!(!is_racy(at(-2, 0), at(0, 0)));
    assert_eq!(Granularity::TWO_SECONDS.cut(at(-1, 5)), at(-2, 0));
    assert_eq!(Granularity::SECOND.cut(at(-1, 5)), at(-1, 0));
    assert_eq!(
        Granularity::TWO_SECONDS.cut(at(i64::MIN, 5)),
        Timestamp::MIN
    );
}

#[test]
fn a_time_set_by_a_program_is_proof_only_in_the_past() {
    assert!(!is_racy(at(-1_000_000, 1), at(1_700_000_000, 5)));
    assert!(is_racy(at(4_000_000_000, 1), at(1_700_000_000, 5)));
    assert!(is_racy(at(4_000_000_000, 0), at(1_700_000_000, 5)));
}

/// Simulates a file that changes, is looked at and changes again, at all moments within some seconds. The clock
/// is the kernel's: stamps are the time of the last tick or, if the old stamp was queried, exact.
#[test]
fn no_change_after_the_look_hides_behind_a_trusted_stamp() {
    const MOMENT_NS: i64 = 50_000_000;
    const TICK: i64 = 4;
    let time = |moment: i64| {
        let ns = moment * MOMENT_NS + 7;
        let second = i64::from(SECOND_NS);
        at(
            ns.div_euclid(second),
            ns.rem_euclid(second).try_into().unwrap(),
        )
    };
    let tick = |moment: i64| moment - moment.rem_euclid(TICK);
    let tenth = Granularity::of(at(1, 100_000_000));
    let units = [
        Granularity::NANOSECOND,
        tenth,
        Granularity::SECOND,
        Granularity::TWO_SECONDS,
    ];
    let mut trusted = 0;
    for unit in units {
        for first in -45..0 {
            let old = unit.cut(time(tick(first)));
            for look in first..50 {
                let observed_at = time(tick(look));
                let racy = is_racy(old, observed_at);
                trusted += usize::from(!racy);
                for second in look..look + 50 {
                    let exact = unit.cut(time(second));
                    let of_tick = unit.cut(time(tick(second)));
                    let is_seen = old != exact && old != of_tick;
                    assert!(is_seen || racy, "{unit:?} {first} {look} {second}");
                }
            }
        }
    }
    assert!(trusted > 5000, "{trusted}");
}

#[test]
fn a_unit_shows_in_what_is_kept() {
    // An odd second, and no zero among the digits of the nanoseconds.
    let given = at(1_000_000_001, 123_456_789);
    for digits in 0..=10 {
        let unit = Granularity(digits);
        assert_eq!(Granularity::of(unit.cut(given)), unit);
    }
    assert!(Granularity::NANOSECOND < Granularity::SECOND);
    assert!(Granularity::SECOND < Granularity::TWO_SECONDS);
}
