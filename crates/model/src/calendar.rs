//! Dates of the proleptic Gregorian calendar.

/// The days in 400 years, after which leap years recur.
const DAYS_OF_400_YEARS: i64 = 146_097;

/// The days from the first of March of the year 0 to the start of 1970.
const DAYS_TO_1970: i64 = 719_468;

/// Returns the year, month and day, `days` after the start of 1970. Months and days count from 1.
///
/// Years are counted from March, so that a leap day is the last day of its year; from March on, each group of five months has 153
/// days.
pub fn date_of(days: i64) -> (i64, i64, i64) {
    let since = days.saturating_add(DAYS_TO_1970);
    let era = since.div_euclid(DAYS_OF_400_YEARS);
    let day_of_era = since.rem_euclid(DAYS_OF_400_YEARS);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * from_march + 2) / 5 + 1;
    let month = (from_march + 2) % 12 + 1;
    let year = era.saturating_mul(400) + year_of_era + i64::from(month <= 2);
    (year, month, day)
}

/// Returns the days from the start of 1970 to the start of the month, which counts from 1.
pub fn days_to(year: i64, month: i64) -> i64 {
    // Enough for years of 32 bits.
    let year = year.clamp(-3_000_000_000, 3_000_000_000) - i64::from(month <= 2);
    let from_march = (month + 9).rem_euclid(12);
    let day_of_year = (153 * from_march + 2) / 5;
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * DAYS_OF_400_YEARS + day_of_era - DAYS_TO_1970
}

/// Returns the number of days in the month, which counts from 1.
pub fn days_in(year: i64, month: i64) -> i64 {
    let (next_year, next) = match month {
        12 => (year.saturating_add(1), 1),
        _ => (year, month.saturating_add(1)),
    };
    days_to(next_year, next).saturating_sub(days_to(year, month))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_dates() {
        for (days, date) in [
            (0, (1970, 1, 1)),
            (-1, (1969, 12, 31)),
            (11_016, (2000, 2, 29)),
            (47_540, (2100, 2, 28)),
            (47_541, (2100, 3, 1)),
            (-719_162, (1, 1, 1)),
        ] {
            assert_eq!(date_of(days), date, "{days}");
            let (year, month, day) = date;
            assert_eq!(days_to(year, month) + day - 1, days);
        }
    }

    #[test]
    fn months_have_their_days() {
        let all = (1..=12).map(|month| days_in(2023, month));
        let expected = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
        assert_eq!(all.collect::<Vec<i64>>(), expected);
        for (year, february) in [(2000, 29), (2024, 29), (2100, 28)] {
            assert_eq!(days_in(year, 2), february, "{year}");
        }
    }
}
