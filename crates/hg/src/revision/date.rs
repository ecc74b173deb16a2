//! Dates in the language of revisions (`hg help dates`): those that name a year, a number of past days, and times since 1970.
//! Others are left to Mercurial.

use bstr::{BStr, ByteSlice};
use vigil_model::calendar::{date_of, days_in, days_to};

use crate::bytes::trim;

/// The clocks of the user.
pub trait LocalClocks: std::fmt::Debug {
    /// Returns how far clocks are ahead of UTC at `time_s`, in seconds since 1970.
    fn offset_s(&self, time_s: i64) -> i64;
}

/// The times that a text means, both ends included, in seconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Interval {
    first_s: f64,
    last_s: f64,
}

const DAY_S: i64 = 86_400;

/// Times and offsets from UTC that Mercurial accepts, in seconds.
const TIMES_S: std::ops::RangeInclusive<i64> = -0x8000_0000..=0x7fff_ffff;
const OFFSETS_WEST_S: std::ops::RangeInclusive<i64> = -50_400..=43_200;

/// A date, as exact as it was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Date {
    year: i64,
    month: Option<i64>,
    day: Option<i64>,
    /// Hours and minutes.
    time: Option<(i64, i64)>,
    seconds: Option<i64>,
}

/// The end of what a date leaves open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    First,
    Last,
}

impl Interval {
    /// Reads a text, at the time `now_s`. Returns `None` if only Mercurial knows what it means.
    pub(super) fn read(text: &BStr, now_s: f64, clocks: &dyn LocalClocks) -> Option<Self> {
        let text = trim(text);
        let end = |text: &[u8], end| end_s(trim(text), end, now_s, clocks);
        let (first_s, last_s) = match text {
            [b'<', until @ ..] => (f64::NEG_INFINITY, end(until, End::Last)?),
            [b'>', from @ ..] => (end(from, End::First)?, f64::INFINITY),
            [b'-', days @ ..] => {
                let days = digits(days, 1..=5)?;
                let past_s = f64::from(u32::try_from(days.checked_mul(DAY_S)?).ok()?);
                (now_s - past_s, f64::INFINITY)
            }
            _ => match text.split_once_str(" to ") {
                Some((_, until)) if until.contains_str(" to ") => return None,
                Some((from, until)) => (end(from, End::First)?, end(until, End::Last)?),
                None => (end(text, End::First)?, end(text, End::Last)?),
            },
        };
        Some(Self { first_s, last_s })
    }

    pub(super) fn contains(&self, time_s: f64) -> bool {
        self.first_s <= time_s && time_s <= self.last_s
    }
}

/// Returns the first or the last time that a date means.
fn end_s(text: &[u8], end: End, now_s: f64, clocks: &dyn LocalClocks) -> Option<f64> {
    let exact = |time_s: i64| {
        let is_known = TIMES_S.contains(&time_s);
        is_known.then(|| i32::try_from(time_s).ok().map(f64::from))?
    };
    if let Some((time, west)) = text.split_once_str(" ")
        && let (Some(time_s), Some(west_s)) = (integer(time), integer(west))
    {
        return OFFSETS_WEST_S.contains(&west_s).then(|| exact(time_s))?;
    }
    let (date, east_s) = match text {
        b"today" => (Date::of_day(day_of(now_s, clocks)?), None),
        b"yesterday" => (Date::of_day(day_of(now_s, clocks)?.checked_sub(1)?), None),
        _ => {
            let (text, east_s) = without_zone(text);
            (Date::parse(text)?, east_s)
        }
    };
    let local_s = date.end_s(end)?;
    let offset_s = match east_s {
        Some(east_s) => OFFSETS_WEST_S.contains(&-east_s).then_some(east_s)?,
        None => offset_of_local_s(local_s, clocks)?,
    };
    exact(local_s.checked_sub(offset_s)?)
}

/// Returns the day that clocks show, counted from 1970.
fn day_of(now_s: f64, clocks: &dyn LocalClocks) -> Option<i64> {
    let now_s = i64::from(u32::try_from(now_s as i64).ok()?);
    let local_s = now_s.checked_add(clocks.offset_s(now_s))?;
    Some(local_s.div_euclid(DAY_S))
}

