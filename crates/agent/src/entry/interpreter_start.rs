//! When the interpreter of a bytecode program starts.
//!
//! It calls `__sigsetjmp` whenever it starts to run bytecode; the first time with the program loaded is where we begin.

use core::arch::naked_asm;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use bactrian_agent_os::loaded;

use crate::runtime::agent;

/// libc's own function behind ours.
static SIGSETJMP: AtomicUsize = AtomicUsize::new(0);
/// The interpreter is expected to start.
static IS_EXPECTED: AtomicBool = AtomicBool::new(false);

/// From now on the start of the interpreter is waited for.
pub fn expect() {
    IS_EXPECTED.store(true, Ordering::Relaxed);
}

/// Stands before libc's function of this name. It returns to its caller a second time, later, so nothing of
/// ours may be on the stack when libc's own is entered.
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
