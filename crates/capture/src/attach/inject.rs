//! System calls that a stopped thread makes for us.
//!
//! The thread is put before a `syscall` instruction of its own process, steps over it, and gets its registers
//! back. Signals wait meanwhile: the thread's mask is closed and opened again. A system call that our stop
//! interrupted starts anew when the thread goes on, as the kernel does after every stop: for this the thread must
//! stand in the same kind of stop as before when its registers come back, which is why it is interrupted once more
//! at the end.

use std::io;
use std::time::{Duration, Instant};

use super::sys::{self, Registers, Seen, Tid, Way};

/// How long an injected call may take. Copying the page tables of a large process takes a second or two.
const PATIENCE: Duration = Duration::from_secs(30);
const NAP: Duration = Duration::from_micros(20);
/// What a stop for a system call is told by.
const SYSTEM_CALL: i32 = libc::SIGTRAP | 0x80;
/// All signals.
const ALL: u64 = u64::MAX;

/// What an injected system call came to.
pub struct Outcome {
    /// What it returned: an error is negative.
    pub result: i64,
    /// The process that it made, which we trace, and which is about to stop.
    pub child: Option<Tid>,
}

/// Makes a stopped thread do one system call. Its registers and its signal mask are the same afterwards.
/// `instruction` is the address of a `syscall` instruction.
pub fn system_call(
    tid: Tid,
    instruction: u64,
    number: i64,
    arguments: [u64; 6],
) -> io::Result<Outcome> {
    let saved = sys::registers(tid)?;
    let mask = sys::signal_mask(tid)?;
    sys::set_signal_mask(tid, ALL)?;
    let mut held = false;
    let outcome = run(tid, instruction, number, arguments, &saved, &mut held);
    // Also after an error: what can be put back must be.
    let settled = settle(tid);
    sys::set_registers(tid, &saved)?;
    sys::set_signal_mask(tid, mask)?;
    if held && let Some(process) = rustix::process::Pid::from_raw(tid) {
        let _ = rustix::process::kill_process(process, rustix::process::Signal::STOP);
    }
    settled?;
    outcome
}

fn run(
    tid: Tid,
    instruction: u64,
    number: i64,
    [rdi, rsi, rdx, r10, r8, r9]: [u64; 6],
    saved: &Registers,
    held: &mut bool,
) -> io::Result<Outcome> {
    let rax = number.cast_unsigned();
    // No system call is under way, so that the kernel starts none anew.
    let orig_rax = u64::MAX;
    let rip = instruction;
    sys::set_registers(
        tid,
        &Registers { rip, rax, orig_rax, rdi, rsi, rdx, r10, r8, r9, ..*saved },
    )?;
    let mut child = None;
    let mut halves = 0;
    while halves < 2 {
        sys::resume(tid, Way::ToSystemCall, 0)?;
        match next_stop(tid)? {
            (SYSTEM_CALL, 0) => halves += 1,
            (_, libc::PTRACE_EVENT_CLONE | libc::PTRACE_EVENT_FORK | libc::PTRACE_EVENT_VFORK) => {
                child = Tid::try_from(sys::event_message(tid)?).ok();
            }
            // A stop for all threads; it takes hold when we let go.
            (_, libc::PTRACE_EVENT_STOP) => {}
            // The one signal that no mask holds back: sent again when all is as it was.
            (libc::SIGSTOP, 0) => *held = true,
            (signal, event) => {
                let what = format!("stopped unexpectedly (signal {signal}, event {event})");
                return Err(io::Error::other(what));
            }
        }
    }
    let result = sys::registers(tid)?.rax.cast_signed();
    Ok(Outcome { result, child })
}

/// Brings the thread into the kind of stop in which the kernel starts interrupted system calls anew.
fn settle(tid: Tid) -> io::Result<()> {
    sys::interrupt(tid)?;
    for _ in 0..8 {
        sys::resume(tid, Way::Freely, 0)?;
        if let (_, libc::PTRACE_EVENT_STOP) = next_stop(tid)? {
            return Ok(());
        }
    }
    Err(io::Error::other("did not stop"))
}

/// Waits for the next stop: signal and event.
pub fn next_stop(tid: Tid) -> io::Result<(i32, i32)> {
    let until = Instant::now() + PATIENCE;
    while Instant::now() < until {
        match sys::seen(tid, true)? {
            Some(Seen::Stopped { signal, event }) => return Ok((signal, event)),
            Some(Seen::Ended) => return Err(io::Error::from_raw_os_error(libc::ESRCH)),
            None => std::thread::sleep(NAP),
        }
    }
    Err(io::Error::from(io::ErrorKind::TimedOut))
}
