//! `bactrian record` on real programs: the data is right, and the program does not notice.
//!
//! The programs are those of `programs/`, compiled by OCaml 4 (the system's own) and by OCaml 5.3
//! (`cargo xtask ocaml`), and some third-party programs in Debian. Each runs plain and observed, and must
//! behave the same both times.

mod accounting;
mod bytecode;
mod conditions;
mod falling;
mod faults;
mod file_sizes;
mod final_gc;
mod ignored_children;
mod kept;
mod killed_recorders;
mod memtrace;
mod own_sampler;
mod planted;
mod processes;
mod programs;
mod real;
mod refusals;
mod rights;
mod running;
mod runs;
mod snapshots;
mod traces;
mod words;
