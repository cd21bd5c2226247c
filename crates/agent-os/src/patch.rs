//! Replaces the first bytes of a function of the program with a jump to one of ours.
//!
//! Where a system does not allow code to be changed, patching fails and we do without it. A patch is
//! installed while the program has one thread. When it is removed, other threads may call the function: they
//! are held at the *door*, the first two bytes, by a jump to itself while the bytes behind it change. In a
//! program with many threads we only close the door; a tracer that can stop all threads installs the rest,
//! between any two instructions of ours, wherever it finds [`HELD`]. So we take that bit away in the moment
//! before we open a door again.

use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicU16, AtomicUsize, Ordering};

use bactrian_agent_abi::control::{DOOR, HELD, JUMP, JUMP_LENGTH as LENGTH};

use crate::lock::{Lock, LockGuard};
use crate::sys;

/// Held by the thread that changes code: the protection of a page is that of all functions on it.
static CHANGING: Lock<()> = Lock::new(());

/// The right to change code that other threads may execute.
pub struct Changing(#[expect(dead_code, reason = "held")] LockGuard<'static, ()>);

/// Waits for other threads that change code. None if this thread is changing code already: the caller is a
/// signal handler that has interrupted the change, which goes on when the handler returns.
pub fn begin() -> Option<Changing> {
    CHANGING.take().map(Changing)
}

/// Before a fork: no thread may be in the middle of a change.
pub fn before_fork() {
    CHANGING.hold_for_fork();
}

/// After the fork, in both processes.
pub fn after_fork() {
    CHANGING.let_go_after_fork();
}

/// The patch of one function.
pub struct Patch {
    saved: UnsafeCell<[u8; LENGTH]>,
    /// The address of the patched function, or 0. With the bit [`HELD`], callers spin at its door.
    function: AtomicUsize,
}

// SAFETY: `saved` is written before `function` is set, and read by the thread that sets it back.
unsafe impl Sync for Patch {}

impl Patch {
    /// A patch that is not installed.
    pub const fn new() -> Patch {
        Patch { saved: UnsafeCell::new([0; LENGTH]), function: AtomicUsize::new(0) }
    }

    /// Redirects calls of `function` to `ours`; returns false if code cannot be changed here.
    ///
    /// # Safety
    /// `function` is a function of the program, at least 14 bytes long; no thread is inside it; `ours` has
    /// its type. Called once.
    pub unsafe fn put_up(&self, function: usize, ours: usize) -> bool {
        let mut bytes = [0; LENGTH];
        bytes[..JUMP.len()].copy_from_slice(&JUMP);
        bytes[JUMP.len()..].copy_from_slice(&ours.to_le_bytes());
        // SAFETY: by the caller.
        unsafe {
            *self.saved.get() = *(function as *const [u8; LENGTH]);
            if !change(function, &bytes) {
                return false;
            }
        }
        self.function.store(function, Ordering::Release);
        true
    }

    /// The word that says which function is patched, for a tracer that installs the patch from outside.
    pub const fn patched(&'static self) -> &'static AtomicUsize {
        &self.function
    }

    /// Makes callers of `function` spin until the patch is installed from outside or removed; returns false
    /// if code cannot be changed here.
    ///
    /// # Safety
    /// `function` is a function of the program, at least 14 bytes long.
    pub unsafe fn hold(&self, function: usize, _: &Changing) -> bool {
        if self.function.load(Ordering::Acquire) != 0 {
            return true;
        }
        // SAFETY: by the caller; `saved` is read only while there is a patch.
        let is_held = unsafe {
            *self.saved.get() = *(function as *const [u8; LENGTH]);
            with_writable_code(function, || door(function).store(WAIT, Ordering::SeqCst))
        };
        if is_held {
            self.function.store(function | HELD, Ordering::Release);
        }
        is_held
    }

    /// Whether the patch is installed, or callers spin at the function's door.
    pub fn is_there(&self) -> bool {
        self.function.load(Ordering::Acquire) != 0
    }

    /// Restores the function's own bytes; returns false if code cannot be changed now. Then the patch stays,
    /// and calls keep coming to us; or the door stays closed, for a tracer that installs the patch.
    pub fn lift(&self, _: &Changing) -> bool {
        let function = self.function.load(Ordering::Acquire) & !HELD;
        if function == 0 {
            return true;
        }
        // SAFETY: these are the function's own bytes.
        let is_lifted = unsafe {
            let saved = &*self.saved.get();
            with_writable_code(function, || {
                // From here on no tracer installs the patch. If one has done so meanwhile, the bit is gone.
                if self.function.fetch_and(!HELD, Ordering::AcqRel) & HELD != 0 {
                    let own = u16::from_le_bytes([saved[0], saved[1]]);
                    door(function).store(own, Ordering::SeqCst);
                } else {
                    write_beside_others(function, saved);
                }
            })
        };
        if is_lifted {
            // Only now: whoever finds no patch calls the function, which must not lead to the patch.
            self.function.store(0, Ordering::Release);
        }
        is_lifted
    }
}

const WAIT: u16 = u16::from_le_bytes(DOOR);

/// The first two bytes of a function. Functions are aligned, so the two bytes change atomically.
///
/// # Safety
/// There is a function at this address, and its code is writable while the door is written.
unsafe fn door(function: usize) -> &'static AtomicU16 {
    // SAFETY: by the caller.
    unsafe { &*(function as *const AtomicU16) }
}

/// Replaces code while no other thread can execute it.
///
/// # Safety
/// The bytes are valid code there.
unsafe fn change(address: usize, bytes: &[u8; LENGTH]) -> bool {
    // SAFETY: by the caller.
    unsafe { with_writable_code(address, || *(address as *mut [u8; LENGTH]) = *bytes) }
}

/// Replaces code that other threads may execute meanwhile.
///
/// # Safety
/// The bytes are valid code there, and the code is writable.
unsafe fn write_beside_others(address: usize, bytes: &[u8; LENGTH]) {
    let [first, second, rest @ ..] = *bytes;
    // SAFETY: no thread is behind the door when the other bytes change.
    unsafe {
        let door = door(address);
        door.store(WAIT, Ordering::SeqCst);
        sys::let_all_threads_catch_up();
        *((address + 2) as *mut [u8; LENGTH - 2]) = rest;
        sys::let_all_threads_catch_up();
        door.store(u16::from_le_bytes([first, second]), Ordering::SeqCst);
    }
}

/// # Safety
/// The pages are the program's code, and `change` leaves valid code in them.
unsafe fn with_writable_code(address: usize, change: impl FnOnce()) -> bool {
    const PAGE: usize = 4096;
    let first = address & !(PAGE - 1);
    let length = (address + LENGTH).next_multiple_of(PAGE) - first;
    // SAFETY: by the caller; other threads may execute the pages all the time.
    unsafe {
        if sys::protect_code(first, length, true).is_err() {
            return false;
        }
        #[cfg(test)]
        tests::TRACER.with(|tracer| (tracer.get())());
        change();
        // If this is refused the code stays writable, and still works.
        let _ = sys::protect_code(first, length, false);
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    use core::arch::naked_asm;
    use core::cell::Cell;
    use std::sync::atomic::AtomicBool;
    use std::thread;

    thread_local! {
        /// What a tracer does that stops all threads while this one changes code.
        pub(super) static TRACER: Cell<fn()> = const { Cell::new(|| {}) };
    }

    /// A function that is long enough to be patched and returns a number.
    macro_rules! gives {
        ($name:ident, $number:literal) => {
            #[unsafe(naked)]
            extern "C" fn $name() -> usize {
                naked_asm!(
                    ".balign 16",
                    concat!("mov eax, ", $number),
                    ".rept 8",
                    "nop",
                    ".endr",
                    "ret"
                )
            }
        };
    }

    gives!(theirs, "1");
    gives!(others, "3");
    gives!(traced, "4");

    extern "C" fn ours() -> usize {
        2
    }

    /// The functions of all tests are on the same page, whose protection changes meanwhile.
    static PAGE_OF_TESTS: std::sync::Mutex<()> = std::sync::Mutex::new(());

    fn changing() -> Changing {
        begin().expect("this thread changes nothing else")
    }

    /// A fault that there was: a thread had seen a closed door, a tracer wrote its jump there, and then the thread
    /// opened the door. It left two bytes of the function, followed by twelve of the jump.
    #[test]
    fn a_function_is_whole_even_if_a_tracer_patches_it_while_its_door_is_opened() {
        static PATCH: Patch = Patch::new();
        let _page = PAGE_OF_TESTS.lock().expect("no test panics");
        let function = traced as *const () as usize;
        // SAFETY: a function of at least that length.
        let bytes = || unsafe { *(function as *const [u8; LENGTH]) };
        let own = bytes();
        // SAFETY: it is long enough.
        assert!(unsafe { PATCH.hold(function, &changing()) });
        TRACER.set(|| {
            let patched = PATCH.patched();
            let word = patched.load(Ordering::SeqCst);
            if word & HELD != 0 {
                let mut jump = [0; LENGTH];
                jump[..JUMP.len()].copy_from_slice(&JUMP);
                jump[JUMP.len()..].copy_from_slice(&(ours as *const () as usize).to_le_bytes());
                // SAFETY: nobody else is in this function, whose page is writable now.
                unsafe { *((word & !HELD) as *mut [u8; LENGTH]) = jump };
                patched.store(word & !HELD, Ordering::SeqCst);
            }
        });
        assert!(PATCH.lift(&changing()));
        TRACER.set(|| {});
        assert_eq!(bytes(), own);
        assert!(!PATCH.is_there());
    }

    #[test]
    fn callers_of_a_held_function_wait_until_the_patch_is_lifted() {
        let _page = PAGE_OF_TESTS.lock().expect("no test panics");
        static PATCH: Patch = Patch::new();
        // SAFETY: it is long enough.
        assert!(unsafe { PATCH.hold(others as *const () as usize, &changing()) });
        let caller = thread::spawn(|| others());
        thread::sleep(core::time::Duration::from_millis(20));
        assert!(!caller.is_finished());
        PATCH.lift(&changing());
        assert_eq!(caller.join().expect("it goes on"), 3);
    }

    #[test]
    fn a_patched_function_is_ours_until_the_patch_is_lifted_beside_callers() {
        let _page = PAGE_OF_TESTS.lock().expect("no test panics");
        static PATCH: Patch = Patch::new();
        assert_eq!(theirs(), 1);
        // SAFETY: no thread is in the function, and it is long enough.
        assert!(unsafe { PATCH.put_up(theirs as *const () as usize, ours as *const () as usize) });
        assert_eq!(theirs(), 2);
        let lifted = AtomicBool::new(false);
        thread::scope(|scope| {
            let caller = scope.spawn(|| {
                while !lifted.load(Ordering::Acquire) {
                    assert!((1..=2).contains(&theirs()));
                }
                assert_eq!(theirs(), 1);
            });
            assert!(PATCH.is_there() && PATCH.lift(&changing()));
            lifted.store(true, Ordering::Release);
            caller.join().expect("the caller goes on");
        });
        assert!(!PATCH.is_there() && PATCH.lift(&changing()));
        assert_eq!(theirs(), 1);
    }
}
