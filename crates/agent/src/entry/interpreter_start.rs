//! Detects when the interpreter of a bytecode program starts.
//!
//! It calls `__sigsetjmp` whenever it starts to run bytecode; we begin at the first such call after the
//! program has been loaded.

use core::arch::naked_asm;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use bactrian_agent_os::loaded;

use crate::runtime::agent;

/// libc's own function.
static SIGSETJMP: AtomicUsize = AtomicUsize::new(0);
/// Whether the interpreter has yet to start.
static IS_EXPECTED: AtomicBool = AtomicBool::new(false);

/// From now on, wait for the start of the interpreter.
pub fn expect() {
    IS_EXPECTED.store(true, Ordering::Relaxed);
}

/// Interposes libc's function of this name. That function returns to its caller a second time, later, so
/// nothing of ours may be on the stack when it is entered.
///
/// # Safety
/// As for libc's.
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub unsafe extern "C" fn __sigsetjmp() {
    naked_asm!(
        "cmp byte ptr [rip + {expected}], 0",
        "jne 2f",
        "cmp qword ptr [rip + {real}], 0",
        "je 2f",
        "3:",
        "jmp qword ptr [rip + {real}]",
        "2:",
        "push rdi",
        "push rsi",
        "sub rsp, 8",
        "call {interpreter_may_start}",
        "add rsp, 8",
        "pop rsi",
        "pop rdi",
        "jmp 3b",
        expected = sym IS_EXPECTED,
        real = sym SIGSETJMP,
        interpreter_may_start = sym interpreter_may_start,
    )
}

extern "C" fn interpreter_may_start() {
    if SIGSETJMP.load(Ordering::Relaxed) == 0 {
        // Every libc has it.
        SIGSETJMP.store(loaded::find_behind("__sigsetjmp").unwrap_or(0), Ordering::Relaxed);
    }
    let Some(agent) = agent::prepared() else { return };
    if let Some(interpreter) = agent.program.interpreter()
        && interpreter.code().0 != 0
        && IS_EXPECTED.swap(false, Ordering::Relaxed)
    {
        super::start(agent);
    }
}
