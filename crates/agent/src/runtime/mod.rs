//! The program's OCaml runtime: finding it, its variables and functions, its frames and stacks.
//!
//! Nothing here records or takes snapshots; both are built on this.

pub mod agent;
pub mod blocking;
pub mod bytecode;
pub mod collector;
mod compare;
pub mod fiber;
pub mod frames;
pub mod interpreter;
pub mod interpreter_walk;
pub mod kept_walk;
pub mod program;
mod sampling_rate;
pub mod walk;
