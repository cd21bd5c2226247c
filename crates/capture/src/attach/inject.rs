//! System calls that a stopped thread does for us.
//!
//! The thread is put before a `syscall` instruction of its own process, executes it, and gets its registers
//! back. Signals are deferred meanwhile: all are blocked in the thread's mask, which is restored afterwards.
//! If our stop has interrupted a system call, that is restarted when the thread continues, as the kernel does
//! after every stop. For this the thread must be in the same kind of stop as before when its registers are
//! restored, which is why it is interrupted once more at the end.
//!
//! A thread of the program has a [`Net`] below its stack while its registers are not its own: we may be
//! killed at any moment. That is why the order of steps matters. The signals are blocked after the registers
//! are set, and unblocked before the registers are restored: whenever they are blocked, the net unblocks
//! them. Copies are ours ([`system_call`]) and die with us.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

use super::gadgets::Gadgets;
use super::net::{ALL, Net, Vectors};
use super::sys::{self, Registers, ResumeMode, Seen, Tid};

/// The time limit of an injected call. Copying the page tables of a large process takes a second or two.
const PATIENCE: Duration = Duration::from_secs(30);
const NAP: Duration = Duration::from_micros(20);
/// The signal of a system call stop (PTRACE_O_TRACESYSGOOD).
const SYSTEM_CALL: i32 = libc::SIGTRAP | 0x80;

/// The outcome of an injected system call.
pub struct Outcome {
    /// Its return value: negative for an error.
    pub result: i64,
    /// The process that it has created, which we trace, and which is about to stop.
    pub child: Option<Tid>,
}

/// Makes the stopped thread of a copy do one system call. Its registers and its signal mask are restored
/// afterwards. `instruction` is the address of a `syscall` instruction.
pub fn system_call(
    tid: Tid,
    instruction: u64,
    number: i64,
    [rdi, rsi, rdx, r10, r8, r9]: [u64; 6],
) -> io::Result<Outcome> {
    let saved = sys::registers(tid)?;
    let mask = sys::signal_mask(tid)?;
    // -1 means that no system call is in progress, so that the kernel restarts none.
    let (rip, rax, orig_rax) = (instruction, number.cast_unsigned(), u64::MAX);
    let registers = Registers { rip, rax, orig_rax, rdi, rsi, rdx, r10, r8, r9, ..saved };
    sys::set_registers(tid, &registers)?;
    sys::set_signal_mask(tid, ALL)?;
    let outcome = run(tid);
    // Even after an error, what can be restored must be.
    let settled = settle(tid);
    sys::set_signal_mask(tid, mask)?;
    sys::set_registers(tid, &saved)?;
    settled?;
    outcome
}

/// A stopped thread of the program that does system calls for us, until this is dropped.
pub struct Lent {
    tid: Tid,
    net: Net,
    /// Whether its registers are not its own now.
    is_changed: bool,
}

impl Lent {
    /// Prepares a stopped thread, whose registers are not changed yet.
    pub fn new(tid: Tid, memory: &File, gadgets: Gadgets, vectors: &Vectors) -> io::Result<Lent> {
        let net = Net::spread(tid, memory, gadgets, vectors)?;
        Ok(Lent { tid, net, is_changed: false })
    }

    /// The addresses of what was written into its memory.
    pub fn net(&self) -> &Net {
        &self.net
    }

    /// Makes it do a system call, and waits for the end of the call.
    pub fn call(&mut self, number: i64, arguments: [u64; 6]) -> io::Result<Outcome> {
        self.prepare(number, arguments)?;
        run(self.tid)
    }

    /// Makes it do a `clone` like `vfork`; returns the child, or the error of the call. The `clone` returns
    /// when the child has ended, in [`Lent::end_vfork`].
    pub fn begin_vfork(&mut self, arguments: [u64; 6]) -> io::Result<Result<Tid, i64>> {
        self.prepare(libc::SYS_clone, arguments)?;
        let mut halves = 0;
        loop {
            match step(self.tid)? {
                Step::Made(child) => return Ok(Ok(child)),
                Step::Half { .. } if halves == 0 => halves += 1,
                Step::Half { result } => return Ok(Err(result)),
                Step::Other => {}
            }
        }
    }

