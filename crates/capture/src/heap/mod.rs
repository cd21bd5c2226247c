//! Heaps of programs, walked from outside.

pub mod customs;
pub mod names;
pub mod process_memory;
pub mod roots;
mod smaps;
pub mod spaces;
pub mod statistics;
pub mod target;
