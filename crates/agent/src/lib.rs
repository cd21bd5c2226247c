//! The agent: the part of Bactrian that lives inside the observed program.
//!
//! # The problem
//! We sample an OCaml program as it is, without relinking it, and it does not notice: same output, same
//! exit status, no crash, no extra thread, no allocation in its heap, nothing of ours on its stacks. So this
//! is a library for `LD_PRELOAD`, without the standard library, that imports almost nothing.
//!
//! # Layers
//! Each uses only those listed before it; `cargo xtask tidy` checks that.
//! - crates/agent-os: system calls, /proc, lock, memory, stacks, patches, objects and symbols. Knows nothing
//!   of OCaml.
//! - `runtime`: the program's OCaml runtime and its stacks.
//! - `keeper`: memory shared with the process that writes our traces.
//! - `record`, `snapshot`: the two things that the agent does. Neither knows of the other.
//! - `entry`: how the agent gets control, and what it then calls.
//!
//! # How it works
//! 1. `entry`: the dynamic linker calls us before the program starts. We read our settings (`environment`,
//!    agent-abi) and look for an OCaml runtime (`runtime::program`). If there is none, there is nothing more
//!    to do.
//! 2. Once initialised, the runtime calls `readlink`. At that moment we create the trace (`record::output`),
//!    start the runtime's own sampler, Gc.Memprof, with closures in static memory (`tracker`), and install a
//!    `guard` for programs that want the sampler for themselves.
//! 3. The sampler calls us for sampled allocations, promotions and frees. `recording` writes them with the
//!    writer of crates/trace; `locate` resolves frames to names. Buffered events are written every second,
//!    before the program blocks (`runtime::blocking`), and when it forks, calls exec or exits (`entry`).
//! 4. At high rates the stacks of allocations cost more than everything else. Then we collect them ourselves
//!    (`collect`), in a time that depends on what has changed since the last one (`runtime::walk`).
//! 5. Snapshots of the heap are taken from copies of the process (`snapshot`).
//! 6. An observer of the running program shares a page with us (`page`).
//!
//! There is another way in, for a program that is already running (`entry::attached`): a tracer writes us
//! into its memory, the runtime calls us through its hooks, and each domain starts its own sampler
//! (`samplers`).
//!
//! # Invariants
//! - All work on the recording is done under one lock (`session`), on a stack of our own (`stacks`); only the
//!   callback for a freed block, which needs little, stays on the program's. Nothing in there waits for OCaml, so the
//!   lock cannot deadlock with the runtime's own.
//! - A panic in there turns the agent off, releases the lock and returns to the program (`stacks`).
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
    // Only code under `stacks::run_on` can panic; here there is nothing to return to.
    // SAFETY: ends the process.
    unsafe { core::arch::asm!("ud2", options(noreturn)) }
}

// The compiled core library refers to unwinding functions, which are never called here. They must neither be
// resolved from the program nor be exported to it.
core::arch::global_asm!(
    ".globl rust_eh_personality",
    ".hidden rust_eh_personality",
    ".globl _Unwind_Resume",
    ".hidden _Unwind_Resume",
    "rust_eh_personality:",
    "_Unwind_Resume:",
    "ud2",
);
