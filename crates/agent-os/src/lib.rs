//! The lowest layer of the agent, which lives inside the observed program: what it needs of an operating system, without a
//! standard library and with next to nothing of the program's own libc.
//!
//! For: crates/agent. Nothing here knows of OCaml, of traces or of snapshots, so all of it can be tested on the host.
//!
//! - [`sys`] and [`process`]: system calls, made directly; [`proc`]: what the kernel tells in /proc and /sys.
//! - [`lock`], [`memory`], [`stacks`]: a lock that signal handlers may meet, an allocator, stacks of our own with a way back
//!   from a panic.
//! - [`loaded`]: objects and symbols of this process; [`patch`]: jumps in place of functions.
//! - [`bytes`]: what the compiler takes from libc, without libc.
//! - [`confined`]: whether the program has forbidden itself system calls; [`birthmark`]: whether this is a copy of it.
//!
//! Promises: no function waits for anything but the lock it is asked to take, none but those that return collections
//! allocates, and none panics.

#![cfg_attr(not(test), no_std)]

extern crate alloc;

pub mod birthmark;
pub mod bytes;
pub mod confined;
pub mod loaded;
pub mod lock;
pub mod memory;
pub mod patch;
pub mod proc;
pub mod process;
pub mod stacks;
pub mod sys;
