//! What a program should inherit from our starter: ignored signals and closed standard streams.
//!
//! Rust's start-up code ignores SIGPIPE and opens standard streams that are closed, and we handle signals
//! ourselves. So we look before all that, and the agent restores the state in the program.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, OnceLock};

use bactrian_agent_abi::Inherited;
use libc::c_int;
use rustix::io::{Errno, fcntl_getfd};
use signal_hook::consts::{SIGCHLD, SIGXFSZ};

static SEEN: OnceLock<Inherited> = OnceLock::new();

#[used]
#[expect(unsafe_code, reason = "the only way to be called before Rust's start-up")]
#[unsafe(link_section = ".init_array")]
static LOOK: extern "C" fn() = look;

extern "C" fn look() {
    let (input, output, errors) = (io::stdin(), io::stdout(), io::stderr());
    let streams = [input.as_fd(), output.as_fd(), errors.as_fd()];
    let closed = |(number, stream)| u8::from(is_closed(stream)) << number;
    let closed_streams = (0..).zip(streams).map(closed).sum();
    // The lowest bit is signal 1.
    let ignored = |bit| u64::from(is_ignored(bit + 1)) << bit;
    let ignored_signals = (0..64).map(ignored).sum();
    // Set only once; there is one thread.
    let _ = SEEN.set(Inherited { ignored_signals, closed_streams });
}

/// Whether a stream is closed. We ask the kernel, since /proc may not be mounted. If this cannot be
/// determined, the stream counts as open, or the program would lose it.
fn is_closed(stream: BorrowedFd<'_>) -> bool {
    fcntl_getfd(stream) == Err(Errno::BADF)
}

/// Whether a signal is ignored.
fn is_ignored(signal: c_int) -> bool {
    handler(signal) == libc::SIG_IGN
}

/// Whether a signal has its default action: nothing in this process handles it.
pub fn is_default(signal: c_int) -> bool {
    handler(signal) == libc::SIG_DFL
}

fn handler(signal: c_int) -> libc::sighandler_t {
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    #[expect(unsafe_code, reason = "a look at an action, without /proc")]
    // SAFETY: no action is set; the record is filled, or stays zero, which is the default action.
    let action = unsafe {
        libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr());
        action.assume_init()
    };
    action.sa_sigaction
}

/// What is to be inherited.
pub fn inherited() -> Inherited {
    SEEN.get().copied().unwrap_or_default()
}

/// Makes sure that this process can do its work, whatever its starter intended for the program. To be called
/// once, before anything else. Uses handlers that do nothing: unlike ignored signals, handlers are not
/// inherited by programs that we start.
pub fn settle() {
    // Exceeding the maximal file size (`ulimit -f`) should be a reported error, and not kill us.
    handle(SIGXFSZ);
    // If SIGCHLD is ignored, nobody can wait for children and learn how they ended.
    if inherited().ignored_signals >> (SIGCHLD - 1) & 1 == 1 {
        handle(SIGCHLD);
    }
}

fn handle(signal: i32) {
    // Only an invalid signal number could be refused.
    let _ = signal_hook::flag::register(signal, Arc::default());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_open_descriptor_is_not_closed() {
        let file = std::fs::File::open("/dev/null").expect("it is everywhere");
        assert!(!is_closed(file.as_fd()));
    }

    #[test]
    fn an_ignored_signal_is_seen() {
        // Rust's start-up code has ignored it.
        assert!(is_ignored(libc::SIGPIPE));
        let status = std::fs::read_to_string("/proc/self/status").expect("it is there");
        let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).expect("a line");
        let mask = u64::from_str_radix(mask.trim(), 16).expect("a number");
        for signal in [libc::SIGHUP, libc::SIGINT, libc::SIGTERM, libc::SIGUSR1, libc::SIGUSR2] {
            assert_eq!(is_ignored(signal), mask >> (signal - 1) & 1 == 1, "{signal}");
        }
        // Nothing is known about a signal that does not exist.
        assert!(!is_ignored(1000));
    }

    #[test]
    fn a_handled_signal_has_no_default_action() {
        assert!(is_default(libc::SIGWINCH));
        handle(libc::SIGWINCH);
        assert!(!is_default(libc::SIGWINCH) && !is_ignored(libc::SIGWINCH));
    }
}
