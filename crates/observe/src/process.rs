//! Events that concern the whole process: fork, exit, signals.
//!
//! After a fork the child has no server, because the server's thread does not exist there. The child closes
//! our descriptors, so that the parent's clients notice when the parent ends, and ignores everything it is
//! told to observe from then on. Nothing in the child waits for a lock.

use std::os::fd::{IntoRawFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, Once, OnceLock};
use std::time::{SystemTime, UNIX_EPOCH};

use bactrian_live::place;

use crate::descriptors;
use crate::registry::lock;

static CHILD: AtomicBool = AtomicBool::new(false);

/// Callbacks for a normal exit.
static AT_EXIT: Mutex<Vec<Box<dyn Fn() + Send>>> = Mutex::new(Vec::new());

/// Whether this process is the child of a fork that happened while observed.
#[inline]
pub(crate) fn is_child() -> bool {
    CHILD.load(Ordering::Relaxed)
}

/// Identifies this run of the program. Includes the time of the first call, because exec can turn the process
/// into another program. Reads files, once.
pub(crate) fn run() -> &'static str {
    static RUN: OnceLock<String> = OnceLock::new();
    RUN.get_or_init(|| {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        format!("{}/{}", place::run_of(Path::new("/proc/self")), now.as_nanos())
    })
}

/// Registers a callback for a normal exit of the process. It must not block for long.
pub(crate) fn at_exit(act: impl Fn() + Send + 'static) {
    prepare();
    lock(&AT_EXIT).push(Box::new(act));
}

#[expect(unsafe_code, reason = "no safe crate has handlers of fork and of exit")]
pub(crate) fn prepare() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: the handlers are functions of this file that take no argument and do not unwind. If
        // registration fails for lack of memory, nothing happens at fork and exit, which is no worse than
        // before.
        unsafe {
            libc::pthread_atfork(Some(before_fork), Some(after_fork), Some(in_child));
            libc::atexit(exiting);
        }
    });
}

extern "C" fn before_fork() {
    descriptors::hold();
}

extern "C" fn after_fork() {
    descriptors::release();
}

#[expect(unsafe_code, reason = "the owner of these descriptors is a thread that is not here")]
extern "C" fn in_child() {
    let was_child = CHILD.swap(true, Ordering::Relaxed);
    if !was_child {
        for descriptor in descriptors::all() {
            // SAFETY: it was open and ours when the process forked, behind the gate. The owner, which could
            // close it a second time, forgets it instead because this is the child.
            unsafe {
                libc::close(descriptor);
            }
        }
    }
    descriptors::release();
}

/// Closes a descriptor. Unlike drop, this does not abort a debug build if the program has closed the
/// descriptor at this moment.
#[expect(unsafe_code, reason = "no safe crate that we use closes what may be closed")]
pub(crate) fn close(descriptor: OwnedFd) {
    // SAFETY: its only owner passes it by value.
    unsafe {
        libc::close(descriptor.into_raw_fd());
    }
}

extern "C" fn exiting() {
    // What the parent created (such as its socket) is not the child's to remove.
    if is_child() {
        return;
    }
    let acts = std::mem::take(&mut *lock(&AT_EXIT));
    // A panic must not unwind into the C library.
    let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        acts.iter().for_each(|act| act())
    }));
}

/// Runs `act` with all signals blocked. A thread started there inherits this mask, so that signals reach only
/// the program's own threads, as they would without us.
#[expect(unsafe_code, reason = "no safe crate that we use sets the mask of a thread")]
pub(crate) fn without_signals<T>(act: impl FnOnce() -> T) -> T {
    // SAFETY: the C library fills both sets before they are read, and the mask is restored before this
    // function returns. `act` starts a thread and does not unwind.
    unsafe {
        let mut all = std::mem::zeroed::<libc::sigset_t>();
        let mut before = std::mem::zeroed::<libc::sigset_t>();
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut before);
        let result = act();
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, std::ptr::null_mut());
        result
    }
}
