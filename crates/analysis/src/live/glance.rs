//! A program at a glance: the few numbers by which programs are compared.

use bactrian_live::{Database, Unit, names};

use super::measure::{RECENT, collector_share, cpu_share, rate, recent};
use super::memory_use::first_number;
use super::numbers::{show, show_rate};
use crate::units::show_share;

/// One of these numbers.
pub struct Glance {
    /// Its title, one or two words.
    pub title: &'static str,
    /// Its name in machine-readable output.
    pub name: &'static str,
    shown: Shown,
    number: fn(&Database, u64) -> Option<f64>,
    /// Whether the numbers of several programs can be summed.
    is_sum: bool,
}

/// How a number is displayed.
enum Shown {
    Amount(Unit),
    Rate(Unit),
    Share,
}

/// All of them, in display order.
pub const GLANCES: &[Glance] = &[
    Glance::level("memory", "rss", Unit::Bytes, |database, at| level(database, names::RSS, at)),
    Glance::level("heap", "heap", Unit::Bytes, |database, at| level(database, names::HEAP, at)),
    Glance::level("live", "live", Unit::Bytes, |database, at| level(database, names::LIVE, at)),
    Glance::level("C and others", "c", Unit::Bytes, |database, at| {
        level(database, names::C_MEMORY, at)
    }),
    Glance::level("shared", "shared", Unit::Bytes, |database, at| {
        level(database, names::SHARED, at)
    })
    .of_one(),
    Glance::rate("allocates", "allocation_rate", Unit::Bytes, |database, at| {
        per_second(database, names::ALLOCATED, at)
    }),
    Glance { shown: Shown::Share, ..Glance::rate("processor", "cpu_share", Unit::None, cpu_share) },
    Glance {
        shown: Shown::Share,
        is_sum: false,
        ..Glance::rate("in the GC", "collector_share", Unit::None, |database, at| {
            collector_share(database, at, RECENT)
        })
    },
    Glance::level("pauses p99", "pauses_p99", Unit::Nanos, |database, at| {
        let pauses = recent(database.named_at(names::PAUSES, at)?, at, RECENT)?;
        (pauses.count() > 0).then(|| pauses.percentile(99.0) as f64)
    })
    .of_one(),
    Glance::rate("minor GCs", "minor_collection_rate", Unit::None, |database, at| {
        per_second(database, names::MINOR_COLLECTIONS, at)
    }),
    Glance::level("major GCs", "major_collections", Unit::None, |database, at| {
        level(database, names::MAJOR_COLLECTIONS, at)
    }),
    Glance::level("threads", "threads", Unit::None, |database, at| {
        level(database, names::THREADS, at)
    }),
];

fn level(database: &Database, name: &str, at: u64) -> Option<f64> {
    database.named_at(name, at)?.at(at).and_then(|(_, value)| first_number(value))
}

fn per_second(database: &Database, name: &str, at: u64) -> Option<f64> {
    rate(database, database.named_at(name, at)?, "", at)
}

impl Glance {
    const fn level(
        title: &'static str,
        name: &'static str,
        unit: Unit,
        number: fn(&Database, u64) -> Option<f64>,
    ) -> Glance {
        Glance { title, name, shown: Shown::Amount(unit), number, is_sum: true }
    }

    const fn rate(
        title: &'static str,
        name: &'static str,
        unit: Unit,
        number: fn(&Database, u64) -> Option<f64>,
    ) -> Glance {
        Glance { title, name, shown: Shown::Rate(unit), number, is_sum: true }
    }

    /// Not to be summed, because several programs may share the memory.
    const fn of_one(self) -> Glance {
        Glance { is_sum: false, ..self }
    }

    /// The current number of a program.
    pub fn of(&self, database: &Database) -> Option<f64> {
        (self.number)(database, database.last())
    }

    /// The sum over several programs, if it makes sense.
    pub fn of_all<'a>(&self, programs: impl Iterator<Item = &'a Database>) -> Option<f64> {
        let numbers = programs.filter_map(|database| self.of(database));
        if self.is_sum { numbers.reduce(|a, b| a + b) } else { None }
    }

    /// The number as displayed.
    pub fn show(&self, number: Option<f64>) -> String {
        match (&self.shown, number) {
            (_, None) => "-".to_owned(),
            (Shown::Amount(unit), Some(number)) => show(*unit, number),
            (Shown::Rate(unit), Some(number)) => show_rate(*unit, number),
            (Shown::Share, Some(number)) => show_share(number),
        }
    }
}
