//! Snapshots of real programs: their contents equal what OCaml's runtime counts, in every way of taking them,
//! and the program does not notice.
//!
//! The programs are `programs/heap_*.ml`, compiled by OCaml 4 (to native code and to bytecode) and by OCaml
//! 5.3. Each prints what its heap contains, and waits.

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
