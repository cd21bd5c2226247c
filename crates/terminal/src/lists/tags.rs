//! Tags: how many of the tagged values are alive, and what they hold.

use bactrian_analysis::live::numbers::{show, show_rate, show_whole};
use bactrian_live::{Database, Series, Unit, Value};

use super::{Cell, Column};
use crate::measure::rate;

pub const COLUMNS: &[Column] = &[
    Column::text("name"),
    Column::number("alive", 13),
    Column::number("change", 10),
    Column::number("size", 9),
    Column::number("change", 11),
    Column::number("mean", 8),
];

pub fn cells(database: &Database, series: &Series, value: &Value, at: u64) -> Vec<Cell> {
    let Value::Tag { count, bytes } = value else { return Vec::new() };
    let number = |of: &Option<u64>| of.map(|number| number as f64);
    let grows = |name| rate(database, series, name, at);
    let mean = match (count, bytes) {
        (Some(count), Some(bytes)) if *count > 0 => Some(*bytes as f64 / *count as f64),
        _ => None,
    };
    vec![
        Cell::maybe(number(count), |count| show_whole(count as i64)),
        Cell::maybe(grows("count"), |rate| signed(rate, show_rate(Unit::None, rate))),
        Cell::maybe(number(bytes), |bytes| show(Unit::Bytes, bytes)),
        Cell::maybe(grows("bytes"), |rate| signed(rate, show_rate(Unit::Bytes, rate))),
        Cell::maybe(mean, |mean| show(Unit::Bytes, mean)),
    ]
}

/// With a plus sign if it grows, a dash if it does not change.
pub fn signed(number: f64, shown: String) -> String {
    match number {
        _ if number == 0.0 => "-".to_owned(),
        _ if number > 0.0 => format!("+{shown}"),
        _ => shown,
    }
}
