//! Sizes, durations and ranges in human-readable form: parsing and formatting.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use bactrian_trace::Micros;
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use crate::question::Written;

/// A number of bytes.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema,
)]
pub struct Bytes(pub u64);

/// A duration or a moment, such as `10`, `1.5s`, `20ms`, `3min`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema)]
pub struct Time(#[schemars(with = "f64")] pub Micros);

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.0.seconds())
    }
}

/// A range, including both ends; without a bound, an end is null.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "{T}Range")]
pub struct Between<T> {
    /// The lower end.
    pub from: Option<T>,
    /// The upper end.
    pub to: Option<T>,
}

impl<T> Default for Between<T> {
    fn default() -> Between<T> {
        Between { from: None, to: None }
    }
}

impl<T: PartialOrd> Between<T> {
    /// Whether `value` lies in the range.
    pub fn contains(&self, value: &T) -> bool {
        self.from.as_ref().is_none_or(|from| from <= value)
            && self.to.as_ref().is_none_or(|to| value <= to)
    }
}

/// Why a text is not a size, time or range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadValue(String);

impl fmt::Display for BadValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BadValue {}

/// Splits `12.5kB` into a number and a unit.
fn number_and_unit(text: &str) -> Option<(f64, &str)> {
    let digits = |c: char| c.is_ascii_digit() || matches!(c, '.' | '_' | '+' | '-');
    let mut end = text.find(|c| !digits(c)).unwrap_or(text.len());
    // `1e6` is a number; in `1e` the `e` would be a unit.
    if let Some(exponent) = text[end..].strip_prefix(['e', 'E'])
        && exponent.starts_with(|c: char| c.is_ascii_digit() || c == '-' || c == '+')
    {
        let rest = exponent.trim_start_matches(digits);
        end = text.len() - rest.len();
    }
    let number: f64 = text[..end].replace('_', "").parse().ok()?;
    (number >= 0.0 && number.is_finite()).then_some((number, text[end..].trim()))
}

impl FromStr for Bytes {
    type Err = BadValue;

    fn from_str(text: &str) -> Result<Bytes, BadValue> {
        let factor = |unit: &str| {
            Some(match unit.to_ascii_lowercase().as_str() {
                "" | "b" => 1.0,
                "k" | "kb" => 1e3,
                "m" | "mb" => 1e6,
                "g" | "gb" => 1e9,
                "t" | "tb" => 1e12,
                "ki" | "kib" => 1024.0,
                "mi" | "mib" => 1024f64.powi(2),
                "gi" | "gib" => 1024f64.powi(3),
                "ti" | "tib" => 1024f64.powi(4),
                _ => return None,
            })
        };
        number_and_unit(text.trim())
            .and_then(|(number, unit)| Some(Bytes((number * factor(unit)?).round() as u64)))
            .ok_or_else(|| {
                BadValue(format!("`{text}` is not a size; write 500, 64kB, 1.5MB or 2GiB"))
            })
    }
}

impl FromStr for Time {
    type Err = BadValue;

    fn from_str(text: &str) -> Result<Time, BadValue> {
        let factor = |unit: &str| {
            Some(match unit {
                "us" | "µs" => 1.0,
                "ms" => 1e3,
                "" | "s" => 1e6,
                "m" | "min" => 60e6,
                "h" => 3600e6,
                _ => return None,
            })
        };
        number_and_unit(text.trim())
            .and_then(|(number, unit)| Some(Time(Micros((number * factor(unit)?).round() as u64))))
            .ok_or_else(|| {
                BadValue(format!(
                    "`{text}` is not a time; write seconds (2.5) or 20ms, 3s, 5min, 1h"
                ))
            })
    }
}

impl<T: FromStr<Err = BadValue> + PartialOrd> FromStr for Between<T> {
    type Err = BadValue;

    fn from_str(text: &str) -> Result<Between<T>, BadValue> {
        let (from, to) = text
            .split_once("..")
            .ok_or_else(|| BadValue(format!("`{text}` is not a range; write A..B, A.. or ..B")))?;
        let end = |text: &str| (!text.trim().is_empty()).then(|| text.parse()).transpose();
        let range = Between { from: end(from)?, to: end(to)? };
        if let (Some(from), Some(to)) = (&range.from, &range.to)
            && to < from
        {
            return Err(BadValue(format!("`{text}` ends before it begins")));
        }
        Ok(range)
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// In seconds, to the microsecond.
impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, part) = (self.0.0 / 1_000_000, self.0.0 % 1_000_000);
        let text = format!("{whole}.{part:06}");
        write!(f, "{}s", text.trim_end_matches('0').trim_end_matches('.'))
    }
}

impl<T: fmt::Display> fmt::Display for Between<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = |end: &Option<T>| end.as_ref().map(T::to_string).unwrap_or_default();
        write!(f, "{}..{}", end(&self.from), end(&self.to))
    }
}

