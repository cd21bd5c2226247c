//! GC parameters for a program: measured, modelled, verified.
//!
//! Two parameters matter for most programs: `s`, the size of the minor heap in words, and `o`, `space_overhead`. They differ in
//! what can be predicted. How much a minor heap of another size would promote depends on the lifetimes of objects, which only a
//! run shows, so `s` is measured. The effect of `o` follows a law: a major cycle is due when o/100 times the live heap has been
//! allocated, so the work of all cycles is proportional to (100+o)/o, and the heap to 1+o/100. So `o` is modelled from two
//! measured values ([`model`]), and a recommendation ([`choice`]) is verified by a run before it is made ([`plan`]).
//!
//! [`setting`], [`measurement`], [`model`], [`choice`], [`plan`], [`map`], [`answer`] and [`comparison`] do no I/O; [`runner`] runs
//! the program, and [`file`] reads and writes results.
//!
//! Promises: every predicted number has an interval, a measured number is never replaced by a predicted one, and a result file is
//! validated when it is read, so that nothing in it can make the other modules panic.

pub mod answer;
pub mod choice;
pub mod comparison;
pub mod file;
pub mod map;
pub mod measurement;
pub mod model;
pub mod plan;
pub mod runner;
pub mod running;
pub mod setting;
