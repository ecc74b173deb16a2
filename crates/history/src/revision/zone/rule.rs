//! The yearly rule for clocks in a string (tzset(3)): `CET-1CEST,M3.5.0,M10.5.0/3`.

use super::Offset;
use crate::revision::date::calendar::{DAY_S, Fields};
use vigil_model::calendar::{days_in, days_to};

const HOUR_S: i64 = 3600;

/// The default dates of changes, if the string has none.
const CHANGES: &[u8] = b",M3.2.0,M11.1.0";

/// The yearly rule for clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rule {
    standard: Offset,
    /// The offset of daylight saving time, when it begins, and when it ends.
    saving: Option<(Offset, Change, Change)>,
}

/// When clocks change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Change {
    day: Day,
    /// Seconds after the start of that day, by the clocks before the change.
    time_s: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Day {
    /// The day of the year from 1, without counting February 29.
    Julian(i64),
    /// The day of the year from 0.
    OfYear(i64),
    /// Month from 1, week from 1 with 5 for the last, day of the week from Sunday = 0.
    OfWeek(i64, i64, i64),
}

impl Rule {
    /// Parses a string; `None` if it is invalid.
    pub(super) fn parse(text: &[u8]) -> Option<Self> {
        let mut text = Text(text);
        text.name()?;
        let standard = Offset {
            seconds: text.time()?.checked_neg()?,
            is_dst: false,
        };
        if text.0.is_empty() {
            let saving = None;
            return Some(Self { standard, saving });
        }
        text.name()?;
        let seconds = match text.0.first() {
            None | Some(b',') => standard.seconds.checked_add(HOUR_S)?,
            Some(_) => text.time()?.checked_neg()?,
        };
        if text.0.is_empty() {
            text = Text(CHANGES);
        }
        let (start, end) = (text.change()?, text.change()?);
        let saving = Offset {
            seconds,
            is_dst: true,
        };
        text.0.is_empty().then_some(Self {
            standard,
            saving: Some((saving, start, end)),
        })
    }

    /// Returns the offset at `time_s`.
    pub(super) fn offset(&self, time_s: i64) -> Offset {
        let Some((saving, start, end)) = &self.saving else {
            return self.standard;
        };
        let local = Fields::of(time_s.saturating_add(self.standard.seconds));
        let [year, ..] = local.date();
        let start_s = start.local_s(year).saturating_sub(self.standard.seconds);
        let end_s = end.local_s(year).saturating_sub(saving.seconds);
        let is_dst = match start_s <= end_s {
            true => (start_s..end_s).contains(&time_s),
            // The southern hemisphere.
            false => !(end_s..start_s).contains(&time_s),
        };
        if is_dst { *saving } else { self.standard }
    }
}

impl Change {
    /// Returns what clocks show at that time, in seconds since 1970.
    fn local_s(&self, year: i64) -> i64 {
        let days = match self.day {
            Day::Julian(day) => {
                let is_leap = days_in(year, 2) == 29;
                let after = i64::from(is_leap && day >= 60);
                days_to(year, 1).saturating_add(day).saturating_add(after) - 1
            }
            Day::OfYear(day) => days_to(year, 1).saturating_add(day),
            Day::OfWeek(month, week, weekday) => {
                let first = days_to(year, month);
                // 1970 began on a Thursday.
                let first_weekday = first.saturating_add(4).rem_euclid(7);
                let ahead = weekday.saturating_sub(first_weekday).rem_euclid(7);
                let day = first.saturating_add(ahead).saturating_add((week - 1) * 7);
                if day >= first.saturating_add(days_in(year, month)) {
                    day - 7
                } else {
                    day
                }
            }
        };
        days.saturating_mul(DAY_S).saturating_add(self.time_s)
    }
}

/// The rest of a string.
struct Text<'a>(&'a [u8]);

