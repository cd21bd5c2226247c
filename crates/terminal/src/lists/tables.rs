//! Hash tables: whether they grow, and whether their bindings are well distributed.

use bactrian_analysis::live::numbers::{show_rate, show_whole};
use bactrian_live::{Database, Series, Unit, Value};

use super::tags::signed;
use super::{Cell, Column};
use crate::measure::rate;
use bactrian_analysis::units::show_share;

pub const COLUMNS: &[Column] = &[
    Column::text("name"),
    Column::number("bindings", 11),
    Column::number("change", 9),
    Column::number("buckets", 10),
    Column::number("empty", 10),
    Column::number("fill", 7),
    Column::number("longest", 8),
];

pub fn cells(database: &Database, series: &Series, value: &Value, at: u64) -> Vec<Cell> {
    let Value::Table(table) = value else { return Vec::new() };
    let whole = |count: u64| {
        let text = show_whole(i64::try_from(count).unwrap_or(i64::MAX));
        Cell::number(count as f64, text)
    };
    let grows = rate(database, series, "bindings", at);
    vec![
        whole(table.bindings),
        Cell::maybe(grows, |rate| signed(rate, show_rate(Unit::None, rate))),
        whole(table.buckets),
        whole(table.empty),
        Cell::number(table.fill(), show_share(table.fill())),
        whole(table.longest),
    ]
}
