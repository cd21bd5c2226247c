//! A trace in memory, in columns, so that a question needs no pass over the file.
//!
//! A pass over a trace of 400 MB takes seconds; somebody who turns a filter waits for half a second at most. So one who
//! stays with a trace, as a server does, reads it once and keeps what questions are about: about 26 bytes for each object
//! and 12 for each distinct stack. [`Lives`] says when objects are born and die and how big they are; [`Origins`] who
//! allocated them. They are read by two passes, each on a thread of its own, because the first is much quicker and answers
//! what is looked at first.
//!
//! A question then goes three steps. A filter becomes a bit for each object (`admit.rs`; what it says of stacks is decided
//! once for each stack). Admitted objects are added up by stack (`sums.rs`), or replayed by time (`sweep.rs`). Sums of stacks
//! become those of labels (`labelling.rs`), which no longer depends on the number of objects.
//!
//! Answers are the same as those of passes, to the last sample. Traces about which that cannot be promised, because objects
//! die twice or before they are born, or damage hits one pass and not the other, have no table, and are asked by passes.

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
    /// It would take more memory than it may.
    TooLarge,
    /// One question is asked, and a pass answers it sooner.
    AskedOnce,
    /// It says what makes no sense, or more than columns can hold.
    Odd(&'static str),
}

impl std::fmt::Display for NoTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            NoTable::TooLarge => f.write_str(
                "it is too large for this machine's memory, or for what others leave of it",
            ),
            NoTable::AskedOnce => f.write_str("it is asked once"),
            NoTable::Odd(why) => write!(f, "in it, {why}"),
        }
    }
}

/// Bytes that an object takes, in both tables and while they are read.
const BYTES_PER_OBJECT: u64 = 28;
/// Bytes that a distinct stack takes, with the sums and labelled trees of some questions.
pub(crate) const BYTES_PER_STACK: u64 = 150;

/// What the objects of a trace take in a table, by what packet headers promise; stacks come on top.
pub(crate) fn memory_for_objects(trace: &TraceFile) -> u64 {
    trace.index().allocations().saturating_mul(BYTES_PER_OBJECT)
}

/// Tells whether two passes have met the same objects in the same order.
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
    /// Puts them together if they are about the same objects.
    pub fn of(lives: &'t Lives, origins: &'t Origins) -> Option<Tables<'t>> {
        (lives.sum == origins.sum).then_some(Tables { lives, origins })
    }
}
