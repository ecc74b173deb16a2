//! Times for people and programs.

use serde::Serialize;
use vigil_model::calendar::date_of;
use vigil_model::timestamp::Timestamp;

const DAY_S: i64 = 86_400;

/// A time as JSON.
#[derive(Serialize)]
pub(crate) struct TimeDocument {
    s: i64,
    ns: u32,
}

impl From<Timestamp> for TimeDocument {
    fn from(time: Timestamp) -> Self {
        Self {
            s: time.s,
            ns: time.ns,
        }
    }
}

/// Formats the date and the time, in whole seconds, of `time` in UTC.
pub(crate) fn utc(time: Timestamp) -> String {
    let (days, second) = (time.s.div_euclid(DAY_S), time.s.rem_euclid(DAY_S));
    let (year, month, day) = date_of(days);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02} UTC")
}

/// Formats `s` seconds in the largest fitting unit, rounded down.
pub(crate) fn span(s: u64) -> String {
    match (s / 3600, s / 60) {
        (0, 0) => format!("{s} s"),
        (0, minutes) => format!("{minutes} min"),
        (hours, _) => format!("{hours} h"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_dates() {
        for (s, text) in [
            (0, "1970-01-01 00:00:00 UTC"),
            (-1, "1969-12-31 23:59:59 UTC"),
            (951_782_400, "2000-02-29 00:00:00 UTC"),
            (4_107_542_399, "2100-02-28 23:59:59 UTC"),
            (4_107_542_400, "2100-03-01 00:00:00 UTC"),
            (1_795_186_858, "2026-11-20 15:00:58 UTC"),
            (-62_135_596_800, "0001-01-01 00:00:00 UTC"),
        ] {
            assert_eq!(utc(Timestamp { s, ns: 9 }), text);
        }
        // Values that a damaged file may contain.
        for s in [i64::MIN, i64::MAX] {
            assert!(utc(Timestamp { s, ns: u32::MAX }).ends_with(" UTC"));
        }
    }
}
