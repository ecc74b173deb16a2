//! Dates: those that people write, as git understands them, and those that git prints ("DATE FORMATS" of
//! git-commit(1), and git's "approxidate", which takes almost anything for a date).

mod calendar;
mod exact;

use bstr::{BStr, ByteSlice};

use self::calendar::{DAY_S, Fields, MONTHS, WEEKDAYS};
use super::zone::Zone;
use vigil_git::repository::Repository;

/// Numbers in words, from one.
const NUMBERS: [&str; 10] = [
    "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
];

/// Units of a fixed length, in seconds. A word may lack the last letter.
const UNITS: [(&str, i64); 5] = [
    ("seconds", 1),
    ("minutes", 60),
    ("hours", 60 * 60),
    ("days", DAY_S),
    ("weeks", 7 * DAY_S),
];

/// The time that `text` means, in seconds since 1970; `None` if there is nothing of a date in it.
pub(super) fn parse(text: &BStr, repository: &Repository) -> Option<i64> {
    let environment = &repository.environment;
    let zone = Zone::of(environment);
    // git's tests set the time by this variable.
    let set = environment.get("GIT_TEST_DATE_NOW");
    let set = set.and_then(|now| now.to_str().ok()?.parse().ok());
    let now_s = set.unwrap_or_else(|| vigil_stamp::now().s);
    exact::parse(text, &zone, now_s).or_else(|| Approximate::new(&zone, now_s).parse(text))
}

/// `2005-04-07`.
pub(super) fn short(time_s: i64, zone: i32) -> String {
    let fields = shown(time_s, zone);
    let [year, month, day] = fields.date();
    format!("{year:04}-{month:02}-{day:02}")
}

/// `Thu, 7 Apr 2005 22:13:13 +0200`.
pub(super) fn rfc2822(time_s: i64, zone: i32) -> String {
    let fields = shown(time_s, zone);
    let [year, month, day] = fields.date();
    let month = usize::try_from(month.saturating_sub(1)).unwrap_or(0);
    let month = MONTHS.get(month).and_then(|name| name.get(..3));
    let weekday = usize::try_from(fields.weekday()).unwrap_or(0);
    let weekday = WEEKDAYS.get(weekday).and_then(|name| name.get(..3));
    format!(
        "{}, {day} {} {year} {:02}:{:02}:{:02} {zone:+05}",
        weekday.unwrap_or_default(),
        month.unwrap_or_default(),
        fields.hour.unwrap_or(0),
        fields.minute.unwrap_or(0),
        fields.second.unwrap_or(0),
    )
}

/// What clocks in `zone` show, which is hours times 100, and minutes.
fn shown(time_s: i64, zone: i32) -> Fields {
    let minutes = i64::from(zone / 100) * 60 + i64::from(zone % 100);
    Fields::of(time_s.saturating_add(minutes * 60))
}

/// The length of `word` if it is, but for case, the start of `name`; else 0.
fn matched(word: &[u8], name: &str) -> usize {
    let head = name.as_bytes().get(..word.len());
    match head.is_some_and(|head| head.eq_ignore_ascii_case(word)) {
        true => word.len(),
        false => 0,
    }
}

/// The position of the name of which `word` has three letters or more.
fn position_of(word: &[u8], names: &[&str]) -> Option<i64> {
    let at = names.iter().position(|name| matched(word, name) >= 3)?;
    i64::try_from(at).ok()
}

/// The letters and digits that `text` starts with.
fn word_of(text: &[u8]) -> &[u8] {
    let end = text.find_not_alphanumeric();
    text.get(..end).unwrap_or_default()
}

trait Runs {
    fn find_not_alphanumeric(&self) -> usize;
    fn count_digits(&self) -> usize;
    fn count_letters(&self) -> usize;
}

impl Runs for [u8] {
    fn find_not_alphanumeric(&self) -> usize {
        self.iter()
            .take_while(|b| b.is_ascii_alphanumeric())
            .count()
    }

