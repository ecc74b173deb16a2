//! Parses complete dates: ISO 8601, RFC 2822, seconds since 1970, and many similar formats.

use super::calendar::{DAY_S, Fields, MONTHS, WEEKDAYS};
use super::{ByteRuns, matched, number_of, position_of, word_of};
use crate::revision::zone::Zone;

/// The least number that means seconds since 1970; shorter ones may be `20070606`.
const SECONDS_MIN: u64 = 100_000_000;

/// The range of C's calendar, whose years have 32 bits.
const SECONDS: std::ops::Range<i64> = -67_768_040_609_740_800..67_768_036_191_676_800;

/// Named time zones and their hours from UTC, including daylight saving.
const ZONES: [(&str, i64); 44] = [
    ("IDLW", -12),
    ("NT", -11),
    ("CAT", -10),
    ("HST", -10),
    ("HDT", -9),
    ("YST", -9),
    ("YDT", -8),
    ("PST", -8),
    ("PDT", -7),
    ("MST", -7),
    ("MDT", -6),
    ("CST", -6),
    ("CDT", -5),
    ("EST", -5),
    ("EDT", -4),
    ("AST", -3),
    ("ADT", -2),
    ("WAT", -1),
    ("GMT", 0),
    ("UTC", 0),
    ("Z", 0),
    ("WET", 0),
    ("BST", 1),
    ("CET", 1),
    ("MET", 1),
    ("MEWT", 1),
    ("MEST", 2),
    ("CEST", 2),
    ("MESZ", 2),
    ("FWT", 1),
    ("FST", 2),
    ("EET", 2),
    ("EEST", 3),
    ("WAST", 7),
    ("WADT", 8),
    ("CCT", 8),
    ("JST", 9),
    ("EAST", 10),
    ("EADT", 11),
    ("GST", 10),
    ("NZT", 12),
    ("NZST", 12),
    ("NZDT", 13),
    ("IDLE", 12),
];

/// The parts that were parsed so far.
#[derive(Default)]
struct Exact {
    fields: Fields,
    /// Minutes from UTC.
    offset: Option<i64>,
    /// Whether the fields are in UTC.
    is_utc: bool,
}

/// Parses `text` as seconds since 1970; `None` if the date is incomplete.
pub(super) fn parse(text: &[u8], zone: &Zone, now_s: i64) -> Option<i64> {
    if let Some(time_s) = text.strip_prefix(b"@").and_then(header_time) {
        return Some(time_s);
    }
    let text = text.split(|byte| *byte == b'\n').next()?;
    let mut exact = Exact::default();
    let mut rest = text;
    while let Some(byte) = rest.first() {
        let used = match byte {
            byte if byte.is_ascii_alphabetic() => exact.word(rest),
            byte if byte.is_ascii_digit() => exact.digits(rest, now_s),
            b'+' | b'-' if rest.get(1).is_some_and(u8::is_ascii_digit) => exact.zone(rest),
            _ => 1,
        };
        rest = rest.get(used.max(1)..).unwrap_or_default();
    }
    exact.time_s(zone)
}

/// The last second of the year 2099: no zone may make an exact date later.
const TIME_MAX_S: i64 = 4_102_444_799;

/// Parses seconds and a zone, as in the header of a commit.
fn header_time(text: &[u8]) -> Option<i64> {
    let (seconds, rest) = number_of(text);
    let [b' ', b'+' | b'-', zone @ ..] = rest else {
        return None;
    };
    let is_whole = text.first()?.is_ascii_digit() && zone.len() == 4 && zone.count_digits() == 4;
    // Numbers that are too large became git's largest, which is not a time.
    let seconds = Some(seconds).filter(|seconds| is_whole && *seconds != u64::MAX)?;
    Some(i64::try_from(seconds).unwrap_or(i64::MAX))
}

/// Truncates a number to 32 bits, as C does.
pub(super) fn wrapped(number: u64) -> i32 {
    let [a, b, c, d, ..] = number.to_le_bytes();
    i32::from_le_bytes([a, b, c, d])
}

/// Does the same for a number that C parsed into 63 bits before, which cannot be larger.
fn wrapped_signed(number: u64) -> i32 {
    wrapped(number.min(i64::MAX.unsigned_abs()))
}

impl Exact {
    fn time_s(&self, zone: &Zone) -> Option<i64> {
        let fields = &self.fields;
        fields.hour.and(fields.minute).and(fields.second)?;
        if !(1970..2100).contains(&fields.year?) {
            return None;
        }
        fields.month?;
        // git counts a missing day as the second one before the month.
        let day = fields.day.or(Some(-1));
        let fields = Fields {
            day,
            ..fields.clone()
        };
        let local_s = fields.total_s();
        if self.is_utc {
            return Some(local_s);
        }
        let time_s = match self.offset {
            Some(minutes) => local_s.saturating_sub(minutes.saturating_mul(60)),
            None => zone.utc_of_local(local_s),
        };
        if local_s < 0 {
            // git counts in numbers without a sign, in which this is the latest of all times. -1 stands for an error.
            return (local_s != -1).then_some(if time_s < 0 { i64::MAX } else { time_s });
        }
        (0..=TIME_MAX_S).contains(&time_s).then_some(time_s)
    }

