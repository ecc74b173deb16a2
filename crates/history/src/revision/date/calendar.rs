//! Days, months and years.

use vigil_model::calendar::{date_of, days_to};

pub(in crate::revision) const DAY_S: i64 = 86_400;

pub(in crate::revision) const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

pub(in crate::revision) const WEEKDAYS: [&str; 7] = [
    "Sundays",
    "Mondays",
    "Tuesdays",
    "Wednesdays",
    "Thursdays",
    "Fridays",
    "Saturdays",
];

/// The known parts of a date and a time of day. A day or hour that is too large overflows into the next.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::revision) struct Fields {
    pub(in crate::revision) year: Option<i64>,
    /// From 1.
    pub(in crate::revision) month: Option<i64>,
    /// From 1.
    pub(in crate::revision) day: Option<i64>,
    pub(in crate::revision) hour: Option<i64>,
    pub(in crate::revision) minute: Option<i64>,
    pub(in crate::revision) second: Option<i64>,
    /// The day of the week when all fields were last known, from Sunday = 0.
    pub(in crate::revision) weekday_recorded: i64,
}

impl Fields {
    /// Returns what a clock shows `local_s` seconds after the start of 1970.
    pub(in crate::revision) fn of(local_s: i64) -> Self {
        let (days, second) = (local_s.div_euclid(DAY_S), local_s.rem_euclid(DAY_S));
        let (year, month, day) = date_of(days);
        Self {
            year: Some(year),
            month: Some(month),
            day: Some(day),
            hour: Some(second / 3600),
            minute: Some(second / 60 % 60),
            second: Some(second % 60),
            // 1970 began on a Thursday.
            weekday_recorded: days.saturating_add(4).rem_euclid(7),
        }
    }

    /// Returns year, month and day; unknown ones are 0.
    pub(in crate::revision) fn date(&self) -> [i64; 3] {
        [self.year, self.month, self.day].map(Option::unwrap_or_default)
    }

    pub(in crate::revision) fn weekday(&self) -> i64 {
        self.weekday_recorded
    }

    /// Returns the seconds since the start of 1970; unknown fields count as at that time.
    pub(in crate::revision) fn total_s(&self) -> i64 {
        let days = days_to(self.year.unwrap_or(1970), self.month.unwrap_or(1));
        let days = days.saturating_add(self.day.unwrap_or(1).saturating_sub(1));
        let minutes = self.hour.unwrap_or(0).saturating_mul(60);
        let minutes = minutes.saturating_add(self.minute.unwrap_or(0));
        days.saturating_mul(DAY_S)
            .saturating_add(minutes.saturating_mul(60))
            .saturating_add(self.second.unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_come_back() {
        for days in (-800_000..800_000).step_by(97) {
            let time_s = days * DAY_S + 12_345;
            assert_eq!(Fields::of(time_s).total_s(), time_s);
        }
        assert_eq!(Fields::of(951_782_400).date(), [2000, 2, 29]);
        assert_eq!(
            Fields::of(i64::MIN).weekday().clamp(0, 6),
            Fields::of(i64::MIN).weekday()
        );
    }
}
