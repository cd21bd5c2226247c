//! How often a program comes by.

use bactrian_live::Kind;

use super::observer;
use crate::cells::CountCell;
use crate::name::Name;
use crate::registry::{Handle, Origin};
use crate::server::server;

/// A point of the program: counts how often it is passed.
#[derive(Clone, Debug)]
pub struct Point {
    handle: Handle,
    cell: &'static CountCell,
}

observer!(Point);

impl Point {
    /// A new one.
    pub fn new(name: impl Into<Name>) -> Point {
        let (handle, cell) = counting(Kind::Point, name.into());
        Point { handle, cell }
    }

    /// Counts one passage.
    #[inline]
    pub fn hit(&self) {
        self.cell.add(1);
    }

    /// Counts calls of a function.
    pub fn calls<A, B>(name: impl Into<Name>, function: impl Fn(A) -> B) -> impl Fn(A) -> B {
        let point = Point::new(name);
        move |argument| {
            point.hit();
            function(argument)
        }
    }

    /// How many passages there were.
    pub fn count(&self) -> u64 {
        self.cell.get()
    }
}

/// What only grows, such as bytes that were sent.
#[derive(Clone, Debug)]
pub struct Counter {
    handle: Handle,
    cell: &'static CountCell,
}

observer!(Counter);

impl Counter {
    /// A new one.
    pub fn new(name: impl Into<Name>) -> Counter {
        let (handle, cell) = counting(Kind::Counter, name.into());
        Counter { handle, cell }
    }

    /// Adds to it.
    #[inline]
    pub fn add(&self, count: u64) {
        self.cell.add(count);
    }

    /// How much there was.
    pub fn count(&self) -> u64 {
        self.cell.get()
    }
}

fn counting(kind: Kind, name: Name) -> (Handle, &'static CountCell) {
    let handle = server().declare(kind, name, Origin::Cell);
    // These kinds have one.
    let cell = handle.count_cell().unwrap_or_else(|| CountCell::leak());
    (handle, cell)
}
