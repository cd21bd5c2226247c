//! Numbers of the runtime and of the operating system, which exist for any program.

use bactrian_analysis::live::numbers::{show, show_nanos, show_rate, show_whole};
use bactrian_live::{Database, ObserverKind, Series, Value};

use super::{Cell, Column};
use crate::measure::{RECENT, rate, recent};

pub const COLUMNS: &[Column] = &[
    Column::text("number"),
    Column::number("value", 15),
    Column::number("rate", 12),
    Column::number("change in 60 s", 16),
];

pub fn cells(database: &Database, series: &Series, value: &Value, at: u64) -> Vec<Cell> {
    let unit = series.declaration.unit;
    if let Value::Histogram(histogram) = value {
        let now = recent(series, at, RECENT).unwrap_or_default();
        let count = histogram.count() as f64;
        return vec![
            Cell::number(count, show_whole(count as i64)),
            Cell::maybe(rate(database, series, "count", at), |rate| {
                show_rate(bactrian_live::Unit::None, rate)
            }),
            Cell::number(
                now.percentile(99.0) as f64,
                format!("p99 {}", show_nanos(now.percentile(99.0) as f64)),
            ),
        ];
    }
    let Some((name, number)) = value.numbers().into_iter().next() else { return Vec::new() };
    let shown = match unit {
        bactrian_live::Unit::None if number.fract() == 0.0 => show_whole(number as i64),
        _ => show(unit, number),
    };
    let is_counter = matches!(series.declaration.kind, ObserverKind::Counter | ObserverKind::Point);
    let rate = rate(database, series, name, at).filter(|_| is_counter);
    let before = series.at(at.saturating_sub(RECENT).max(database.first()));
    let before = before.and_then(|(_, value)| value.numbers().into_iter().next());
    let change = before.map(|(_, before)| number - before);
    vec![
        Cell::number(number, shown),
        Cell::maybe(rate, |rate| show_rate(unit, rate)),
        Cell::maybe(change, |change| super::tags::signed(change, show(unit, change))),
    ]
}
