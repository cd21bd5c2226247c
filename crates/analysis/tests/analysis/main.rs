//! Answers compared with those of a naive model that holds every object in memory.

mod asked;
mod coverage;
mod hostile;
mod model;
mod pictures;
mod programs;
mod questions;
mod rewriting;
mod series;
mod sums;
