//! Stacks of our own, and a way back from a panic.
//!
//! OCaml 4 runs callbacks on the program's stack, of which little may be left: the runtime only guarantees 4
//! KiB, and raises Stack_overflow otherwise. So our work runs on a stack of our own. And if there is a bug in
//! it, the program must not pay for it: a panic ends our work, not the program.

use core::arch::naked_asm;
use core::cell::UnsafeCell;
use core::ffi::c_void;
use core::mem::ManuallyDrop;
use core::sync::atomic::{AtomicUsize, Ordering};

use crate::sys;

const STACK_SIZE: usize = 256 << 10;
const PAGE: usize = 4096;

/// What a stack is for. Work on one may call into work on another, but never back onto the first.
#[derive(Clone, Copy)]
pub enum Stack {
    /// The recording, and everything that happens before the program runs.
    Recording,
    /// Taking a snapshot.
    Snapshot,
    /// Everything that a frozen copy does.
    Copy,
    /// The runtime's functions that a frozen copy calls.
    Listing,
}

const STACKS: usize = 4;

/// A stack, and a guard page below it.
#[repr(C, align(4096))]
struct Room(UnsafeCell<[u8; PAGE + STACK_SIZE]>);

// SAFETY: used by one thread at a time, see `run_on`.
unsafe impl Sync for Room {}

static ROOMS: [Room; STACKS] = [const { Room(UnsafeCell::new([0; PAGE + STACK_SIZE])) }; STACKS];
/// For each stack in use, the stack pointer to return to.
static WAYS_BACK: [AtomicUsize; STACKS] = [const { AtomicUsize::new(0) }; STACKS];

/// Protects the guard pages, so that a stack overflow faults. Where that is refused, stacks are used without
/// guard pages.
pub fn guard() {
    for room in &ROOMS {
        // SAFETY: the page is below a stack that is not in use, and holds nothing of ours.
        let _ = unsafe { sys::forbid(room.0.get() as usize, PAGE) };
    }
}

/// Runs `f` on the recording's stack; returns false if it panicked.
///
/// # Safety
/// As for `run_on`.
#[inline]
pub unsafe fn run<F: FnOnce()>(f: F) -> bool {
    // SAFETY: by the caller.
    unsafe { run_on(Stack::Recording, f) }
}

/// Runs `f` on one of our stacks; returns false if it panicked.
///
/// # Safety
/// Only one thread at a time may use a stack; after a panic, whatever `f` was working on is in an unknown
/// state.
#[inline]
pub unsafe fn run_on<F: FnOnce()>(stack: Stack, f: F) -> bool {
    extern "C" fn call<F: FnOnce()>(data: *mut c_void) {
        // SAFETY: `data` is the closure below, which is taken once.
        unsafe { ManuallyDrop::take(&mut *data.cast::<ManuallyDrop<F>>())() }
    }
    let mut f = ManuallyDrop::new(f);
    let top = top_of(stack);
    let way_back = &WAYS_BACK[stack as usize];
    // SAFETY: no other thread uses the stack now.
    let done = unsafe { call_on((&raw mut f).cast(), call::<F>, top, way_back) };
    way_back.store(0, Ordering::Relaxed);
    done != 0
}

/// The upper end of a stack.
pub fn top_of(stack: Stack) -> usize {
    ROOMS[stack as usize].0.get() as usize + size_of::<Room>()
}

/// Abandons the work on the current stack. Returns None if this stack is not one of ours or runs no work.
///
/// # Safety
/// What was being done is left in an unknown state.
pub unsafe fn give_up_here() -> Option<core::convert::Infallible> {
    let stack = stack_pointer().wrapping_sub(&raw const ROOMS as usize) / size_of::<Room>();
    let way_back = WAYS_BACK.get(stack)?.load(Ordering::Relaxed);
    if way_back == 0 {
        return None;
    }
    // SAFETY: the frame of `call_on` still exists, on the stack that called it.
    unsafe { give_up(way_back) }
}

/// Saves the stack pointer in `way_back`, calls `f` on another stack, and returns 1.
///
/// # Safety
/// `top` is the upper end of an unused stack.
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

/// Makes the `call_on` that saved this stack pointer return 0.
///
/// # Safety
/// That call has not returned.
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

#[inline(always)]
fn stack_pointer() -> usize {
    let pointer;
    // SAFETY: reads a register.
    unsafe { core::arch::asm!("mov {}, rsp", out(reg) pointer, options(nomem, nostack)) };
    pointer
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each stack may be used by one thread at a time.
    static ONE: std::sync::Mutex<()> = std::sync::Mutex::new(());

    #[test]
    fn work_runs_on_the_stack_that_was_asked_for() {
        let _one = ONE.lock();
        let mut at = 0;
        // SAFETY: the lock above.
        let done = unsafe { run_on(Stack::Snapshot, || at = stack_pointer()) };
        assert!(done);
        assert!((top_of(Stack::Snapshot) - STACK_SIZE..top_of(Stack::Snapshot)).contains(&at));
    }

    #[test]
    fn a_stack_can_be_used_again_after_giving_up() {
        let _one = ONE.lock();
        let mut steps = Vec::new();
        // SAFETY: the lock above. The abandoned closure owns nothing.
        unsafe {
            assert!(!run(|| {
                steps.push(1);
                give_up_here();
                steps.push(2);
            }));
            assert!(run(|| steps.push(3)));
        }
        assert_eq!(steps, [1, 3]);
    }

    #[test]
    fn giving_up_nested_work_resumes_the_outer_work() {
        let _one = ONE.lock();
        let mut inner = true;
        // SAFETY: the lock above.
        let outer = unsafe {
            run_on(Stack::Copy, || {
                inner = run_on(Stack::Listing, || {
                    give_up_here();
                });
            })
        };
        assert_eq!((outer, inner), (true, false));
    }

    #[test]
    fn nothing_is_given_up_on_a_stack_that_is_not_ours() {
        // SAFETY: nothing is.
        assert!(unsafe { give_up_here() }.is_none());
    }

    #[test]
    fn each_stack_has_a_guard_page_below_it() {
        let _one = ONE.lock();
        guard();
        let maps = std::fs::read_to_string("/proc/self/maps").expect("this process has maps");
        for room in &ROOMS {
            let start = format!("{:x}-", room.0.get() as usize);
            let line = maps.lines().find(|line| line.starts_with(&start)).expect("a mapping");
            assert!(line.contains(" ---p "), "{line}");
        }
        // SAFETY: the lock above.
        assert!(unsafe { run(|| ()) });
    }
}
