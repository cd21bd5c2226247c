//! Capture: how evidence is taken from programs.
//!
//! Used to start programs with the agent in them, to attach to running ones, and to say beforehand what will
//! work and what will not, and why.

pub mod agent;
pub mod attach;
pub mod cache;
mod debug_file;
pub mod doctor;
mod elf;
pub mod heap;
pub mod inherited;
mod keeper;
pub mod launch;
pub mod ledger;
pub mod live;
pub mod measure;
pub mod memory;
mod process_stat;
pub mod program;
pub mod seccomp;
pub mod snapshot;
pub mod temporary;
pub mod types;

pub use bactrian_agent_abi::control::Trouble;
pub use bactrian_agent_abi::ledger::Limit;
pub use bactrian_agent_abi::{
    Busy, Children, DEFAULT_DEPTH, DEFAULT_MARGIN, DEFAULT_RATE, Limits, MAX_COPIES, MAX_DEPTH,
    Settings, Snapshots, When, falling,
};
pub use program::find_program;
