//! Around each fork: locks are held while the process is doubled, and the child is recorded by itself or not at all.

use core::ffi::c_void;

use bactrian_agent_abi::Children;
use bactrian_agent_os::loaded;

use crate::record::{doors, page, session};
use crate::runtime::agent;
use crate::snapshot;

/// From now on forks are noticed.
pub fn follow() {
    type Register = extern "C" fn(extern "C" fn(), extern "C" fn(), extern "C" fn(), *mut c_void);
    // glibc's own name of pthread_atfork, which is not in the shared library.
    if let Some(address) = loaded::find_behind("__register_atfork") {
        // SAFETY: the function has this type since glibc 2.3.2.
        let register: Register = unsafe { loaded::function(address) };
        register(before, in_parent, in_child, core::ptr::null_mut());
    }
}

extern "C" fn before() {
    // In the order in which a snapshot takes the locks.
    snapshot::before_fork();
    session::before_fork();
    doors::before_fork();
}

extern "C" fn in_parent() {
    doors::after_fork();
    session::after_fork_in_parent();
    snapshot::in_parent_after_fork();
}

extern "C" fn in_child() {
    doors::after_fork();
    if agent::prepared().is_some_and(|agent| agent.came_late) {
        // If doors are closed, nobody will come to open them here.
        doors::open();
    }
    page::let_go();
    let follows =
        agent::prepared().is_some_and(|agent| agent.settings.children == Children::Follow);
    snapshot::after_fork(follows);
    session::after_fork_in_child(follows);
}
