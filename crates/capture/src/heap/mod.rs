//! Heaps of programs, walked from outside.

pub mod roots;
pub mod target;
