//! Stopwatches and spans.

use bactrian_live::{ObserverKind, Unit};

use super::observer;
use crate::cells::{SpanCell, TimeCell};
use crate::name::Name;
use crate::registry::{Handle, Origin};
use crate::server::server;

/// A stopwatch: the total time spent in an operation. Any number of threads may run it at once.
#[derive(Clone, Debug)]
pub struct Time {
    handle: Handle,
    cell: &'static TimeCell,
}

observer!(Time);

impl Time {
    /// Creates a stopwatch, at 0.
    pub fn new(name: impl Into<Name>) -> Time {
        let handle = server().declare(ObserverKind::Time, in_nanos(name.into()), Origin::Cell);
        // A stopwatch always has a cell.
        let cell = handle.time_cell().unwrap_or_else(|| TimeCell::leak());
        Time { handle, cell }
    }

    /// Starts a run, which ends when the guard is dropped.
    #[inline]
    #[must_use = "the run ends when this is dropped"]
    pub fn start(&self) -> RunningTime {
        RunningTime { cell: self.cell, start: self.cell.start() }
    }

    /// Runs a closure and measures it.
    pub fn time<T>(&self, work: impl FnOnce() -> T) -> T {
        let _running = self.start();
        work()
    }
}

/// A run of a [`Time`]; ends on drop.
#[derive(Debug)]
pub struct RunningTime {
    cell: &'static TimeCell,
    start: u64,
}

impl Drop for RunningTime {
    #[inline]
    fn drop(&mut self) {
        self.cell.stop(self.start);
    }
}

/// Operations of which many may be open at once, such as requests: how many are open, and how long the
/// completed ones took.
#[derive(Clone, Debug)]
pub struct Span {
    handle: Handle,
    cell: &'static SpanCell,
}

observer!(Span);

impl Span {
    /// Creates a span without open operations.
    pub fn new(name: impl Into<Name>) -> Span {
        let handle = server().declare(ObserverKind::Span, in_nanos(name.into()), Origin::Cell);
        // A span always has a cell.
        let cell = handle.span_cell().unwrap_or_else(|| SpanCell::leak());
        Span { handle, cell }
    }

    /// Begins an operation, which ends when the guard is dropped, on any thread.
    #[inline]
    #[must_use = "the piece of work ends when this is dropped"]
    pub fn begin(&self) -> RunningSpan {
        RunningSpan { cell: self.cell, begin: self.cell.begin() }
    }
}

/// An open operation of a [`Span`]; ends on drop.
#[derive(Debug)]
pub struct RunningSpan {
    cell: &'static SpanCell,
    begin: u64,
}

impl Drop for RunningSpan {
    #[inline]
    fn drop(&mut self) {
        self.cell.end(self.begin);
    }
}

fn in_nanos(name: Name) -> Name {
    name.unit(Unit::Nanos)
}
