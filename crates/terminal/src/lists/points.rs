//! Points, counters and stopwatches: counts, rates, and shares of the time.

use bactrian_analysis::live::numbers::{show, show_nanos, show_rate, show_whole};
use bactrian_live::{Database, Series, Value};

use super::{Cell, Column};
use crate::measure::rate;
use bactrian_analysis::units::show_share;

pub const COLUMNS: &[Column] = &[
    Column::text("name"),
    Column::number("count", 15),
    Column::number("rate", 10),
    Column::number("time", 11),
    Column::number("of run", 7),
    Column::number("now", 7),
    Column::number("mean", 8),
];

pub fn cells(database: &Database, series: &Series, value: &Value, at: u64) -> Vec<Cell> {
    let unit = series.declaration.unit;
    let whole = |count: u64| {
        let text = show_whole(i64::try_from(count).unwrap_or(i64::MAX));
        Cell::number(count as f64, text)
    };
    match value {
        Value::Count(count) => {
            let count = match unit {
                bactrian_live::Unit::None => whole(*count),
                _ => Cell::number(*count as f64, show(unit, *count as f64)),
            };
            let rate = rate(database, series, "", at);
            vec![count, Cell::maybe(rate, |rate| show_rate(unit, rate))]
        }
        Value::Elapsed { nanos, runs, running } => {
            let of_run = (at > 0).then(|| *nanos as f64 / at as f64);
            let now = rate(database, series, "nanos", at).map(|now| now / 1e9);
            let mean = (*runs > 0).then(|| *nanos as f64 / *runs as f64);
            let time =
                format!("{}{}", show_nanos(*nanos as f64), if *running { " *" } else { "  " });
            vec![
                whole(*runs),
                Cell::maybe(rate(database, series, "runs", at), |rate| {
                    show_rate(bactrian_live::Unit::None, rate)
                }),
                Cell::number(*nanos as f64, time),
                Cell::maybe(of_run, show_share),
                Cell::maybe(now, show_share),
                Cell::maybe(mean, show_nanos),
            ]
        }
        _ => Vec::new(),
    }
}
