//! Evidence as tables, for SQL: which tables there are and what their columns mean ([`schema`]), and scans that
//! read their rows from a snapshot ([`HeapTables`]), a trace ([`TraceTables`]) or a recording of live numbers
//! ([`RecordingTables`]).
//!
//! Rows come in batches of columns, directly from the evidence: a query of two columns of twenty million blocks
//! reads only these, and nothing is converted beforehand. `docs/tables.md` is generated from the schema.

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

/// Receives batches; if it returns an error, the scan ends with that error.
pub type Sink<'a> = dyn FnMut(Batch) -> io::Result<()> + 'a;

/// A request for rows of a table.
pub struct Scan<'a> {
    /// The table.
    pub table: &'a Table,
    /// Whether a column is requested, by its index.
    pub is_wanted: &'a dyn Fn(usize) -> bool,
    /// Which part of the rows to read.
    pub part: Part,
    /// A condition on rows, if known.
    pub predicate: Option<Predicate<'a>>,
}

/// Rejects batches early: only the columns that it needs are computed first.
pub struct Predicate<'a> {
    /// Whether it needs a column, by its index.
    pub needs: &'a dyn Fn(usize) -> bool,
    /// Whether any row of a batch may satisfy the condition.
    pub accepts: &'a dyn Fn(&Batch) -> io::Result<bool>,
}

/// A part of a table's rows; several parts can be read in parallel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// The number of the part, from 0.
    pub index: usize,
    /// The number of parts.
    pub of: usize,
}

impl Part {
    /// All rows.
    pub const WHOLE: Part = Part { index: 0, of: 1 };

    /// This part's share of `length` consecutive items.
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

    /// Whether a column is read, even if only for the predicate.
    fn reads(&self, place: usize) -> bool {
        let is_judged_by = self.predicate.as_ref().is_some_and(|it| (it.needs)(place));
        (self.is_wanted)(place) || is_judged_by
    }
}

/// Evidence that can be read as tables.
pub trait Tables: Send + Sync {
    /// The available tables.
    fn tables(&self) -> &'static [&'static Table];

    /// Whether a table can be read in parts. If not, the first part has all rows.
    fn has_parts(&self, table: &Table) -> bool;

    /// Passes rows to `sink`.
    ///
    /// # Errors
    /// Those of `sink` or the predicate.
    fn scan(&self, scan: &Scan<'_>, sink: &mut Sink<'_>) -> io::Result<()>;
}