impl Text<'_> {
    fn skip(&mut self, byte: u8) -> Option<()> {
        self.0 = self.0.strip_prefix(&[byte])?;
        Some(())
    }

    /// Skips a name: at least three letters, or letters, digits and signs in angle brackets.
    fn name(&mut self) -> Option<()> {
        let is_quoted = self.skip(b'<').is_some();
        let is_part = |byte: &u8| match is_quoted {
            true => byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-'),
            false => byte.is_ascii_alphabetic(),
        };
        let len = self.0.iter().take_while(|byte| is_part(byte)).count();
        self.0 = self.0.get(len..).filter(|_| len >= 3)?;
        if is_quoted { self.skip(b'>') } else { Some(()) }
    }

    /// Parses a number of at most three digits.
    fn number(&mut self) -> Option<i64> {
        let digits = self.0.iter().take_while(|byte| byte.is_ascii_digit());
        let (digits, rest) = self.0.split_at_checked(digits.count())?;
        self.0 = rest;
        let is_short = (1..=3).contains(&digits.len());
        let number = digits.iter().take(3);
        let number = number.fold(0, |number, digit| number * 10 + i64::from(digit - b'0'));
        is_short.then_some(number)
    }

    fn number_in(&mut self, range: std::ops::RangeInclusive<i64>) -> Option<i64> {
        self.number().filter(|number| range.contains(number))
    }

    /// Parses `[+-]hours[:minutes[:seconds]]` as seconds.
    fn time(&mut self) -> Option<i64> {
        let is_negative = self.skip(b'-').is_some();
        if !is_negative {
            let _ = self.skip(b'+');
        }
        let mut time_s = self.number_in(0..=167)? * HOUR_S;
        for unit_s in [60, 1] {
            if self.skip(b':').is_none() {
                break;
            }
            time_s += self.number_in(0..=59)? * unit_s;
        }
        Some(if is_negative { -time_s } else { time_s })
    }

    /// Parses `,day[/time]`.
    fn change(&mut self) -> Option<Change> {
        self.skip(b',')?;
        let day = if self.skip(b'J').is_some() {
            Day::Julian(self.number_in(1..=365)?)
        } else if self.skip(b'M').is_some() {
            let month = self.number_in(1..=12)?;
            self.skip(b'.')?;
            let week = self.number_in(1..=5)?;
            self.skip(b'.')?;
            Day::OfWeek(month, week, self.number_in(0..=6)?)
        } else {
            Day::OfYear(self.number_in(0..=365)?)
        };
        let time_s = match self.skip(b'/') {
            Some(()) => self.time()?,
            None => 2 * HOUR_S,
        };
        Some(Change { day, time_s })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_say_how_clocks_go() {
        for (text, time_s, hours, is_dst) in [
            ("CET-1CEST,M3.5.0,M10.5.0/3", 1_711_846_799, 1, false),
            ("CET-1CEST,M3.5.0,M10.5.0/3", 1_711_846_800, 2, true),
            ("CET-1CEST,M3.5.0,M10.5.0/3", 1_729_990_799, 2, true),
            ("CET-1CEST,M3.5.0,M10.5.0/3", 1_729_990_800, 1, false),
            ("EST5EDT", 1_720_000_000, -4, true),
            ("EST5EDT", 1_704_067_200, -5, false),
            ("AEST-10AEDT,M10.1.0,M4.1.0/3", 1_704_067_200, 11, true),
            ("AEST-10AEDT,M10.1.0,M4.1.0/3", 1_720_000_000, 10, false),
            ("<+0330>-3:30", 0, 3, false),
            ("AAA3BBB,J60/0,J61/0", 1_709_262_000, -2, true),
            ("AAA3BBB,59/0,60/0", 1_709_262_000 - 86_400, -2, true),
            ("AAA3BBB,J60/0,J61/0", 1_677_672_000, -2, true),
            ("AAA3BBB,J59/0,J60/0", 1_709_121_600, -2, true),
            ("AAA0BBB,M9.5.2/0,M10.2.0/0", 1_727_179_200, 1, true),
            ("AAA0BBB,M12.5.0/0,M1.1.0/0", 1_703_935_800, 0, false),
            ("AAA0BBB,M12.5.0/0,M1.1.0/0", 1_703_982_600, 1, true),
            // Daylight saving ends when it begins.
            ("AAA-14BBB,60,60/3", 1_704_334_607, 14, false),
        ] {
            let rule = Rule::parse(text.as_bytes()).unwrap();
            let offset = rule.offset(time_s);
            assert_eq!(
                (offset.seconds / 3600, offset.is_dst),
                (hours, is_dst),
                "{text}"
            );
        }
    }

    #[test]
    fn other_strings_are_none() {
        for text in [
            "",
            "UT0",
            "UTC",
            "CET-1CEST,M3.5.0",
            "CET-1CEST,M13.5.0,M10.5.0",
            "<+03-3",
            "CET-1x",
        ] {
            assert_eq!(Rule::parse(text.as_bytes()), None, "{text}");
        }
    }
}
