//! A stack of our own, and a way back from a panic.
//!
//! OCaml 4 runs callbacks on the program's stack, of which there may be little left: the runtime makes sure
//! of 4 KiB and raises Stack_overflow otherwise. So our work is done on a stack of our own. And if there is
//! a mistake in it, the program must not pay for it: a panic ends our work, not the program.

use core::arch::naked_asm;
use core::cell::UnsafeCell;
use core::ffi::c_void;
use core::panic::PanicInfo;
use core::sync::atomic::{AtomicUsize, Ordering};

const STACK_SIZE: usize = 256 << 10;

#[repr(C, align(4096))]
struct Stack(UnsafeCell<[u8; STACK_SIZE]>);

// SAFETY: used by one thread at a time, see `run`.
unsafe impl Sync for Stack {}

static STACK: Stack = Stack(UnsafeCell::new([0; STACK_SIZE]));
/// The program's stack pointer while we are on our own stack.
static WAY_BACK: AtomicUsize = AtomicUsize::new(0);

/// Runs `f` on our own stack; false if it panicked.
///
/// # Safety
/// One thread at a time may be in here; after a panic, whatever `f` was working on is in an unknown state.
pub unsafe fn run<F: FnOnce()>(f: F) -> bool {
    extern "C" fn call<F: FnOnce()>(data: *mut c_void) {
        // SAFETY: `data` is the option below.
        if let Some(f) = unsafe { &mut *data.cast::<Option<F>>() }.take() {
            f();
        }
    }
    let mut f = Some(f);
    let top = STACK.0.get() as usize + STACK_SIZE;
    // SAFETY: the stack is nobody else's now.
    let done = unsafe { call_on((&raw mut f).cast(), call::<F>, top, &WAY_BACK) };
    WAY_BACK.store(0, Ordering::Relaxed);
    done != 0
}

/// Calls `f` on another stack, having noted the way back; gives 1.
///
/// # Safety
/// `top` is the high end of a stack that nobody is on.
#[unsafe(naked)]
unsafe extern "C" fn call_on(
    data: *mut c_void,
    f: extern "C" fn(*mut c_void),
    top: usize,
    way_back: &AtomicUsize,
) -> usize {
    naked_asm!(
        "push rbp",
        "push rbx",
        "push r12",
        "push r13",
        "push r14",
        "push r15",
        "mov [rcx], rsp",
        "mov rbx, rcx",
        "mov rsp, rdx",
        "call rsi",
        "mov rsp, [rbx]",
        "mov eax, 1",
        "pop r15",
        "pop r14",
        "pop r13",
        "pop r12",
        "pop rbx",
        "pop rbp",
        "ret",
    )
}

/// Returns 0 from the `call_on` that left its stack pointer there.
///
/// # Safety
/// That call is still going on.
#[unsafe(naked)]
unsafe extern "C" fn give_up(stack: usize) -> ! {
    naked_asm!(
        "mov rsp, rdi",
        "xor eax, eax",
        "pop r15",
        "pop r14",
        "pop r13",
        "pop r12",
        "pop rbx",
        "pop rbp",
        "ret",
    )
}

#[panic_handler]
fn panicked(_info: &PanicInfo<'_>) -> ! {
    let way_back = WAY_BACK.load(Ordering::Relaxed);
    if way_back == 0 {
        // Only what is under `run` can panic; there is nothing to go back to.
        // SAFETY: ends the process.
        unsafe { core::arch::asm!("ud2", options(noreturn)) }
    }
    // SAFETY: `call_on` is still there, below on the program's stack.
    unsafe { give_up(way_back) }
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