impl Written for Time {
    const VALUE: &'static str = "TIME";
    const EXAMPLE: &'static str = "1.5s";
}

impl Written for Bytes {
    const VALUE: &'static str = "SIZE";
    const EXAMPLE: &'static str = "1kB";
}

impl Written for Between<Time> {
    const VALUE: &'static str = "TIMES";
    const EXAMPLE: &'static str = "1.5s..3s";
}

impl Written for Between<Bytes> {
    const VALUE: &'static str = "SIZES";
    const EXAMPLE: &'static str = "64..1kB";
}

/// Three significant digits with a suitable unit: `0 B`, `17.3 kB`, `2.05 GB`.
pub fn show_bytes(bytes: f64) -> String {
    show_scaled(bytes, &[" B", " kB", " MB", " GB", " TB", " PB"])
}

/// Three significant digits with a suitable unit: `812`, `17.3k`, `2.05M`.
pub fn show_count(count: f64) -> String {
    show_scaled(count, &["", "k", "M", "G", "T", "P"])
}

fn show_scaled(value: f64, units: &[&str]) -> String {
    let (sign, mut value) = (if value < 0.0 { "-" } else { "" }, value.abs());
    let mut unit = 0;
    while value >= 999.5 && unit + 1 < units.len() {
        value /= 1000.0;
        unit += 1;
    }
    let digits = match value {
        v if unit == 0 && v.fract() == 0.0 => 0,
        v if v < 9.995 => 2,
        v if v < 99.95 => 1,
        _ => 0,
    };
    format!("{sign}{value:.digits$}{}", units[unit])
}

/// A fraction in percent with at most three digits.
pub fn show_share(share: f64) -> String {
    let percent = share * 100.0;
    let digits = if percent.abs() < 9.95 { 2 } else { usize::from(percent.abs() < 99.95) };
    format!("{percent:.digits$} %")
}

/// `1 packet`, `2 packets`.
pub fn show_number(count: u64, one: &str) -> String {
    format!("{count} {one}{}", if count == 1 { "" } else { "s" })
}

/// A duration with a suitable unit: `12 µs`, `3.4 ms`, `12.0 s`, `1 h 02 min`.
pub fn show_time(time: Micros) -> String {
    let us = time.0;
    match us {
        0..1_000 => format!("{us} µs"),
        1_000..1_000_000 => format!("{:.1} ms", us as f64 / 1e3),
        1_000_000..120_000_000 => format!("{:.2} s", us as f64 / 1e6),
        120_000_000..7_200_000_000 => {
            format!("{} min {:02} s", us / 60_000_000, us / 1_000_000 % 60)
        }
        _ => format!("{} h {:02} min", us / 3_600_000_000, us / 60_000_000 % 60),
    }
}

/// Text from a file, made safe for display: control characters become `\u{..}`.
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.contains(char::is_control) {
        return text.into();
    }
    let shown = text.chars().map(|c| match c.is_control() {
        true => c.escape_default().to_string(),
        false => c.to_string(),
    });
    shown.collect::<String>().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_times_are_read() {
        for (text, bytes) in
            [("0", 0), ("64kB", 64_000), ("1.5 MiB", 1_572_864), ("1e6", 1_000_000)]
        {
            assert_eq!(text.parse(), Ok(Bytes(bytes)), "{text}");
        }
        for (text, us) in [("2.5", 2_500_000), ("20ms", 20_000), ("3min", 180_000_000), ("7us", 7)]
        {
            assert_eq!(text.parse(), Ok(Time(Micros(us))), "{text}");
        }
        for text in ["", "x", "-1", "1 parsec", "1e", "nan", "inf"] {
            assert!(text.parse::<Bytes>().is_err(), "{text}");
            assert!(text.parse::<Time>().is_err(), "{text}");
        }
    }

    #[test]
    fn ranges_are_read() {
        let range: Between<Bytes> = "1k..".parse().expect("a range");
        assert!(range.contains(&Bytes(1000)) && !range.contains(&Bytes(999)));
        assert_eq!("..".parse::<Between<Time>>(), Ok(Between::default()));
        assert!("2s..1s".parse::<Between<Time>>().is_err());
        assert!("7".parse::<Between<Time>>().is_err());
    }

    #[test]
    fn numbers_are_shown_with_three_digits() {
        for (value, text) in [
            (0.0, "0 B"),
            (999.0, "999 B"),
            (999.6, "1.00 kB"),
            (17_320.0, "17.3 kB"),
            (-2e9, "-2.00 GB"),
        ] {
            assert_eq!(show_bytes(value), text);
        }
        assert_eq!(show_time(Micros(3_725_000_000)), "62 min 05 s");
    }
}
