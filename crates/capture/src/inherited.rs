//! What our starter meant a program to inherit: ignored signals and closed standard streams.
//!
//! Rust's start-up ignores SIGPIPE and opens standard streams that are closed, and we handle signals ourselves. So
//! this is looked at before all that, and the agent restores it in the program.

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
    // The lowest bit is for signal 1.
    let ignored = |bit| u64::from(is_ignored(bit + 1)) << bit;
    let ignored_signals = (0..64).map(ignored).sum();
    // Said once; there is one thread.
    let _ = SEEN.set(Inherited { ignored_signals, closed_streams });
}

/// Whether a stream is closed. The kernel is asked, since /proc may not be there: what cannot be found out is not
/// closed, or the program would lose its streams.
fn is_closed(stream: BorrowedFd<'_>) -> bool {
    fcntl_getfd(stream) == Err(Errno::BADF)
}

/// Whether a signal is ignored.
fn is_ignored(signal: c_int) -> bool {
    handler(signal) == libc::SIG_IGN
}

/// Whether a signal does what it does by default: nobody in this process handles it.
pub fn is_default(signal: c_int) -> bool {
    handler(signal) == libc::SIG_DFL
}

fn handler(signal: c_int) -> libc::sighandler_t {
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    #[expect(unsafe_code, reason = "a look at an action, without /proc")]
    // SAFETY: nothing is set, and the record is filled, or stays zero, which is the default action.
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

/// Makes sure that this process can do its work, whatever its starter meant for the program. To be called once, first of
/// all. By handlers that do nothing: unlike what is ignored, a program that we start does not inherit them.
pub fn settle() {
    // To write more than a file may hold (`ulimit -f`) is an error that is told, and does not end us.
    handle(SIGXFSZ);
    // Where the end of children is ignored, nobody can wait for them and learn how they ended.
    if inherited().ignored_signals >> (SIGCHLD - 1) & 1 == 1 {
        handle(SIGCHLD);
    }
}

fn handle(signal: i32) {
    // Only a number that is no signal could be refused.
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
        // Rust's start-up has it ignored.
        assert!(is_ignored(libc::SIGPIPE));
        let status = std::fs::read_to_string("/proc/self/status").expect("it is there");
        let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).expect("a line");
        let mask = u64::from_str_radix(mask.trim(), 16).expect("a number");
        for signal in [libc::SIGHUP, libc::SIGINT, libc::SIGTERM, libc::SIGUSR1, libc::SIGUSR2] {
            assert_eq!(is_ignored(signal), mask >> (signal - 1) & 1 == 1, "{signal}");
        }
        // Of one that does not exist nothing is known.
        assert!(!is_ignored(1000));
    }

    #[test]
    fn a_handled_signal_has_no_default_action() {
        assert!(is_default(libc::SIGWINCH));
        handle(libc::SIGWINCH);
        assert!(!is_default(libc::SIGWINCH) && !is_ignored(libc::SIGWINCH));
    }
}
