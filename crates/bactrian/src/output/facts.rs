//! Named facts, one per line, and dates.

use std::io::Write;

use super::{Console, FAINT, visible};
use crate::failure::Failure;

/// Prints a named fact, unless it is empty.
pub fn line(console: &mut Console, name: &str, value: &str) -> Result<(), Failure> {
    if !value.is_empty() {
        writeln!(console.out(), "{FAINT}{name:<14}{FAINT:#}{}", visible(value))?;
    }
    Ok(())
}

/// Converts seconds since the Unix epoch to a date in UTC (Howard Hinnant's algorithm for civil dates).
pub fn show_date(seconds: f64) -> String {
    let seconds = seconds as i64;
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = (month_from_march + 2) % 12 + 1;
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    let (hour, minute) = (second / 3_600, second / 60 % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{:02} UTC", second % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_match_the_calendar() {
        assert_eq!(show_date(0.0), "1970-01-01 00:00:00 UTC");
        assert_eq!(show_date(951_782_399.0), "2000-02-28 23:59:59 UTC");
        assert_eq!(show_date(951_868_800.0), "2000-03-01 00:00:00 UTC");
        assert_eq!(show_date(1_794_700_800.0), "2026-11-15 00:00:00 UTC");
    }
}
