//! Evidence as tables, for whoever asks by SQL: which tables there are and what their columns mean ([`schema`]), and how their rows are
//! read from a snapshot ([`HeapTables`]), a trace ([`TraceTables`]) and a recording of live numbers ([`RecordingTables`]).
//!
//! Rows come in batches of columns, straight from the evidence: who wants two columns of twenty million blocks does not pay for the
//! others, and nothing is converted before it is asked for. `docs/tables.md` is made from the schema.

mod batch;
mod heap;
mod recording;
pub mod schema;
mod trace;

pub use batch::{Batch, Values};
pub use heap::HeapTables;
pub use recording::RecordingTables;
pub use trace::TraceTables;

use std::io;

use schema::Table;

/// Takes batches; what it returns as an error ends the scan.
pub type Sink<'a> = dyn FnMut(Batch) -> io::Result<()> + 'a;

/// Evidence whose tables can be read.
pub trait Tables {
    /// The tables that it has.
    fn tables(&self) -> &'static [&'static Table];

    /// Hands all rows of one of them to `sink`, with the columns that are wanted, by their places.
    ///
    /// # Errors
    /// What `sink` says.
    fn scan(
        &self,
        table: &Table,
        is_wanted: &dyn Fn(usize) -> bool,
        sink: &mut Sink<'_>,
    ) -> io::Result<()>;
}
