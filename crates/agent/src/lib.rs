//! The agent: the part of Bactrian that lives inside the observed program.
//!
//! # The problem
//! An OCaml program is to be sampled as it is, without relinking, and without noticing: same output, same
//! exit status, no crash, no thread, no allocation in its heap, nothing of ours on its stacks. So this is a
//! library for `LD_PRELOAD`, without the standard library, that imports next to nothing.
//!
//! # Rooms
//! Each uses only what is before it; `cargo xtask tidy` checks that.
//! - crates/agent-os: system calls, /proc, lock, memory, stacks, patches, objects and symbols. No OCaml.
//! - `runtime`: the OCaml runtime of the program and its stacks.
//! - `keeper`: memory shared with the process that writes our traces.
//! - `record`, `snapshot`: the two things that we do. Neither knows of the other.
//! - `entry`: how we get control, and what is called when.
//!
//! # The course of things
//! 1. `entry`: the dynamic linker calls us before the program. We read our settings (`environment`, agent-abi) and look
//!    for an OCaml runtime (`runtime::program`). If there is none, that was all.
//! 2. The runtime, initialised, calls `readlink`: we create the trace (`record::output`), start the runtime's own sampler,
//!    Gc.Memprof, with closures made of static memory (`tracker`), and put up a `guard` for programs that want the
//!    sampler for themselves.
//! 3. The sampler calls us for sampled allocations, promotions and frees. `recording` writes them with the writer of
//!    crates/trace; `locate` finds names for frames. What is collected is written every second, before the program
//!    blocks (`runtime::blocking`), and when it forks, executes another program or ends (`entry`).
//! 4. At high rates the stacks of allocations cost more than everything else. Then they are collected by us
//!    (`collect`), at the cost of what changed (`runtime::walk`).
//! 5. Snapshots of the heap are taken by copies of the process (`snapshot`).
//! 6. An observer of the running program shares a page with us (`page`).
//!
//! A program that runs already is another way in (`entry::attached`): we were written into its memory, the runtime calls
//! us by its hooks, and each domain starts its sampler by itself (`samplers`).
//!
//! # Invariants
//! - All work on the recording is done under one lock (`session`), on a stack of our own (`stacks`). In there nothing
//!   waits for OCaml, so the lock cannot take part in a deadlock with the runtime's own.
//! - A panic in there turns the agent off, gives the lock back and returns to the program (`stacks`).
//! - Memory is our own (`memory`), system calls are direct (`sys`).
//! - What cannot be written is counted, and the trace says so (`Recorder` in crates/trace).

#![no_std]

extern crate alloc;

mod entry;
mod keeper;
mod record;
mod runtime;
mod snapshot;

use core::panic::PanicInfo;

use bactrian_agent_os::memory::Memory;
use bactrian_agent_os::stacks;

#[global_allocator]
static MEMORY: Memory = Memory::new();

#[panic_handler]
fn panicked(_info: &PanicInfo<'_>) -> ! {
    // SAFETY: every caller of `stacks::run_on` handles a panic.
    unsafe { stacks::give_up_here() };
    // Only what is under `stacks::run_on` can panic; there is nothing to go back to.
    // SAFETY: ends the process.
    unsafe { core::arch::asm!("ud2", options(noreturn)) }
}

// The compiled core library has leftovers of unwinding, which never happens here. They must not be taken
// from the program, nor be offered to it.
core::arch::global_asm!(
    ".globl rust_eh_personality",
    ".hidden rust_eh_personality",
    ".globl _Unwind_Resume",
    ".hidden _Unwind_Resume",
    "rust_eh_personality:",
    "_Unwind_Resume:",
    "ud2",
);
