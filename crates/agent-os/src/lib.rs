//! The agent's lowest layer. The agent lives inside the observed program; this crate gives it what it needs
//! of the operating system, without a standard library and with almost nothing of the program's own libc.
//!
//! Used by crates/agent. Nothing here knows about OCaml, traces or snapshots, so all of it can be tested on
//! the host.
//!
//! - [`sys`] and [`process`]: direct system calls; [`proc`]: what the kernel reports in /proc and /sys.
//! - [`lock`], [`memory`], [`stacks`]: a lock that a signal handler may meet while it is held, an allocator,
//!   and stacks of our own with a way back from a panic.
//! - [`loaded`]: objects and symbols of this process; [`patch`]: jumps written over functions.
//! - [`bytes`]: the functions that the compiler expects of libc (memcpy and others), without libc.
//! - [`copies`]: the frozen copies of this process, and their files.
//! - [`confined`]: whether the program has set a seccomp filter; [`birthmark`]: whether this process is a
//!   copy of the marked one.
//!
//! Guarantees: nothing here panics. Functions block only where their documentation says so. Only functions that
//! take or return collections allocate, and [`copies`].

#![cfg_attr(not(test), no_std)]

extern crate alloc;

pub mod birthmark;
pub mod bytes;
pub mod confined;
pub mod copies;
pub mod loaded;
pub mod lock;
pub mod memory;
pub mod patch;
pub mod proc;
pub mod process;
pub mod stacks;
pub mod sys;