    fn count_digits(&self) -> usize {
        self.iter().take_while(|b| b.is_ascii_digit()).count()
    }

    fn count_letters(&self) -> usize {
        self.iter().take_while(|b| b.is_ascii_alphabetic()).count()
    }
}

/// The number in the digits that `text` starts with, and what follows; the largest one where it is too large.
fn number_of(text: &[u8]) -> (i64, &[u8]) {
    let (digits, rest) = text
        .split_at_checked(text.count_digits())
        .unwrap_or((b"", text));
    let number = match digits {
        b"" => Some(0),
        digits => digits.to_str().ok().and_then(|digits| digits.parse().ok()),
    };
    (number.unwrap_or(i64::MAX), rest)
}

/// What a date that nobody wrote exactly seems to be so far.
struct Approximate<'a> {
    zone: &'a Zone,
    now: Fields,
    now_s: i64,
    fields: Fields,
    /// Today is known not to be meant where no day is named: how many days before it.
    days_before: i64,
    /// A number that may become a day, a month, a year, or a count.
    number: i64,
    is_anything: bool,
}

impl<'a> Approximate<'a> {
    fn new(zone: &'a Zone, now_s: i64) -> Self {
        let now = Fields::of(now_s.saturating_add(zone.offset_s(now_s)));
        let fields = Fields {
            year: None,
            month: None,
            day: None,
            ..now.clone()
        };
        Self {
            zone,
            now,
            now_s,
            fields,
            days_before: 0,
            number: 0,
            is_anything: false,
        }
    }

    fn parse(mut self, text: &[u8]) -> Option<i64> {
        let mut rest = text;
        while let Some(byte) = rest.first() {
            if byte.is_ascii_digit() {
                self.settle_number();
                rest = self.digits(rest);
                self.is_anything = true;
            } else if byte.is_ascii_alphabetic() {
                self.word(word_of(rest));
                rest = rest.get(rest.count_letters()..).unwrap_or_default();
            } else {
                rest = rest.get(1..).unwrap_or_default();
            }
        }
        self.settle_number();
        let time_s = self.settle(0);
        self.is_anything.then_some(time_s)
    }

    /// Takes a number for the first of day, month and year that is not known and that it may be.
    fn settle_number(&mut self) {
        let number = std::mem::take(&mut self.number);
        if number == 0 {
            return;
        }
        if self.fields.day.is_none() && number < 32 {
            self.fields.day = Some(number);
        } else if self.fields.month.is_none() && number < 13 {
            self.fields.month = Some(number);
        } else if self.fields.year.is_none() {
            self.fields.year = match number {
                1970..=2099 => Some(number),
                70..=99 => Some(number.saturating_add(1900)),
                0..=37 => Some(number.saturating_add(2000)),
                _ => None,
            };
        }
    }

    /// Takes what is not known from today, and goes `seconds` back. The time, in seconds since 1970.
    fn settle(&mut self, mut seconds: i64) -> i64 {
        if self.fields.day.is_none() {
            if seconds == 0 {
                seconds = self.days_before.saturating_mul(DAY_S);
            }
            self.days_before = 0;
            self.fields.day = self.now.day;
        }
        if self.fields.month.is_none() {
            self.fields.month = self.now.month;
        }
        if self.fields.year.is_none() {
            let is_last_year = self.fields.month > self.now.month;
            self.fields.year = self
                .now
                .year
                .map(|year| year.saturating_sub(i64::from(is_last_year)));
        }
        let local_s = self.fields.total_s();
        let time_s = self.zone.utc_of_local(local_s).saturating_sub(seconds);
        self.fields = Fields::of(time_s.saturating_add(self.zone.offset_s(time_s)));
        time_s
    }

