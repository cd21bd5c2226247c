//! Around each fork: locks are held while the process is doubled, and the child is recorded by itself or not at all.

use core::ffi::c_void;

use bactrian_agent_abi::Children;
use bactrian_agent_os::{birthmark, confined, loaded};

use crate::keeper::filters;
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
    // The child will make system calls to be observed; and by the answer the program's trace has its name.
    filters::ask();
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
    let follows = !confined::is_confined()
        && agent::prepared().is_some_and(|agent| agent.settings.children == Children::Follow);
    if follows {
        birthmark::set();
    }
    snapshot::after_fork(follows);
    session::after_fork_in_child(follows);
}
