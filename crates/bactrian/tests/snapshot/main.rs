//! Snapshots of real programs: what is in them is what OCaml's runtime counts, by every way of taking them,
//! and the program does not notice.
//!
//! Programs are `programs/heap_*.ml`, compiled by OCaml 4 (to native code and to bytecode) and by OCaml 5.3. Each
//! says what its heap holds, and waits.

#[allow(dead_code, reason = "shared with the tests of record, which use more of it")]
#[path = "../record/runs.rs"]
mod runs;

mod duplicates;
mod faults;
mod fibers;
mod graph;
mod heaps;
mod library;
mod limits;
mod moments;
mod nameless;
mod page;
mod programs;
mod strings;
mod table;
mod unharmed;
