//! git's "approxidate", which accepts almost anything as a date.
//!
//! It computes with 32-bit numbers that wrap around, and so does this module: the results for large numbers are part
//! of git's behaviour.

use super::calendar::{Fields, MONTHS, WEEKDAYS};
use super::{ByteRuns, exact, matched, number_of, position_of, word_of};
use crate::revision::zone::Zone;

/// Numbers in words, starting at one.
const NUMBERS: [&str; 10] = [
    "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
];

/// Units of fixed length, in seconds. The last letter of a word is optional.
const UNITS: [(&str, i32); 5] = [
    ("seconds", 1),
    ("minutes", 60),
    ("hours", 60 * 60),
    ("days", DAY_S),
    ("weeks", 7 * DAY_S),
];

const DAY_S: i32 = 86_400;

/// A date and a time of day, as in C; a negative field is unknown.
#[derive(Clone, Debug)]
struct Tm {
    /// From 1900.
    year: i32,
    /// From 0.
    month: i32,
    /// From 1; `-(n + 1)` means `n` days before today.
    day: i32,
    hour: i32,
    minute: i32,
    second: i32,
    /// The day of the week when all fields were last known, from Sunday = 0.
    weekday: i32,
    is_dst: bool,
}

impl Tm {
    /// Returns what clocks in `zone` show; `None` if the year is out of range.
    fn at(time_s: i64, zone: &Zone) -> Option<Self> {
        let fields = Fields::of(time_s.saturating_add(zone.offset_s(time_s)));
        let [year, month, day] = fields.date();
        let small = |number: Option<i64>| i32::try_from(number.unwrap_or(0)).ok();
        Some(Self {
            year: small(year.checked_sub(1900))?,
            month: small(month.checked_sub(1))?,
            day: small(Some(day))?,
            hour: small(fields.hour)?,
            minute: small(fields.minute)?,
            second: small(fields.second)?,
            weekday: small(Some(fields.weekday()))?,
            is_dst: zone.is_dst(time_s),
        })
    }

    /// Returns when clocks in `zone` show this, in seconds since 1970; -1 if the year is out of range.
    fn time_s(&self, zone: &Zone) -> i64 {
        let month = i64::from(self.month);
        let years = i64::from(self.year).saturating_add(month.div_euclid(12));
        if i32::try_from(years).is_err() {
            return -1;
        }
        let fields = Fields {
            year: Some(years.saturating_add(1900)),
            month: Some(month.rem_euclid(12).saturating_add(1)),
            day: Some(self.day.into()),
            hour: Some(self.hour.into()),
            minute: Some(self.minute.into()),
            second: Some(self.second.into()),
            weekday_recorded: 0,
        };
        zone.utc_of_local_as(fields.total_s(), self.is_dst)
    }

    /// Returns the known fields.
    fn fields(&self) -> Fields {
        let known =
            |number: i32, add: i64| (number >= 0).then(|| i64::from(number).saturating_add(add));
        Fields {
            year: known(self.year, 1900),
            month: known(self.month, 1),
            day: known(self.day, 0),
            hour: known(self.hour, 0),
            minute: known(self.minute, 0),
            second: known(self.second, 0),
            weekday_recorded: 0,
        }
    }

    /// Takes over the known fields.
    fn update_known(&mut self, fields: &Fields) {
        let small = |number: Option<i64>, less: i64, slot: &mut i32| {
            let number = number.and_then(|number| i32::try_from(number.saturating_sub(less)).ok());
            if let Some(number) = number {
                *slot = number;
            }
        };
        small(fields.year, 1900, &mut self.year);
        small(fields.month, 1, &mut self.month);
        small(fields.day, 0, &mut self.day);
        small(fields.hour, 0, &mut self.hour);
        small(fields.minute, 0, &mut self.minute);
        small(fields.second, 0, &mut self.second);
    }
}

/// The state of parsing an inexact date.
pub(super) struct Approximate<'a> {
    zone: &'a Zone,
    now: Tm,
    now_s: i64,
    tm: Tm,
    /// A number that may become a day, a month, a year or a count.
    number: i32,
    found_date: bool,
}

impl<'a> Approximate<'a> {
    /// The initial state at the time `now_s`; `None` if that is out of range.
    pub(super) fn new(zone: &'a Zone, now_s: i64) -> Option<Self> {
        let now = Tm::at(now_s, zone)?;
        let tm = Tm {
            year: -1,
            month: -1,
            day: -1,
            ..now.clone()
        };
        Some(Self {
            zone,
            now,
            now_s,
            tm,
            number: 0,
            found_date: false,
        })
    }

    /// Parses `text` as seconds since 1970; `None` if nothing in it is a date. As in git, a time before 1970 becomes
    /// the latest of all.
    pub(super) fn parse(mut self, text: &[u8]) -> Option<i64> {
        let mut rest = text;
        while let Some(byte) = rest.first() {
            if byte.is_ascii_digit() {
                self.settle_number();
                rest = self.digits(rest);
                self.found_date = true;
            } else if byte.is_ascii_alphabetic() {
                self.word(word_of(rest));
                rest = rest.get(rest.count_letters()..).unwrap_or_default();
            } else {
                rest = rest.get(1..).unwrap_or_default();
            }
        }
        self.settle_number();
        let time_s = self.settle(0);
        let time_s = if time_s < 0 { i64::MAX } else { time_s };
        self.found_date.then_some(time_s)
    }

