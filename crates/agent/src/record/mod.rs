//! Recording: from the callbacks of the runtime's sampler to a trace.
//!
//! The sampler calls the closures of `tracker` (in bytecode, through `closures`); `collect` walks stacks at
//! high rates; `recording` writes events with the writer of crates/trace, under the lock of `session`;
//! `locate` resolves frames to names. The output goes through the `keeper`'s ring buffer, or into a `file`
//! (`output`).

mod closures;
pub mod collect;
pub mod doors;
mod file;
pub mod guard;
mod locate;
mod output;
pub mod page;
pub mod rate;
pub mod recording;
pub mod samplers;
pub mod session;
mod static_blocks;
pub mod switch;
pub mod tracker;
mod waiting_stacks;