    /// After [`Lent::begin_vfork`], while the child runs to its end: has the thread reap it. If `is_let_go`,
    /// we may detach from the thread, which is faster: then the net does it and restores the thread.
    pub fn end_vfork(&mut self, memory: &File, is_let_go: bool) -> io::Result<()> {
        if is_let_go && self.net.is_exact {
            self.is_changed = false;
            return sys::detach(self.tid, 0);
        }
        settle(self.tid)?;
        let mut number = [0; 4];
        memory.read_exact_at(&mut number, self.net.child())?;
        sys::set_registers(self.tid, &self.net.reap(u32::from_le_bytes(number)))?;
        run(self.tid).map(|_| ())
    }

    fn prepare(&mut self, number: i64, arguments: [u64; 6]) -> io::Result<()> {
        // In this order: once the registers are changed, the net restores the signal mask.
        sys::set_registers(self.tid, &self.net.call(number, arguments))?;
        if !self.is_changed {
            self.is_changed = true;
            sys::set_signal_mask(self.tid, ALL)?;
        }
        Ok(())
    }

    /// Restores its registers.
    pub fn give_back(mut self) -> io::Result<()> {
        self.put_back()
    }

    fn put_back(&mut self) -> io::Result<()> {
        if !self.is_changed {
            return Ok(());
        }
        self.is_changed = false;
        settle(self.tid)?;
        // In this order: as long as the registers are not its own, the net restores the signal mask.
        sys::set_signal_mask(self.tid, self.net.mask)?;
        sys::set_registers(self.tid, &self.net.saved)
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        // Errors were reported before. If this fails, the net restores the thread.
        let _ = self.put_back();
    }
}

/// What happened to a thread that does a system call.
enum Step {
    /// It has created a process.
    Made(Tid),
    /// A system call has begun or ended; the value of its return register.
    Half { result: i64 },
    /// Something irrelevant.
    Other,
}

/// Runs one system call of a thread that is stopped before it.
fn run(tid: Tid) -> io::Result<Outcome> {
    let mut child = None;
    let mut halves = 0;
    loop {
        match step(tid)? {
            Step::Made(made) => child = Some(made),
            Step::Half { .. } if halves == 0 => halves += 1,
            Step::Half { result } => return Ok(Outcome { result, child }),
            Step::Other => {}
        }
    }
}

/// Resumes a thread that is about to create a process, and returns that process.
pub fn follow_clone(tid: Tid) -> io::Result<Tid> {
    loop {
        sys::resume(tid, ResumeMode::Freely, 0)?;
        if let Step::Made(child) = seen(tid, next_stop(tid)?)? {
            return Ok(child);
        }
    }
}

/// Resumes a thread until its next stop.
fn step(tid: Tid) -> io::Result<Step> {
    sys::resume(tid, ResumeMode::ToSystemCall, 0)?;
    loop {
        let stop = next_stop(tid)?;
        match signal_of(stop) {
            0 => return seen(tid, stop),
            // SIGSTOP cannot be blocked. It takes effect when we detach from the thread.
            signal => sys::resume(tid, ResumeMode::ToSystemCall, signal)?,
        }
    }
}

/// The signal that the thread has stopped for and that must be delivered; 0 for none.
fn signal_of(stop: (i32, i32)) -> i32 {
    if stop == (libc::SIGSTOP, 0) { libc::SIGSTOP } else { 0 }
}

fn seen(tid: Tid, (signal, event): (i32, i32)) -> io::Result<Step> {
    Ok(match (signal, event) {
        (SYSTEM_CALL, 0) => Step::Half { result: sys::registers(tid)?.rax.cast_signed() },
        (_, libc::PTRACE_EVENT_CLONE | libc::PTRACE_EVENT_FORK | libc::PTRACE_EVENT_VFORK) => {
            let child = Tid::try_from(sys::event_message(tid)?);
            Step::Made(child.map_err(|_| io::Error::other("its child has no number"))?)
        }
        // A group stop, which takes effect when we detach, or the SIGSTOP that leads to one.
        (_, libc::PTRACE_EVENT_STOP) | (libc::SIGSTOP, 0) => Step::Other,
        (signal, event) => {
            let what = format!("stopped unexpectedly (signal {signal}, event {event})");
            return Err(io::Error::other(what));
        }
    })
}

/// Brings the thread into the kind of stop after which the kernel restarts interrupted system calls.
fn settle(tid: Tid) -> io::Result<()> {
    sys::interrupt(tid)?;
    let mut signal = 0;
    for _ in 0..8 {
        sys::resume(tid, ResumeMode::Freely, signal)?;
        let stop = next_stop(tid)?;
        if let (_, libc::PTRACE_EVENT_STOP) = stop {
            return Ok(());
        }
        signal = signal_of(stop);
    }
    Err(io::Error::other("did not stop"))
}

/// Waits for the next stop; returns its signal and event.
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