    /// Uses the number as the first of day, month and year that is unknown and can have this value.
    fn settle_number(&mut self) {
        let number = std::mem::take(&mut self.number);
        if number == 0 {
            return;
        }
        let tm = &mut self.tm;
        if tm.day < 0 && number < 32 {
            tm.day = number;
        } else if tm.month < 0 && number < 13 {
            tm.month = number.wrapping_sub(1);
        } else if tm.year < 0 {
            match number {
                1970..=2099 => tm.year = number.wrapping_sub(1900),
                70..=99 => tm.year = number,
                ..=37 => tm.year = number.wrapping_add(100),
                _ => {}
            }
        }
    }

    /// Fills unknown fields from today, and goes `seconds` back. Returns the time, in seconds since 1970.
    fn settle(&mut self, seconds: i32) -> i64 {
        let tm = &mut self.tm;
        let mut seconds = seconds;
        if tm.day < 0 {
            let after = tm.day.wrapping_add(1);
            if seconds == 0 && after < 0 {
                seconds = after.wrapping_neg().wrapping_mul(DAY_S);
            }
            tm.day = self.now.day;
        }
        if tm.month < 0 {
            tm.month = self.now.month;
        }
        if tm.year < 0 {
            let is_last_year = tm.month > self.now.month;
            tm.year = self.now.year.wrapping_sub(i32::from(is_last_year));
        }
        let time_s = tm.time_s(self.zone).saturating_sub(seconds.into());
        if let Some(shown) = Tm::at(time_s, self.zone) {
            self.tm = shown;
        }
        time_s
    }

    fn digits<'t>(&mut self, text: &'t [u8]) -> &'t [u8] {
        let (number, rest) = number_of(text);
        let mut fields = self.tm.fields();
        let several = exact::separated_numbers(&mut fields, number, rest, self.now_s);
        // A failed attempt may have set a month and a day.
        self.tm.update_known(&fields);
        if let Some(after) = several {
            return after;
        }
        let len = text.len().saturating_sub(rest.len());
        // Leading zeros are allowed only for a day or a month, in two digits.
        if !text.starts_with(b"0") || len <= 2 {
            self.number = exact::wrapped(number);
        }
        rest
    }

    fn word(&mut self, word: &[u8]) {
        if let Some(month) = position_of(word, &MONTHS) {
            self.tm.month = month;
            self.found_date = true;
            return;
        }
        if self.special(word) {
            self.found_date = true;
            return;
        }
        if self.number == 0 {
            let named = NUMBERS.iter().position(|name| is_whole(word, name));
            let named = named.and_then(|at| i32::try_from(at).ok());
            let last = is_whole(word, "last").then_some(0);
            if let Some(at) = named.or(last) {
                self.number = at.wrapping_add(1);
                self.found_date = true;
            }
            return;
        }
        for (name, length_s) in UNITS {
            if matched(word, name) >= name.len().saturating_sub(1) {
                let count = std::mem::take(&mut self.number);
                self.settle(length_s.wrapping_mul(count));
                self.found_date = true;
                return;
            }
        }
        if let Some(weekday) = position_of(word, &WEEKDAYS) {
            let mut weeks = std::mem::take(&mut self.number).wrapping_sub(1);
            let mut days = self.tm.weekday.wrapping_sub(weekday);
            if days <= 0 {
                weeks = weeks.wrapping_add(1);
            }
            days = days.wrapping_add(weeks.wrapping_mul(7));
            self.settle(days.wrapping_mul(DAY_S));
            self.found_date = true;
        } else if matched(word, "months") >= 5 {
            self.settle(0);
            let months = self.tm.month.wrapping_sub(std::mem::take(&mut self.number));
            if months < 0 {
                self.tm.month = months.rem_euclid(12);
                let years = months.div_euclid(12);
                self.tm.year = self.tm.year.wrapping_add(years);
            } else {
                self.tm.month = months;
            }
            self.found_date = true;
        } else if matched(word, "years") >= 4 {
            self.settle(0);
            let count = std::mem::take(&mut self.number);
            self.tm.year = self.tm.year.wrapping_sub(count);
            self.found_date = true;
        }
    }

    /// Handles words that mean a time by themselves.
    fn special(&mut self, word: &[u8]) -> bool {
        let is = |name| is_whole(word, name);
        if is("yesterday") {
            self.number = 0;
            self.tm.day = -1;
            self.settle(DAY_S);
        } else if is("noon") {
            self.settle_number();
            self.hour(12);
        } else if is("midnight") {
            self.settle_number();
            self.hour(0);
        } else if is("tea") {
            self.settle_number();
            self.hour(17);
        } else if is("pm") || is("am") {
            let number = std::mem::take(&mut self.number);
            let mut hour = self.tm.hour;
            if number != 0 {
                hour = number;
                (self.tm.minute, self.tm.second) = (0, 0);
            }
            let half = if is("pm") { 12 } else { 0 };
            self.tm.hour = (hour % 12).wrapping_add(half);
        } else if is("never") {
            self.number = 0;
            if let Some(start) = Tm::at(0, self.zone) {
                self.tm = start;
            }
        } else if is("now") {
            self.number = 0;
            self.settle(0);
        } else if is("today") {
            let time = |tm: &Tm| (tm.hour, tm.minute, tm.second);
            if time(&self.tm) == time(&self.now) {
                self.hour(0);
            }
            self.number = 0;
            self.tm.day = -1;
            self.settle(0);
        } else {
            return false;
        }
        true
    }

    /// Sets the hour; if the day is unknown, to the latest such time that is past.
    fn hour(&mut self, hour: i32) {
        if self.tm.day < 0 && self.tm.hour < hour {
            self.tm.day = -2;
        }
        self.tm.hour = hour;
        (self.tm.minute, self.tm.second) = (0, 0);
    }
}

fn is_whole(word: &[u8], name: &str) -> bool {
    word.eq_ignore_ascii_case(name.as_bytes())
}
