//! A stack of our own, and a way back from a panic.
//!
//! OCaml 4 runs callbacks on the program's stack, of which there may be little left: the runtime makes sure
//! of 4 KiB and raises Stack_overflow otherwise. So our work is done on a stack of our own. And if there is
//! a mistake in it, the program must not pay for it: a panic ends our work, not the program.

use core::arch::naked_asm;
use core::cell::UnsafeCell;
use core::ffi::c_void;
use core::sync::atomic::{AtomicUsize, Ordering};

use crate::sys;

const STACK_SIZE: usize = 256 << 10;
const PAGE: usize = 4096;

/// What a stack is for. Work on one may lead to work on another, but not back.
#[derive(Clone, Copy)]
pub enum Stack {
    /// The recording, and what happens before the program runs.
    Recording,
    /// Taking a snapshot.
    Snapshot,
    /// All that a frozen copy does.
    Copy,
    /// The runtime's functions that a frozen copy calls.
    Listing,
}

const STACKS: usize = 4;

/// A stack, and below it a page that nobody may touch.
#[repr(C, align(4096))]
struct Room(UnsafeCell<[u8; PAGE + STACK_SIZE]>);

// SAFETY: used by one thread at a time, see `run_on`.
unsafe impl Sync for Room {}

static ROOMS: [Room; STACKS] = [const { Room(UnsafeCell::new([0; PAGE + STACK_SIZE])) }; STACKS];
/// The stack pointer to go back to while something is on a stack.
static WAYS_BACK: [AtomicUsize; STACKS] = [const { AtomicUsize::new(0) }; STACKS];

/// Has the kernel stop whoever goes below the end of a stack. Where that is refused, stacks are used without it.
pub fn guard() {
    for room in &ROOMS {
        // SAFETY: the page is part of a stack that nobody is on, and nothing of ours is in it.
        let _ = unsafe { sys::forbid(room.0.get() as usize, PAGE) };
    }
}

/// Runs `f` on the recording's stack; false if it panicked.
///
/// # Safety
/// As for `run_on`.
pub unsafe fn run<F: FnOnce()>(f: F) -> bool {
    // SAFETY: by the caller.
    unsafe { run_on(Stack::Recording, f) }
}

/// Runs `f` on a stack of our own; false if it panicked.
///
/// # Safety
/// One thread at a time may be on a stack; after a panic, whatever `f` was working on is in an unknown state.
pub unsafe fn run_on<F: FnOnce()>(stack: Stack, f: F) -> bool {
    extern "C" fn call<F: FnOnce()>(data: *mut c_void) {
        // SAFETY: `data` is the option below.
        if let Some(f) = unsafe { &mut *data.cast::<Option<F>>() }.take() {
            f();
        }
    }
    let mut f = Some(f);
    let top = top_of(stack);
    let way_back = &WAYS_BACK[stack as usize];
    // SAFETY: the stack is nobody else's now.
    let done = unsafe { call_on((&raw mut f).cast(), call::<F>, top, way_back) };
    way_back.store(0, Ordering::Relaxed);
    done != 0
}

/// The upper end of a stack.
pub fn top_of(stack: Stack) -> usize {
    ROOMS[stack as usize].0.get() as usize + size_of::<Room>()
}

/// Gives up what is done on the stack that we are on; none if that is none of ours.
///
/// # Safety
/// What was being done is in an unknown state.
pub unsafe fn give_up_here() -> Option<core::convert::Infallible> {
    let stack = stack_pointer().wrapping_sub(&raw const ROOMS as usize) / size_of::<Room>();
    let way_back = WAYS_BACK.get(stack)?.load(Ordering::Relaxed);
    if way_back == 0 {
        return None;
    }
    // SAFETY: `call_on` is still there, on the stack below.
    unsafe { give_up(way_back) }
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

    /// Stacks are for one thread at a time.
    static ONE: std::sync::Mutex<()> = std::sync::Mutex::new(());

    #[test]
    fn work_is_done_on_the_stack_that_it_is_for() {
        let _one = ONE.lock();
        let mut at = 0;
        // SAFETY: the lock above.
        let done = unsafe { run_on(Stack::Snapshot, || at = stack_pointer()) };
        assert!(done);
        assert!((top_of(Stack::Snapshot) - STACK_SIZE..top_of(Stack::Snapshot)).contains(&at));
    }

    #[test]
    fn work_that_gives_up_comes_back_and_the_stack_can_be_used_again() {
        let _one = ONE.lock();
        let mut steps = Vec::new();
        // SAFETY: the lock above. What is given up here owns nothing.
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
    fn giving_up_within_other_work_comes_back_to_that() {
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
    fn there_is_a_page_below_each_stack_that_may_not_be_touched() {
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
