//! How long pieces of work take.

use bactrian_live::{Kind, Unit};

use super::observer;
use crate::cells::{SpanCell, TimeCell};
use crate::name::Name;
use crate::registry::{Handle, Origin};
use crate::server::server;

/// A stopwatch: how much time is spent in some work, all together. Any number of threads may do it at once.
#[derive(Clone, Debug)]
pub struct Time {
    handle: Handle,
    cell: &'static TimeCell,
}

observer!(Time);

impl Time {
    /// A new one.
    pub fn new(name: impl Into<Name>) -> Time {
        let handle = server().declare(Kind::Time, in_nanos(name.into()), Origin::Cell);
        // This kind has one.
        let cell = handle.time_cell().unwrap_or_else(|| TimeCell::leak());
        Time { handle, cell }
    }

    /// Starts a run, which ends when the guard is dropped.
    #[inline]
    #[must_use = "the run ends when this is dropped"]
    pub fn start(&self) -> RunningTime {
        RunningTime { cell: self.cell, start: self.cell.start() }
    }

    /// Does some work, and measures it.
    pub fn time<T>(&self, work: impl FnOnce() -> T) -> T {
        let _running = self.start();
        work()
    }
}

/// A run of a [`Time`].
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

/// Pieces of work of which many may go on at once, such as requests: how many do, and how long the others took.
#[derive(Clone, Debug)]
pub struct Span {
    handle: Handle,
    cell: &'static SpanCell,
}

observer!(Span);

impl Span {
    /// A new one.
    pub fn new(name: impl Into<Name>) -> Span {
        let handle = server().declare(Kind::Span, in_nanos(name.into()), Origin::Cell);
        // This kind has one.
        let cell = handle.span_cell().unwrap_or_else(|| SpanCell::leak());
        Span { handle, cell }
    }

    /// A piece of work begins; it ends when the guard is dropped, on whatever thread.
    #[inline]
    #[must_use = "the piece of work ends when this is dropped"]
    pub fn begin(&self) -> RunningSpan {
        RunningSpan { cell: self.cell, begin: self.cell.begin() }
    }
}

/// A piece of work of a [`Span`].
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
