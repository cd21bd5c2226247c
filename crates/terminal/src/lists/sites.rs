//! Allocation sites: their current allocation rate, and their live bytes.

use bactrian_analysis::live::numbers::{show, show_rate, show_whole};
use bactrian_live::{Series, Site, Unit, Value};

use super::{Cell, Column, Row, RowId, Tone};
use crate::measure::{Measure, ObserverIndex, Part};
use bactrian_analysis::units::show_share;

/// The location is more important than the shares: its line must be visible on small screens too.
pub const COLUMNS: &[Column] = &[
    Column { width: 46, ..Column::text("place") },
    Column::number("rate now", 11),
    Column::number("live now", 10),
    Column::number("of live", 7),
    Column::number("of rate", 7),
    Column::number("samples", 9),
];

pub fn rows(place: ObserverIndex, series: &Series, at: u64) -> Vec<Row> {
    // The caller says why there are none.
    let Some((_, Value::Sites(sites))) = series.at(at) else { return Vec::new() };
    let sum = |number: fn(&Site) -> f64| sites.iter().map(number).sum::<f64>();
    let (rate, live) = (sum(|site| site.rate), sum(|site| site.live));
    let share =
        |part: f64, whole: f64| Cell::maybe((whole > 0.0).then(|| part / whole), show_share);
    let row = |site: &Site| Row {
        id: RowId::Site(place, site.name.clone()),
        cells: vec![
            Cell::text(site.name.clone()),
            Cell::number(site.rate, show_rate(Unit::Bytes, site.rate)),
            Cell::number(site.live, show(Unit::Bytes, site.live)),
            share(site.live, live),
            share(site.rate, rate),
            Cell::number(site.samples as f64, show_whole(site.samples as i64)),
        ],
        tone: Tone::Plain,
        measure: Some(Measure { place, part: Part::SiteRate(site.name.clone()) }),
    };
    sites.iter().map(row).collect()
}
