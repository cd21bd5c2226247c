//! Fork and close for the tests, for which there is no safe interface.

#![expect(unsafe_code, reason = "there is no safe way to fork, or to close what one does not own")]

/// Forks. The child runs a closure and then exits normally.
pub fn fork(child: impl FnOnce() -> i32) -> libc::pid_t {
    // SAFETY: the child only does what the C library of these tests allows after a fork: its allocator and
    // standard streams survive. That nothing else of ours is needed is what is tested.
    unsafe {
        match libc::fork() {
            0 => {
                let status = child();
                libc::exit(status);
            }
            pid => pid,
        }
    }
}

/// Waits for a child. Returns whether it exited with status 0.
pub fn wait(child: libc::pid_t) -> bool {
    let mut status = 0;
    // SAFETY: `status` is a valid place to write to.
    let ended = unsafe { libc::waitpid(child, &raw mut status, 0) };
    ended == child && libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0
}

/// Closes standard output.
pub fn close_output() {
    // SAFETY: nothing in this process writes there any more.
    unsafe {
        libc::close(1);
    }
}

/// Closes everything but the standard streams, as daemons do.
pub fn close_all() {
    for descriptor in 3..1024 {
        // SAFETY: what happens to the owners of these descriptors is what is tested.
        unsafe {
            libc::close(descriptor);
        }
    }
}
