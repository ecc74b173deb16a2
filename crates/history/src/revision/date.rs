//! Parses dates as people write them for git, and formats dates as git prints them ("DATE FORMATS" of git-commit(1),
//! and git's "approxidate", which accepts almost anything as a date).

mod approximate;
pub(in crate::revision) mod calendar;
mod exact;

use bstr::{BStr, ByteSlice};

use self::approximate::Approximate;
use self::calendar::{Fields, MONTHS, WEEKDAYS};
use super::zone::Zone;
use vigil_git::repository::Repository;

/// Parses `text` as seconds since 1970; `None` if nothing in it is a date.
pub(super) fn parse(text: &BStr, repository: &Repository) -> Option<i64> {
    let environment = &repository.environment;
    let zone = Zone::of(environment);
    // git's tests set the current time by this variable.
    let set = environment.get("GIT_TEST_DATE_NOW");
    let set = set.and_then(|now| now.to_str().ok()?.parse().ok());
    let now_s = set.unwrap_or_else(|| vigil_stamp::now().s);
    parse_at(text, &zone, now_s, vigil_stamp::now().s)
}

/// Does the same for clocks in `zone` at the time `now_s`. An exact date that could be read in another way is not
/// taken for one more than ten days after `today_s`.
pub(crate) fn parse_at(text: &[u8], zone: &Zone, now_s: i64, today_s: i64) -> Option<i64> {
    exact::parse(text, zone, today_s).or_else(|| Approximate::new(zone, now_s)?.parse(text))
}

/// Formats a time as `2005-04-07`.
pub(crate) fn short(time_s: i64, zone: i32) -> String {
    let fields = shown(time_s, zone);
    let [year, month, day] = fields.date();
    format!("{year:04}-{month:02}-{day:02}")
}

/// Formats a time as `Thu, 7 Apr 2005 22:13:13 +0200`.
pub(crate) fn rfc2822(time_s: i64, zone: i32) -> String {
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

/// Returns what clocks in `zone` show; `zone` is hours times 100, plus minutes.
fn shown(time_s: i64, zone: i32) -> Fields {
    let minutes = i64::from(zone / 100) * 60 + i64::from(zone % 100);
    Fields::of(time_s.saturating_add(minutes * 60))
}

/// Returns the length of `word` if it is the start of `name`, ignoring case; otherwise 0.
fn matched(word: &[u8], name: &str) -> usize {
    let head = name.as_bytes().get(..word.len());
    match head.is_some_and(|head| head.eq_ignore_ascii_case(word)) {
        true => word.len(),
        false => 0,
    }
}

/// Returns the position of the name that starts with `word`, which must have at least three letters.
fn position_of(word: &[u8], names: &[&str]) -> Option<i32> {
    let at = names.iter().position(|name| matched(word, name) >= 3)?;
    i32::try_from(at).ok()
}

/// Returns the letters and digits at the start of `text`.
fn word_of(text: &[u8]) -> &[u8] {
    let end = text.find_not_alphanumeric();
    text.get(..end).unwrap_or_default()
}

trait ByteRuns {
    fn find_not_alphanumeric(&self) -> usize;
    fn count_digits(&self) -> usize;
    fn count_letters(&self) -> usize;
}

impl ByteRuns for [u8] {
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

/// Parses the digits at the start of `text`; also returns the rest. A number that is too large becomes the largest
/// one.
fn number_of(text: &[u8]) -> (u64, &[u8]) {
    let (digits, rest) = text
        .split_at_checked(text.count_digits())
        .unwrap_or((b"", text));
    let number = match digits {
        b"" => Some(0),
        digits => digits.to_str().ok().and_then(|digits| digits.parse().ok()),
    };
    (number.unwrap_or(u64::MAX), rest)
}

#[cfg(test)]
mod tests;
