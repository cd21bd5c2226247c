//! Points and counters.

use bactrian_live::ObserverKind;

use super::observer;
use crate::cells::CountCell;
use crate::name::Name;
use crate::registry::{Handle, Origin};
use crate::server::server;

/// A point in the program; counts how often it is passed.
#[derive(Clone, Debug)]
pub struct Point {
    handle: Handle,
    cell: &'static CountCell,
}

observer!(Point);

impl Point {
    /// Creates a point, at 0.
    pub fn new(name: impl Into<Name>) -> Point {
        let (handle, cell) = counting(ObserverKind::Point, name.into());
        Point { handle, cell }
    }

    /// Counts one pass.
    #[inline]
    pub fn hit(&self) {
        self.cell.add(1);
    }

    /// Wraps a function so that its calls are counted.
    pub fn calls<A, B>(name: impl Into<Name>, function: impl Fn(A) -> B) -> impl Fn(A) -> B {
        let point = Point::new(name);
        move |argument| {
            point.hit();
            function(argument)
        }
    }

    /// The number of passes.
    pub fn count(&self) -> u64 {
        self.cell.get()
    }
}

/// A counter that only grows, such as bytes sent.
#[derive(Clone, Debug)]
pub struct Counter {
    handle: Handle,
    cell: &'static CountCell,
}

observer!(Counter);

impl Counter {
    /// Creates a counter, at 0.
    pub fn new(name: impl Into<Name>) -> Counter {
        let (handle, cell) = counting(ObserverKind::Counter, name.into());
        Counter { handle, cell }
    }

    /// Adds to the counter.
    #[inline]
    pub fn add(&self, count: u64) {
        self.cell.add(count);
    }

    /// The current value.
    pub fn count(&self) -> u64 {
        self.cell.get()
    }
}

fn counting(kind: ObserverKind, name: Name) -> (Handle, &'static CountCell) {
    let handle = server().declare(kind, name, Origin::Cell);
    // Points and counters always have a cell.
    let cell = handle.count_cell().unwrap_or_else(|| CountCell::leak());
    (handle, cell)
}
