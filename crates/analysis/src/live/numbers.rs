//! Numbers for table columns: three digits and a unit, so that they neither jump nor are misread.

use bactrian_live::Unit;
use bactrian_trace::Micros;

use crate::units::{show_bytes, show_count, show_share, show_time};

const SECOND: u64 = 1_000_000_000;

/// A number with its unit.
pub fn show(unit: Unit, number: f64) -> String {
    match unit {
        _ if !number.is_finite() => number.to_string(),
        Unit::None => show_plain(number),
        Unit::Bytes => show_bytes(number.round()),
        Unit::Nanos => show_nanos(number),
        Unit::Percent => show_share(number / 100.0),
    }
}

/// A rate per second. Nanoseconds per second are a share of the time.
pub fn show_rate(unit: Unit, number: f64) -> String {
    match unit {
        Unit::Nanos => show_share(number / SECOND as f64),
        _ => format!("{}/s", show(unit, number)),
    }
}

/// A number without a unit; small integers in full.
fn show_plain(number: f64) -> String {
    let size = number.abs();
    match size {
        _ if size > 0.0 && size < 0.01 => format!("{number:.1e}"),
        _ if (number.fract() == 0.0 || size >= 1000.0) && size < 99_999.5 => format!("{number:.0}"),
        _ => show_count(number),
    }
}

/// An integer with separated thousands.
pub fn show_whole(number: i64) -> String {
    let digits = number.unsigned_abs().to_string();
    let mut shown = String::new();
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            shown.push(' ');
        }
        shown.push(digit);
    }
    if number < 0 { format!("-{shown}") } else { shown }
}

/// A duration.
pub fn show_nanos(nanos: f64) -> String {
    match nanos.abs() {
        size if size < 999.5 => format!("{nanos:.0} ns"),
        size if size < 99_950.0 => {
            let digits = if size < 9_995.0 { 2 } else { 1 };
            format!("{:.digits$} µs", nanos / 1e3)
        }
        _ if nanos < 0.0 => format!("-{}", show_nanos(-nanos)),
        _ => show_time(Micros((nanos / 1e3).round() as u64)),
    }
}

/// A moment in a program's life as a clock time: `1:02:03.4`.
pub fn show_clock(at: u64) -> String {
    let (seconds, tenths) = (at / SECOND, at % SECOND / (SECOND / 10));
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    match hours {
        0 => format!("{minutes:02}:{seconds:02}.{tenths}"),
        _ => format!("{hours}:{minutes:02}:{seconds:02}.{tenths}"),
    }
}

/// A span of time in short: `30 s`, `5 min`.
pub fn show_span(nanos: u64) -> String {
    match nanos / SECOND {
        seconds if seconds < 120 => format!("{seconds} s"),
        seconds if seconds < 7200 => format!("{} min", seconds / 60),
        seconds => format!("{} h", seconds / 3600),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_three_digits() {
        let check = |unit, number, expected| assert_eq!(show(unit, number), expected);
        check(Unit::None, 12.0, "12");
        check(Unit::None, 12.34567, "12.3");
        check(Unit::None, 1234.567, "1235");
        check(Unit::None, 0.00123, "1.2e-3");
        check(Unit::None, -123_456.0, "-123k");
        check(Unit::Bytes, 17_320.4, "17.3 kB");
        check(Unit::Nanos, 812.0, "812 ns");
        check(Unit::Nanos, 3_456.0, "3.46 µs");
        check(Unit::Nanos, 34_560.0, "34.6 µs");
        check(Unit::Nanos, 1_234_567.0, "1.2 ms");
        check(Unit::Nanos, -2e9, "-2.00 s");
        check(Unit::Percent, 12.34, "12.3 %");
        check(Unit::None, f64::NAN, "NaN");
        assert_eq!(show_rate(Unit::Nanos, 2.5e8), "25.0 %");
        assert_eq!(show_rate(Unit::Bytes, 2.5e8), "250 MB/s");
        assert_eq!(show_whole(-1_234_567), "-1 234 567");
        assert_eq!(show_whole(i64::MIN), "-9 223 372 036 854 775 808");
    }

    #[test]
    fn clocks_show_hours_only_if_there_are_any() {
        assert_eq!(show_clock(0), "00:00.0");
        assert_eq!(show_clock(61 * SECOND + 250_000_000), "01:01.2");
        assert_eq!(show_clock(3723 * SECOND), "1:02:03.0");
    }
}
