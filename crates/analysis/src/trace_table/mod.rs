//! A trace in memory, in columns, so that questions need no pass over the file.
//!
//! A pass over a trace of 400 MB takes seconds, but a user who changes a filter waits half a second at most.
//! So a server that keeps a trace open reads it once and stores what questions need: about 26 bytes for each
//! object and 12 for each distinct stack. [`Lives`] has allocation, collection and size of objects;
//! [`Origins`] has their call stacks. They are read by two passes, each on its own thread, because the first
//! is much faster and answers what is viewed first.
//!
//! A question is answered in three steps. A filter becomes a bit for each object (`admit.rs`; conditions on
//! stacks are decided once per stack). Admitted objects are summed by stack (`sums.rs`), or replayed over
//! time (`sweep.rs`). Sums by stack become sums by label (`labelling.rs`), which no longer depends on the
//! number of objects.
//!
//! Answers equal those of passes, to the last sample. Where that cannot be guaranteed, because objects die
//! twice or before they are allocated, or because damage affects only one of the two passes, there is no
//! table and questions are answered by passes.

mod admit;
pub(crate) mod bits;
mod columns;
mod labelling;
mod lives;
mod origins;
mod sums;
mod sweep;

use bactrian_trace::ObjectId;

use crate::trace_file::TraceFile;

pub(crate) use labelling::Labelling;
pub(crate) use lives::{Lives, PeakMoment};
pub(crate) use origins::Origins;
pub(crate) use sums::{by_stack, contents, lifetimes};

/// Why a trace has no table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoTable {
    /// The table would exceed its memory grant.
    TooLarge,
    /// There is only one question, which a pass answers sooner.
    AskedOnce,
    /// The trace has irregularities, or exceeds what columns can hold.
    Odd(&'static str),
}

impl std::fmt::Display for NoTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            NoTable::TooLarge => {
                f.write_str("it is too large for the memory that is free on this machine")
            }
            NoTable::AskedOnce => f.write_str("it is asked once"),
            NoTable::Odd(why) => f.write_str(why),
        }
    }
}

/// The bytes per object, in both tables and while they are read.
const BYTES_PER_OBJECT: u64 = 28;
/// The bytes per distinct stack, including the sums and labelled trees of some questions.
pub(crate) const BYTES_PER_STACK: u64 = 150;

/// The memory for the objects of a trace according to its packet headers, without stacks.
pub(crate) fn memory_for_objects(trace: &TraceFile) -> u64 {
    trace.index().allocations().saturating_mul(BYTES_PER_OBJECT)
}

/// Detects whether two passes have seen the same objects in the same order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct IdSum {
    objects: u64,
    sum: u64,
}

impl IdSum {
    #[inline]
    fn add(&mut self, id: ObjectId) {
        self.objects += 1;
        self.sum = (self.sum.rotate_left(5) ^ id.0).wrapping_mul(0x517c_c1b7_2722_0a95);
    }
}

/// Both tables of a trace.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tables<'t> {
    pub lives: &'t Lives,
    pub origins: &'t Origins,
}

impl<'t> Tables<'t> {
    /// Combines the tables if they contain the same objects.
    pub fn of(lives: &'t Lives, origins: &'t Origins) -> Option<Tables<'t>> {
        (lives.sum == origins.sum).then_some(Tables { lives, origins })
    }
}
