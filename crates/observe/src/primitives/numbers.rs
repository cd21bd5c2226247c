//! Numbers that a program sets, and distributions of numbers.

use bactrian_live::Kind;

use super::observer;
use crate::cells::{CountCell, HistogramCell};
use crate::name::Name;
use crate::registry::{Handle, Origin};
use crate::server::server;

/// A number that goes up and down, and that the program sets when it changes.
#[derive(Clone, Debug)]
pub struct Gauge {
    handle: Handle,
    cell: &'static CountCell,
}

observer!(Gauge);

impl Gauge {
    /// A new one, at 0.
    pub fn new(name: impl Into<Name>) -> Gauge {
        let handle = server().declare(Kind::Gauge, name, Origin::Cell);
        // This kind has one.
        let cell = handle.count_cell().unwrap_or_else(|| CountCell::leak());
        Gauge { handle, cell }
    }

    /// Sets it.
    #[inline]
    pub fn set(&self, number: f64) {
        self.cell.set(number.to_bits());
    }

    /// Changes it by so much.
    pub fn add(&self, difference: f64) {
        self.cell.update_float(|number| number + difference);
    }

    /// What it is.
    pub fn get(&self) -> f64 {
        f64::from_bits(self.cell.get())
    }
}

/// How numbers are distributed, such as sizes or latencies.
#[derive(Clone, Debug)]
pub struct Histogram {
    handle: Handle,
    cell: &'static HistogramCell,
}

observer!(Histogram);

impl Histogram {
    /// A new one.
    pub fn new(name: impl Into<Name>) -> Histogram {
        let handle = server().declare(Kind::Histogram, name, Origin::Cell);
        // This kind has one.
        let cell = handle.histogram_cell().unwrap_or_else(|| HistogramCell::leak());
        Histogram { handle, cell }
    }

    /// Takes one number in.
    #[inline]
    pub fn record(&self, number: u64) {
        self.cell.record(number);
    }

    /// What is there now.
    pub fn read(&self) -> bactrian_live::Histogram {
        self.cell.read()
    }
}