/// Returns how far clocks are ahead of UTC when they show `local_s`. `None` if they are set forward or back near that time: what
/// is meant then depends on the C library.
fn offset_of_local_s(local_s: i64, clocks: &dyn LocalClocks) -> Option<i64> {
    let offset_s = clocks.offset_s(local_s);
    let mut around = [-2, 2].into_iter().map(|days: i64| {
        let near_s = local_s.saturating_add(days.saturating_mul(DAY_S));
        clocks.offset_s(near_s)
    });
    around.all(|near_s| near_s == offset_s).then_some(offset_s)
}

/// Splits off the time zone at the end, as seconds east of UTC.
fn without_zone(text: &[u8]) -> (&[u8], Option<i64>) {
    for name in ["UTC", "GMT"] {
        if let Some(rest) = text.strip_suffix(name.as_bytes()) {
            return (rest.trim_ascii_end(), Some(0));
        }
    }
    let offset = |zone: &[u8]| {
        let (sign, zone) = match zone {
            [b'+', zone @ ..] => (1, zone),
            [b'-', zone @ ..] => (-1, zone),
            _ => return None,
        };
        let (hours, minutes) = match zone {
            [hours @ .., b':', _, _] | [hours @ .., _, _] if hours.len() == 2 => {
                (hours, zone.last_chunk::<2>()?)
            }
            _ => return None,
        };
        let minutes = digits(minutes, 2..=2)?;
        let minutes = digits(hours, 2..=2)?
            .checked_mul(60)?
            .checked_add(minutes)?;
        minutes.checked_mul(60)?.checked_mul(sign)
    };
    if let Some((rest, zone)) = text.split_last_chunk::<5>()
        && let Some(east_s) = offset(zone)
    {
        return (rest.trim_ascii_end(), Some(east_s));
    }
    if let [rest @ .., b'Z'] = text
        && rest.last().is_some_and(u8::is_ascii_digit)
    {
        return (rest, Some(0));
    }
    match text.split_last_chunk::<6>() {
        Some((rest, zone)) if offset(zone).is_some() => (rest, offset(zone)),
        _ => (text, None),
    }
}

impl Date {
    /// Returns the date of a day, counted from 1970.
    fn of_day(day: i64) -> Self {
        let (year, month, of_month) = date_of(day);
        Self {
            year,
            month: Some(month),
            day: Some(of_month),
            time: None,
            seconds: None,
        }
    }

    /// Reads `2006-12-31`, `2006-12` or `2006`; after the first, also `13:18` or `13:18:59`.
    fn parse(text: &[u8]) -> Option<Self> {
        let (day, time) = match text.find_byteset(b" T") {
            Some(at) => (text.get(..at)?, text.get(at.checked_add(1)?..)),
            None => (text, None),
        };
        let mut parts = day.split(|byte| *byte == b'-');
        let year = digits(parts.next()?, 4..=4).filter(|year| (1970..=2037).contains(year))?;
        let mut two = |most: i64| match parts.next() {
            None => Some(None),
            Some(part) => {
                let read = digits(part, 2..=2)?;
                (1..=most).contains(&read).then_some(Some(read))
            }
        };
        let (month, day) = (two(12)?, two(31)?);
        if parts.next().is_some() || time.is_some() && day.is_none() {
            return None;
        }
        let date = Self {
            year,
            month,
            day,
            time: None,
            seconds: None,
        };
        if day.is_some_and(|day| day > days_in(year, month.unwrap_or(1))) {
            return None;
        }
        let Some(time) = time else {
            return Some(date);
        };
        let mut parts = time.split(|byte| *byte == b':');
        let mut two = |most: i64| {
            let read = digits(parts.next()?, 2..=2)?;
            (read <= most).then_some(read)
        };
        let time = Some((two(23)?, two(59)?));
        let seconds = match parts.next() {
            None => None,
            Some(part) => Some(digits(part, 2..=2).filter(|seconds| *seconds < 60)?),
        };
        parts.next().is_none().then_some(Self {
            time,
            seconds,
            ..date
        })
    }