    fn word(&mut self, text: &[u8]) -> usize {
        let word = word_of(text);
        if let Some(month) = position_of(word, &MONTHS) {
            self.fields.month = Some(i64::from(month).saturating_add(1));
            return word.len();
        }
        if position_of(word, &WEEKDAYS).is_some() {
            return word.len();
        }
        for (name, hours) in ZONES {
            let len = matched(word, name);
            if len >= 3 || len == name.len() {
                self.offset = self.offset.or(Some(hours.saturating_mul(60)));
                return len;
            }
        }
        for (name, half) in [("PM", 12), ("AM", 0)] {
            if matched(word, name) == 2 {
                let hour = self.fields.hour.unwrap_or(-1) % 12;
                let hour = hour.saturating_add(half);
                self.fields.hour = Some(hour).filter(|hour| *hour >= 0);
                return 2;
            }
        }
        let has_time = text.get(1).is_some_and(u8::is_ascii_digit);
        if text.starts_with(b"T") && has_time && self.fields.hour.is_none() {
            (self.fields.minute, self.fields.second) = (Some(0), Some(0));
            return 1;
        }
        text.count_letters()
    }

    /// Parses `+0200`, `-05:30` or `+02`.
    fn zone(&mut self, text: &[u8]) -> usize {
        let (sign, rest) = match text.split_first() {
            Some((sign, rest)) => (*sign, rest),
            None => return 1,
        };
        let (mut hours, mut after) = number_of(rest);
        let mut minutes = 0;
        match rest.len().saturating_sub(after.len()) {
            4 => (hours, minutes) = (hours / 100, hours % 100),
            2 => {
                if let Some(more) = after.strip_prefix(b":") {
                    (minutes, after) = number_of(more);
                    if rest.len().saturating_sub(after.len()) != 5 {
                        minutes = 99;
                    }
                }
            }
            _ => minutes = 99,
        }
        if minutes < 60 && hours < 24 {
            let offset = hours.saturating_mul(60).saturating_add(minutes);
            let offset = i64::try_from(offset).unwrap_or(0);
            self.offset = Some(if sign == b'-' { -offset } else { offset });
        }
        text.len().saturating_sub(after.len())
    }

    fn digits(&mut self, text: &[u8], now_s: i64) -> usize {
        let (number, rest) = number_of(text);
        let len = text.len().saturating_sub(rest.len());
        let fields = &mut self.fields;
        let is_new = *fields == Fields::default();
        if number >= SECONDS_MIN && is_new {
            let time_s = i64::from_ne_bytes(number.to_ne_bytes());
            let meant = Fields::of(time_s);
            if SECONDS.contains(&time_s) {
                let year = meant.year.filter(|year| *year >= 1900);
                self.fields = Fields { year, ..meant };
                self.is_utc = true;
                return len;
            }
            // C fails at the year, after it has filled in the time of day.
            (fields.hour, fields.minute, fields.second) = (meant.hour, meant.minute, meant.second);
        }
        if let Some(after) = separated_numbers(fields, number, rest, now_s) {
            return text.len().saturating_sub(after.len());
        }
        let first = number;
        let number = i64::try_from(number).unwrap_or(i64::MAX);
        match len {
            8 => {
                let (year, month) = (first / 10_000, first % 10_000 / 100);
                let date = [year, month, first % 100].map(wrapped);
                set_date(fields, date, None);
                return len;
            }
            6 => {
                let (hour, minute) = (number / 10_000, number % 10_000 / 100);
                let is_time = set_time(fields, hour, minute, number % 100);
                let fraction = rest.strip_prefix(b".").filter(|_| is_time);
                let digits = fraction.map_or(0, ByteRuns::count_digits);
                let with_point = digits.saturating_add(usize::from(digits > 0));
                return len.saturating_add(with_point);
            }
            _ => {}
        }
        let awaits_hour =
            fields.hour.is_none() && fields.minute == Some(0) && fields.second == Some(0);
        if awaits_hour {
            let (hour, minute) = match len {
                4 => (number / 100, number % 100),
                _ => (number, 0),
            };
            if matches!(len, 2 | 4) && set_time(fields, hour, minute, 0) {
                return len;
            }
            (fields.minute, fields.second) = (None, None);
        }
        if len == 4 {
            if number <= 1400 && self.offset.is_none() {
                self.offset = Some(
                    (number / 100)
                        .saturating_mul(60)
                        .saturating_add(number % 100),
                );
            } else if (1901..2100).contains(&number) {
                fields.year = Some(number);
            }
            return len;
        }
        if len <= 2 {
            take_short_number(fields, number, len);
        }
        len
    }
}

