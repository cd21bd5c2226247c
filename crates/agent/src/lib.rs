//! The agent: the part of Bactrian that lives inside the observed program.
//!
//! # The problem
//! An OCaml program is to be sampled as it is, without relinking, and without noticing: same output, same
//! exit status, no crash, no thread, no allocation in its heap, nothing of ours on its stacks. So this is a
//! library for `LD_PRELOAD`, without the standard library, that imports next to nothing.
//!
//! # The course of things
//! 1. `entry`: the dynamic linker calls us before the program. We read our settings (`environment`,
//!    agent-abi) and look for an OCaml runtime (`loaded`, `program`). If there is none, that was all.
//! 2. The runtime, initialised, calls `readlink`: we create the trace (`output`, `file`), start the runtime's own
//!    sampler, Gc.Memprof, with closures made of static memory (`tracker`), and put up a `guard` for
//!    programs that want the sampler for themselves.
//! 3. The sampler calls us for sampled allocations, promotions and frees. `recording` writes them with the
//!    writer of crates/trace; `locate` finds names for frames. What is collected is written every second,
//!    before the program waits (`waiting`), and when it forks, executes another program or ends (`entry`).
//!
//! 4. At high rates the stacks of allocations cost more than everything else. Then they are collected by
//!    us (`collect`), at the cost of what changed (`walk`).
//!
//! 5. Snapshots of the heap are taken by copies of the process (`snapshot`).
//!
//! 6. Who watches the program as it runs does so by a page that we share (`page`).
//!
//! # Invariants
//! - All work on the recording is done under one lock, on a stack of our own (`agent`, `rescue`). In there
//!   nothing waits for OCaml, so the lock cannot take part in a deadlock with the runtime's own.
//! - A panic in there turns the agent off, gives the lock back and returns to the program (`rescue`).
//! - Memory is our own (`memory`), system calls are direct (`sys`).
//! - What cannot be written is counted, and the trace says so (`Recorder` in crates/trace).

#![no_std]

extern crate alloc;

mod agent;
mod bytecode;
mod collect;
mod confined;
mod entry;
mod environment;
mod file;
mod frames;
mod guard;
mod interpreter;
mod loaded;
mod locate;
mod lock;
mod memory;
mod output;
mod page;
mod patch;
mod process;
mod program;
mod recording;
mod rescue;
mod rights;
mod ring;
mod snapshot;
mod switch;
mod sys;
mod tracker;
mod waiting;
mod waiting_stacks;
mod walk;

#[global_allocator]
static MEMORY: memory::Memory = memory::Memory::new();
