//! Evidence as tables, for whoever asks by SQL: which tables there are and what their columns mean ([`schema`]), and how their rows are
//! read from a snapshot ([`HeapTables`]), a trace ([`TraceTables`]) and a recording of live numbers ([`RecordingTables`]).
//!
//! Rows come in batches of columns, straight from the evidence: a query of two columns of twenty million
//! blocks reads no others, and nothing is converted beforehand. `docs/tables.md` is made from the schema.

mod batch;
mod heap;
mod recording;
pub mod schema;
mod stack_numbers;
mod trace;

pub use batch::{Batch, Columns, Texts, Values};
pub use heap::HeapTables;
pub use recording::RecordingTables;
pub use stack_numbers::StackNumbers;
pub use trace::TraceTables;

use std::io;

use schema::Table;

/// Takes batches; what it returns as an error ends the scan.
pub type Sink<'a> = dyn FnMut(Batch) -> io::Result<()> + 'a;

/// What is wanted of a table.
pub struct Scan<'a> {
    /// The table.
    pub table: &'a Table,
    /// Whether a column is wanted, by its place.
    pub is_wanted: &'a dyn Fn(usize) -> bool,
    /// Which part of its rows.
    pub part: Part,
    /// What rows must be like, if that is known.
    pub predicate: Option<Predicate<'a>>,
}

/// Refuses batches, so that only columns are made of them by which they are judged.
pub struct Predicate<'a> {
    /// Whether it judges by a column, by its place.
    pub needs: &'a dyn Fn(usize) -> bool,
    /// Whether any row may be one that is wanted.
    pub accepts: &'a dyn Fn(&Batch) -> io::Result<bool>,
}

/// A part of the rows of a table: one of several that are read side by side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Which, from 0.
    pub index: usize,
    /// Of how many.
    pub of: usize,
}

impl Part {
    /// All rows.
    pub const WHOLE: Part = Part { index: 0, of: 1 };

    /// Its share of a number of things in a row.
    fn range(self, length: usize) -> std::ops::Range<usize> {
        let start = |index: usize| length * index / self.of.max(1);
        start(self.index)..start(self.index + 1)
    }
}

impl<'a> Scan<'a> {
    /// All rows and columns of a table.
    pub fn whole(table: &'a Table) -> Scan<'a> {
        Scan { table, is_wanted: &|_| true, part: Part::WHOLE, predicate: None }
    }

    /// Whether a column is read, be it to judge by it.
    fn reads(&self, place: usize) -> bool {
        let is_judged_by = self.predicate.as_ref().is_some_and(|it| (it.needs)(place));
        (self.is_wanted)(place) || is_judged_by
    }
}

/// Evidence whose tables can be read.
pub trait Tables: Send + Sync {
    /// The tables that it has.
    fn tables(&self) -> &'static [&'static Table];

    /// Whether a table can be read in parts. If not, all of its rows are in the first.
    fn has_parts(&self, table: &Table) -> bool;

    /// Hands rows to `sink`.
    ///
    /// # Errors
    /// What `sink` or the predicate says.
    fn scan(&self, scan: &Scan<'_>, sink: &mut Sink<'_>) -> io::Result<()>;
}
