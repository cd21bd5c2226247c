//! Seccomp filters, which may kill a program for a system call that it would not have made without us.

use std::fs;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// The command with which we start ourselves to try out what filters allow.
pub const TRIAL: &str = "try-copying";

/// The number of seccomp filters of a process or thread, given by its directory in `/proc`; None if the
/// kernel does not report it.
pub(crate) fn filters_of(process: &str) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("Seccomp_filters:"))?;
    line.trim().parse().ok()
}

/// The largest number of filters of any thread of a process: each thread has its own.
pub(crate) fn most_filters_of(process: u32) -> Option<u32> {
    let threads = fs::read_dir(format!("/proc/{process}/task")).ok()?.flatten();
    let name = |thread: fs::DirEntry| thread.file_name().into_string().ok();
    threads.filter_map(|thread| filters_of(&format!("{process}/task/{}", name(thread)?))).max()
}

/// Whether the agent may make a program that we start copy itself. The program inherits our filters, and one
/// of them may kill a process for that. So another process of ours, `trial`, which has the same filters,
/// tries it first. Returns the number of filters, or what happened.
///
/// # Errors
/// If the process was killed, or could not be started.
pub fn may_copy(trial: &Path) -> Result<u32, String> {
    let filters = filters_of("self");
    if filters == Some(0) {
        return Ok(0);
    }
    let mut command = Command::new(trial);
    command.arg(TRIAL).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let status = command.status().map_err(|error| format!("cannot test it: {error}"))?;
    match status.signal() {
        Some(signal) => {
            Err(format!("a seccomp filter kills programs that copy themselves (signal {signal})"))
        }
        // A filter that only refuses calls is reported when a copy has failed.
        None => Ok(filters.unwrap_or(0)),
    }
}

/// Makes the system calls that the agent makes in the program to freeze it, with arguments that have no
/// effect except for the last: a copy, which exits at once. What a filter does to the copy later only affects
/// the copy.
pub fn try_copying() -> io::Result<()> {
    const NOTHING: usize = 0;
    let me = std::process::id();
    let root = c"/".as_ptr();
    let mut room = [0_u64; 64];
    let room = room.as_mut_ptr();
    #[expect(unsafe_code, reason = "each call as the agent makes it, and not as libc would")]
    // SAFETY: the buffer has room for whatever the kernel fills in, and nothing is changed. The copy shares
    // our descriptor table; it uses no descriptors, and nothing of libc, before it exits.
    unsafe {
        libc::syscall(libc::SYS_rt_sigprocmask, NOTHING, NOTHING, room, 8_usize);
        libc::syscall(libc::SYS_rt_sigaction, libc::SIGUSR2, NOTHING, room, 8_usize);
        libc::syscall(libc::SYS_getpid);
        let thread = libc::syscall(libc::SYS_gettid);
        libc::syscall(libc::SYS_tgkill, me, thread, NOTHING);
        libc::syscall(libc::SYS_sched_yield);
        libc::syscall(libc::SYS_futex, room, libc::FUTEX_WAKE, 1, NOTHING, NOTHING, NOTHING);
        libc::syscall(libc::SYS_getrusage, libc::RUSAGE_SELF, room);
        libc::syscall(libc::SYS_sysinfo, room);
        libc::syscall(libc::SYS_statfs, root, room);
        libc::syscall(libc::SYS_stat, root, room);
        libc::syscall(
            libc::SYS_prctl,
            libc::PR_GET_CHILD_SUBREAPER,
            room,
            NOTHING,
            NOTHING,
            NOTHING,
        );
        // An empty range.
        libc::syscall(libc::SYS_close_range, 1, NOTHING, NOTHING);
        let file = libc::syscall(libc::SYS_openat, libc::AT_FDCWD, root, libc::O_CLOEXEC, NOTHING);
        libc::syscall(libc::SYS_read, file, room, 1_usize);
        libc::syscall(libc::SYS_close, file);
        let flags = libc::CLONE_FILES;
        let copy = libc::syscall(libc::SYS_clone, flags, NOTHING, NOTHING, NOTHING, NOTHING);
        if copy == 0 {
            libc::syscall(libc::SYS_exit_group, NOTHING);
        }
        if copy < 0 {
            return Err(io::Error::last_os_error());
        }
        libc::syscall(libc::SYS_wait4, copy, room, libc::__WALL, NOTHING);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_without_filters_may_be_copied() {
        try_copying().expect("tests run where processes may be made");
    }

    #[test]
    fn number_of_filters_is_known() {
        assert!(filters_of("self").is_some());
        assert_eq!(filters_of("no process"), None);
    }
}