/// Takes a `number` of one or two digits for the first of these that is still missing and that it can be: the day, the year, the
/// month.
fn take_short_number(fields: &mut Fields, number: i64, len: usize) {
    let may_be_year = len == 2 && fields.year.is_none();
    if (1..32).contains(&number) && fields.day.is_none() {
        fields.day = Some(number);
    } else if may_be_year && number < 10 && fields.day.is_some() {
        fields.year = Some(number.saturating_add(2000));
    } else if may_be_year && number >= 70 {
        fields.year = Some(number.saturating_add(1900));
    } else if (1..13).contains(&number) && fields.month.is_none() {
        fields.month = Some(number);
    }
}

/// Parses a time or a date of two or three numbers with the same separator: `first` was read already, and `rest`
/// follows it. Returns the text after them; `None` if they are neither.
pub(super) fn separated_numbers<'t>(
    fields: &mut Fields,
    first: u64,
    rest: &'t [u8],
    now_s: i64,
) -> Option<&'t [u8]> {
    let (sign, after) = rest.split_first()?;
    if !matches!(sign, b':' | b'.' | b'/' | b'-') || !after.first()?.is_ascii_digit() {
        return None;
    }
    let (second, mut after) = number_of(after);
    let mut third = None;
    if let Some((next, more)) = after.split_first()
        && next == sign
        && more.first().is_some_and(u8::is_ascii_digit)
    {
        let (number, more) = number_of(more);
        (third, after) = (Some(number), more);
    }
    if *sign == b':' {
        let [hour, minute, second] = [first, second, third.unwrap_or(0)]
            .map(|number| i64::try_from(number).unwrap_or(i64::MAX));
        if !set_time(fields, hour, minute, second) {
            return None;
        }
        let is_dated = fields.year.and(fields.month).and(fields.day).is_some();
        if let Some(fraction) = after.strip_prefix(b".")
            && is_dated
            && fraction.first().is_some_and(u8::is_ascii_digit)
        {
            after = number_of(fraction).1;
        }
        return Some(after);
    }
    let (large, first) = (first > 70, wrapped(first));
    let second = wrapped_signed(second);
    let third = third.map_or(-1, wrapped_signed);
    let is_date = large
        && (set_date(fields, [first, second, third], None)
            || set_date(fields, [first, third, second], None));
    // Americans put the month first, but not with dots.
    let american = |fields: &mut Fields| set_date(fields, [third, first, second], Some(now_s));
    let is_date = is_date
        || (*sign != b'.' && american(fields))
        || set_date(fields, [third, second, first], Some(now_s))
        || (*sign == b'.' && american(fields));
    is_date.then_some(after)
}

/// Sets the date if git accepts it, and returns whether it does. With `now_s`, the date must not be more than ten days
/// ahead, and the year may be -1 for the current one. Without it, month and day are set even if the year is not
/// accepted.
fn set_date(fields: &mut Fields, [year, month, day]: [i32; 3], now_s: Option<i64>) -> bool {
    if !(1..13).contains(&month) || !(1..32).contains(&day) {
        return false;
    }
    let (month, day) = (Some(month.into()), Some(day.into()));
    if now_s.is_none() {
        (fields.month, fields.day) = (month, day);
    }
    let named = i64::from(year);
    let whole = match (year, now_s) {
        (-1, None) => return false,
        (-1, Some(now_s)) => Fields::of(now_s).year,
        (1970..2100, _) => Some(named),
        (71..100, _) => Some(named.saturating_add(1900)),
        // In C, a year before 1900 is negative, which means unknown.
        (..38, _) => Some(named.saturating_add(2000)).filter(|year| *year >= 1900),
        _ => return false,
    };
    if let Some(now_s) = now_s {
        let meant = Fields {
            year: whole,
            month,
            day,
            ..fields.clone()
        };
        // A date without a time of day is not checked.
        let is_timed = meant.hour.and(meant.minute).and(meant.second).is_some();
        let is_told = whole.is_some_and(|year| (1970..2100).contains(&year));
        if is_timed && is_told && now_s.saturating_add(10 * DAY_S) < meant.total_s() {
            return false;
        }
    }
    (fields.month, fields.day) = (month, day);
    if year != -1 {
        fields.year = whole;
    }
    true
}

fn set_time(fields: &mut Fields, hour: i64, minute: i64, second: i64) -> bool {
    if hour > 24 || minute >= 60 || second > 60 {
        return false;
    }
    (fields.hour, fields.minute, fields.second) = (Some(hour), Some(minute), Some(second));
    true
}
