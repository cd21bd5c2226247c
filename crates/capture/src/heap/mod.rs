//! Walking the heaps of programs from outside.

mod account;
mod block;
pub mod customs;
mod encode;
mod equal;
mod heap_copy;
mod helpers;
mod hidden;
mod image;
mod mark;
pub mod names;
pub mod process_memory;
mod reach;
pub mod roots;
mod samples;
mod smaps;
pub mod spaces;
pub mod statistics;
mod tables;
pub mod target;
#[cfg(test)]
mod tests;
mod variables;
mod walk;

pub use mark::Count;
pub use walk::{Options, Subject, Summary, Times, walk};
