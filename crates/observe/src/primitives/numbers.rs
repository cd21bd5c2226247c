//! Gauges and histograms.

use bactrian_live::ObserverKind;

use super::observer;
use crate::cells::{CountCell, HistogramCell};
use crate::name::Name;
use crate::registry::{Handle, Origin};
use crate::server::server;

/// A number that goes up and down; the program sets it when it changes.
#[derive(Clone, Debug)]
pub struct Gauge {
    handle: Handle,
    cell: &'static CountCell,
}

observer!(Gauge);

impl Gauge {
    /// Creates a gauge, at 0.
    pub fn new(name: impl Into<Name>) -> Gauge {
        let handle = server().declare(ObserverKind::Gauge, name, Origin::Cell);
        // A gauge always has a cell.
        let cell = handle.count_cell().unwrap_or_else(|| CountCell::leak());
        Gauge { handle, cell }
    }

    /// Sets the value.
    #[inline]
    pub fn set(&self, number: f64) {
        self.cell.set(number.to_bits());
    }

    /// Adds to the value.
    pub fn add(&self, difference: f64) {
        self.cell.update_float(|number| number + difference);
    }

    /// The current value.
    pub fn get(&self) -> f64 {
        f64::from_bits(self.cell.get())
    }
}

/// A distribution of numbers, such as sizes or latencies.
#[derive(Clone, Debug)]
pub struct Histogram {
    handle: Handle,
    cell: &'static HistogramCell,
}

observer!(Histogram);

impl Histogram {
    /// Creates an empty histogram.
    pub fn new(name: impl Into<Name>) -> Histogram {
        let handle = server().declare(ObserverKind::Histogram, name, Origin::Cell);
        // A histogram always has a cell.
        let cell = handle.histogram_cell().unwrap_or_else(|| HistogramCell::leak());
        Histogram { handle, cell }
    }

    /// Adds one number.
    #[inline]
    pub fn record(&self, number: u64) {
        self.cell.record(number);
    }

    /// The current distribution.
    pub fn read(&self) -> bactrian_live::Histogram {
        self.cell.read()
    }
}