    fn digits<'t>(&mut self, text: &'t [u8]) -> &'t [u8] {
        let (number, rest) = number_of(text);
        if let Some(after) = exact::several(&mut self.fields, number, rest, self.now_s) {
            return after;
        }
        let len = text.len().saturating_sub(rest.len());
        // Zeros before it are those of a day or a month.
        if !text.starts_with(b"0") || len <= 2 {
            self.number = number;
        }
        rest
    }

    fn word(&mut self, word: &[u8]) {
        if let Some(month) = position_of(word, &MONTHS) {
            self.fields.month = Some(month.saturating_add(1));
            self.is_anything = true;
            return;
        }
        if self.special(word) {
            self.is_anything = true;
            return;
        }
        if self.number == 0 {
            let named = NUMBERS.iter().position(|name| is_whole(word, name));
            let named = named.and_then(|at| i64::try_from(at).ok());
            let last = is_whole(word, "last").then_some(0);
            if let Some(at) = named.or(last) {
                self.number = at.saturating_add(1);
                self.is_anything = true;
            }
            return;
        }
        for (name, length_s) in UNITS {
            if matched(word, name) >= name.len().saturating_sub(1) {
                let count = std::mem::take(&mut self.number);
                self.settle(length_s.saturating_mul(count));
                self.is_anything = true;
                return;
            }
        }
        if let Some(weekday) = position_of(word, &WEEKDAYS) {
            let mut weeks = std::mem::take(&mut self.number).saturating_sub(1);
            let mut days = self.fields.weekday_recorded.saturating_sub(weekday);
            if days <= 0 {
                weeks = weeks.saturating_add(1);
            }
            days = days.saturating_add(weeks.saturating_mul(7));
            self.settle(days.saturating_mul(DAY_S));
            self.is_anything = true;
        } else if matched(word, "months") >= 5 {
            self.settle(0);
            let count = std::mem::take(&mut self.number);
            let months = self.fields.month.unwrap_or(1).saturating_sub(1);
            let months = months.saturating_sub(count);
            self.fields.month = Some(months.rem_euclid(12).saturating_add(1));
            self.go_back_years(months.div_euclid(12).saturating_neg());
            self.is_anything = true;
        } else if matched(word, "years") >= 4 {
            self.settle(0);
            let count = std::mem::take(&mut self.number);
            self.go_back_years(count);
            self.is_anything = true;
        }
    }

    fn go_back_years(&mut self, count: i64) {
        self.fields.year = self.fields.year.map(|year| year.saturating_sub(count));
    }

    /// Words that are a time by themselves.
    fn special(&mut self, word: &[u8]) -> bool {
        let is = |name| is_whole(word, name);
        if is("yesterday") {
            self.number = 0;
            self.forget_day();
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
            let mut hour = self.fields.hour.unwrap_or(0);
            let number = std::mem::take(&mut self.number);
            if number != 0 {
                hour = number;
                (self.fields.minute, self.fields.second) = (Some(0), Some(0));
            }
            let half = if is("pm") { 12 } else { 0 };
            self.fields.hour = Some((hour % 12).saturating_add(half));
        } else if is("never") {
            self.number = 0;
            self.fields = Fields::of(self.zone.offset_s(0));
        } else if is("now") {
            self.number = 0;
            self.settle(0);
        } else if is("today") {
            let time = |fields: &Fields| (fields.hour, fields.minute, fields.second);
            if time(&self.fields) == time(&self.now) {
                self.hour(0);
            }
            self.number = 0;
            self.forget_day();
            self.settle(0);
        } else {
            return false;
        }
        true
    }

    fn forget_day(&mut self) {
        self.fields.day = None;
        self.days_before = 0;
    }

    /// Takes the last time it was so late, where no day is known.
    fn hour(&mut self, hour: i64) {
        if self.fields.day.is_none() && self.fields.hour < Some(hour) {
            self.days_before = 1;
        }
        self.fields.hour = Some(hour);
        (self.fields.minute, self.fields.second) = (Some(0), Some(0));
    }
}

fn is_whole(word: &[u8], name: &str) -> bool {
    word.eq_ignore_ascii_case(name.as_bytes())
}

#[cfg(test)]
mod tests;
