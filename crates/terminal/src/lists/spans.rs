//! Histograms and spans: percentiles of recent values.

use bactrian_analysis::live::numbers::{show, show_rate, show_whole};
use bactrian_live::{Database, Series, Unit, Value};

use super::{Cell, Column};
use crate::measure::{RECENT, rate, recent, unit_of};

pub const COLUMNS: &[Column] = &[
    Column::text("name (last 60 s)"),
    Column::number("count", 11),
    Column::number("rate", 8),
    Column::number("p50", 8),
    Column::number("p90", 8),
    Column::number("p99", 8),
    Column::number("max", 8),
    Column::number("open", 5),
];

pub fn cells(database: &Database, series: &Series, value: &Value, at: u64) -> Vec<Cell> {
    let (all, open) = match value {
        Value::Histogram(histogram) => (histogram, None),
        Value::Span { open, durations } => (durations, Some(*open)),
        _ => return Vec::new(),
    };
    let unit = unit_of(series, "p50");
    let recent = recent(series, at, RECENT).filter(|recent| recent.count() > 0);
    let percentile = |percent: f64| {
        let number = recent.as_ref().map(|recent| recent.percentile(percent) as f64);
        Cell::maybe(number, |number| show(unit, number))
    };
    let rate = rate(database, series, "count", at);
    vec![
        Cell::number(all.count() as f64, show_whole(all.count() as i64)),
        Cell::maybe(rate, |rate| show_rate(Unit::None, rate)),
        percentile(50.0),
        percentile(90.0),
        percentile(99.0),
        percentile(100.0),
        Cell::maybe(open.map(|open| open as f64), |open| show_whole(open as i64)),
    ]
}
