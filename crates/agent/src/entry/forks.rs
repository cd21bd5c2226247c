//! Around each fork: our locks are held while the process is duplicated, and the child gets a recording of
//! its own or none.

use core::ffi::c_void;
use core::sync::atomic::{AtomicBool, Ordering};

use bactrian_agent_abi::{Children, Settings};
use bactrian_agent_os::{birthmark, confined, loaded, patch};

use crate::keeper::filters;
use crate::record::{doors, page, session};
use crate::runtime::agent;
use crate::snapshot;

/// Whether a thread is preparing a recording, in a program that was already running.
pub static PREPARES: AtomicBool = AtomicBool::new(false);

/// Whether this process is a copy that was made without our handlers. Nothing is done there: its locks may be held
/// by threads that it does not have.
static IS_IN_COPY: AtomicBool = AtomicBool::new(false);

/// From now on forks are noticed.
pub fn follow() {
    type Register = extern "C" fn(extern "C" fn(), extern "C" fn(), extern "C" fn(), *mut c_void);
    // glibc's internal name of pthread_atfork, which is not in the shared library itself.
    if let Some(address) = loaded::find_behind("__register_atfork") {
        // SAFETY: the function has this type since glibc 2.3.2.
        let register: Register = unsafe { loaded::function(address) };
        register(before, in_parent, in_child, core::ptr::null_mut());
    }
}

extern "C" fn before() {
    IS_IN_COPY.store(birthmark::is_in_copy(), Ordering::Relaxed);
    if IS_IN_COPY.load(Ordering::Relaxed) {
        return;
    }
    let takes_calls =
        |settings: &Settings| settings.children == Children::Follow || settings.snapshots.is_some();
    if agent::prepared().is_some_and(|agent| takes_calls(&agent.settings)) {
        // The keeper is asked before the system calls that follow: snapshots find out who adopts orphans, and the
        // child opens its output. Its answer also means that the program's trace has its name, which the child can
        // then no longer take.
        filters::ask();
    }
    // In the same order in which a snapshot takes the locks.
    snapshot::before_fork();
    session::before_fork();
    patch::before_fork();
}

extern "C" fn in_parent() {
    if IS_IN_COPY.load(Ordering::Relaxed) {
        return;
    }
    patch::after_fork();
    session::after_fork_in_parent();
    snapshot::in_parent_after_fork();
}

extern "C" fn in_child() {
    if IS_IN_COPY.load(Ordering::Relaxed) {
        return;
    }
    patch::after_fork();
    // The thread that was preparing a recording does not exist in the child.
    PREPARES.store(false, Ordering::Release);
    if agent::prepared().is_some_and(|agent| agent.came_late) {
        // If doors are closed, the tracer that would open them will not come to this process.
        doors::open();
    }
    page::let_go();
    // Its filters are not those of this process.
    filters::forget_parent();
    let follows = !confined::is_confined()
        && agent::prepared().is_some_and(|agent| agent.settings.children == Children::Follow);
    if follows {
        birthmark::set();
    }
    snapshot::after_fork(follows);
    session::after_fork_in_child(follows);
}
