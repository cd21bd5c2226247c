//! Forking, which nothing safe does.

#![expect(unsafe_code, reason = "there is no safe way to fork, or to close what one does not own")]

/// Forks. The child does something and then ends in an orderly way.
pub fn fork(child: impl FnOnce() -> i32) -> libc::pid_t {
    // SAFETY: the child only does what may be done after a fork with the C library of these tests, whose allocator and
    // standard streams survive it; that nothing else of ours is needed is what is tested.
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

/// Waits for a child. False if it is not well.
pub fn wait(child: libc::pid_t) -> bool {
    let mut status = 0;
    // SAFETY: the status is ours to be written to.
    let ended = unsafe { libc::waitpid(child, &raw mut status, 0) };
    ended == child && libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0
}

/// Closes the standard output.
pub fn close_output() {
    // SAFETY: nobody in this process writes there any more.
    unsafe {
        libc::close(1);
    }
}

/// Closes everything but the standard streams, as programs do that become daemons.
pub fn close_all() {
    for descriptor in 3..1024 {
        // SAFETY: what happens to those whose descriptors are closed is what is tested.
        unsafe {
            libc::close(descriptor);
        }
    }
}