    /// Returns the first or the last time, in seconds since 1970 by clocks in UTC.
    fn end_s(&self, end: End) -> Option<i64> {
        let [month, hours, minutes, seconds] = match end {
            End::First => [1, 0, 0, 0],
            End::Last => [12, 23, 59, 59],
        };
        let month = self.month.unwrap_or(month);
        let day = self.day.unwrap_or(match end {
            End::First => 1,
            End::Last => days_in(self.year, month),
        });
        let (hours, minutes) = self.time.unwrap_or((hours, minutes));
        let seconds = self.seconds.unwrap_or(seconds);
        let days = days_to(self.year, month).checked_add(day)?.checked_sub(1)?;
        let minutes = hours.checked_mul(60)?.checked_add(minutes)?;
        let of_day_s = minutes.checked_mul(60)?.checked_add(seconds)?;
        days.checked_mul(DAY_S)?.checked_add(of_day_s)
    }
}

/// Reads a number that has nothing but digits, as many as `len` allows.
fn digits(text: &[u8], len: std::ops::RangeInclusive<usize>) -> Option<i64> {
    let is_number = len.contains(&text.len()) && text.iter().all(u8::is_ascii_digit);
    is_number.then(|| text.to_str().ok()?.parse().ok())?
}

/// Reads a number that may have a sign.
fn integer(text: &[u8]) -> Option<i64> {
    match text {
        [b'-', rest @ ..] => digits(rest, 1..=12)?.checked_neg(),
        [b'+', rest @ ..] => digits(rest, 1..=12),
        _ => digits(text, 1..=12),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Clocks that are set an hour forward in 2017, on the 26th of March at 01:00 UTC.
    #[derive(Debug)]
    struct Clocks;

    impl LocalClocks for Clocks {
        fn offset_s(&self, time_s: i64) -> i64 {
            if time_s < 1_490_490_000 { 3600 } else { 7200 }
        }
    }

    #[test]
    fn a_date_means_times_as_exactly_as_it_is_written() {
        let read = |text: &str| {
            let found = Interval::read(text.into(), 1_500_000_000.5, &Clocks)?;
            Some((found.first_s, found.last_s))
        };
        let (far, ago) = (f64::INFINITY, f64::NEG_INFINITY);
        for (text, expected) in [
            ("2017", Some((1_483_225_200.0, 1_514_757_599.0))),
            ("2017 UTC", Some((1_483_228_800.0, 1_514_764_799.0))),
            ("2017-02", Some((1_485_903_600.0, 1_488_322_799.0))),
            ("2016-02Z", Some((1_454_284_800.0, 1_456_790_399.0))),
            ("2017-07-14", Some((1_499_983_200.0, 1_500_069_599.0))),
            (
                " 2017-07-14 04:40 ",
                Some((1_500_000_000.0, 1_500_000_059.0)),
            ),
            (
                "2017-07-14T04:40:01",
                Some((1_500_000_001.0, 1_500_000_001.0)),
            ),
            (
                "2017-07-14 04:40 +0300",
                Some((1_499_996_400.0, 1_499_996_459.0)),
            ),
            (
                "2017-07-14T04:40-01:30",
                Some((1_500_012_600.0, 1_500_012_659.0)),
            ),
            ("today", Some((1_499_983_200.0, 1_500_069_599.0))),
            ("yesterday", Some((1_499_896_800.0, 1_499_983_199.0))),
            ("1500000000 -7200", Some((1_500_000_000.0, 1_500_000_000.0))),
            ("<1500000000 0", Some((ago, 1_500_000_000.0))),
            (">2017-07-14", Some((1_499_983_200.0, far))),
            ("> 2017-07", Some((1_498_860_000.0, far))),
            ("<2017-07-14", Some((ago, 1_500_069_599.0))),
            ("-1", Some((1_499_913_600.5, far))),
            (
                "2017-07-13 to 2017-07-14",
                Some((1_499_896_800.0, 1_500_069_599.0)),
            ),
            // On that day, clocks are set.
            ("2017-03-26", None),
            ("", None),
            ("<", None),
            ("-x", None),
            ("now", None),
            ("2017-02-29", None),
            ("2017-7-14", None),
            ("2017-13", None),
            ("1969", None),
            ("20170714", None),
            ("2017-07-14 24:00", None),
            ("2017-07-14 04:40 +02:00", None),
            ("2017-07 10:00", None),
            ("1500000000 50000", None),
            ("3000000000 0", None),
            ("2017 to 2018 to 2019", None),
        ] {
            assert_eq!(read(text), expected, "{text}");
        }
    }
}
