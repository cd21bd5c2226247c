//! A process whose threads we trace: stopping, resuming and detaching from all of them.
//!
//! All calls must come from one thread of ours, because for the kernel a tracer is a thread. When that thread
//! ends, for whatever reason, the kernel detaches from every thread that it traced.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::guardian::{Change, Guardian};
use super::net::{self, is_given_up_for_stops};
use super::refusal::{Cause, Refusal};
use super::sys::{self, Registers, ResumeMode, Seen, Tid};
use crate::memory::Region;

/// The events to be reported: new threads and processes, exec, and system call stops marked as such.
const OPTIONS: i32 = libc::PTRACE_O_TRACECLONE
    | libc::PTRACE_O_TRACEFORK
    | libc::PTRACE_O_TRACEVFORK
    | libc::PTRACE_O_TRACEEXEC
    | libc::PTRACE_O_TRACESYSGOOD;
/// How long a thread may take to stop. Only a thread in the middle of something in the kernel takes more than
/// moments.
const STOPPING: Duration = Duration::from_secs(3);
/// The time between two looks at running threads.
const NAP: Duration = Duration::from_micros(30);
/// More threads than any program has.
const MOST_THREADS: usize = 100_000;

/// A process whose threads we trace.
pub struct Tracee {
    pub pid: u32,
    pub memory: File,
    pub threads: BTreeMap<Tid, Thread>,
    /// Whether it is our own child: then its exit status must be left for whoever waits for it.
    is_child: bool,
    /// The changes of code that are in its memory now.
    changed: Vec<Change>,
    /// Undoes the changes if we cannot.
    guardian: Option<Guardian>,
    /// Addresses at which threads are stuck while the code is changed.
    pub breaks: Vec<u64>,
    paused: Duration,
    /// Set while not all threads are running.
    pausing_since: Option<Instant>,
    /// When threads were last resumed.
    running_since: Instant,
    /// The signal by which the user has asked us to stop; 0 for none.
    asked: Arc<AtomicUsize>,
}

/// A thread that we trace.
#[derive(Clone, Copy)]
pub struct Thread {
    /// None while it runs, or has not reported its stop yet.
    registers: Option<Registers>,
    at_break: bool,
}

impl Thread {
    const RUNNING: Thread = Thread { registers: None, at_break: false };

    /// Its registers, if it is stopped.
    pub fn registers(&self) -> Option<&Registers> {
        self.registers.as_ref()
    }

    /// Whether it was stopped at a break.
    pub fn is_at_break(&self) -> bool {
        self.at_break
    }
}

impl Tracee {
    /// Attaches to all threads of a process. They continue to run.
    pub fn seize(pid: u32, asked: Arc<AtomicUsize>) -> Result<Tracee, Refusal> {
        let leader = Tid::try_from(pid).unwrap_or(0);
        if leader <= 0 || !fs::exists(format!("/proc/{pid}")).unwrap_or(false) {
            return Err(Refusal::missing(pid));
        }
        // Before anything is stopped, since this takes a moment.
        let guardian = Guardian::start(pid)
            .map_err(|error| Refusal::failed("starting a guardian for it", &error))?;
        // Also before, since nothing may fail between the first seizure and the value that ends it.
        let mut tracee = Tracee::new(pid, asked)?;
        tracee.guardian = Some(guardian);
        sys::seize(leader, OPTIONS).map_err(|error| Refusal::seizing(pid, &error))?;
        tracee.threads.insert(leader, Thread::RUNNING);
        // Threads may create others meanwhile; children of threads that we already trace are traced, too.
        loop {
            let before = tracee.threads.len();
            for tid in tids(pid)? {
                if tracee.threads.contains_key(&tid) {
                    continue;
                }
                match sys::seize(tid, OPTIONS) {
                    Ok(()) => {
                        tracee.threads.insert(tid, Thread::RUNNING);
                    }
                    // It has ended, or is traced already because its creator is; that event comes later.
                    Err(error)
                        if matches!(error.raw_os_error(), Some(libc::ESRCH | libc::EPERM)) => {}
                    Err(error) => return Err(Refusal::seizing(pid, &error)),
                }
            }
            if tracee.threads.len() == before {
                return Ok(tracee);
            }
            if tracee.threads.len() > MOST_THREADS {
                return Err(Refusal::new(Cause::Failed, "it has too many threads", ""));
            }
        }
    }

    /// Attaches to one thread of a process, no matter which.
    pub fn seize_one(pid: u32, asked: Arc<AtomicUsize>) -> Result<Tracee, Refusal> {
        let mut tracee = Tracee::new(pid, asked)?;
        let seized = tids(pid)?.into_iter().find(|&tid| sys::seize(tid, OPTIONS).is_ok());
        tracee.threads.insert(seized.ok_or_else(|| Refusal::gone(pid))?, Thread::RUNNING);
        Ok(tracee)
    }

    /// No thread is traced yet.
    fn new(pid: u32, asked: Arc<AtomicUsize>) -> Result<Tracee, Refusal> {
        let memory = File::options()
            .read(true)
            .write(true)
            .open(format!("/proc/{pid}/mem"))
            .map_err(|error| Refusal::failed("opening its memory", &error))?;
        Ok(Tracee {
            pid,
            memory,
            threads: BTreeMap::new(),
            is_child: parent(pid) == Some(std::process::id()),
            changed: Vec::new(),
            guardian: None,
            breaks: Vec::new(),
            paused: Duration::ZERO,
            pausing_since: None,
            running_since: Instant::now(),
            asked,
        })
    }

    /// Stops all threads.
    pub fn stop(&mut self) -> Result<(), Refusal> {
        let until = Instant::now() + STOPPING;
        self.pausing_since.get_or_insert_with(Instant::now);
        let running: Vec<_> = self.running().collect();
        for tid in running {
            match sys::interrupt(tid) {
                Ok(()) => {}
                Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {}
                Err(error) => return Err(Refusal::failed("stopping it", &error)),
            }
        }
        while self.running().next().is_some() {
            self.look(true)?;
            if Instant::now() > until {
                let reason = "one of its threads does not stop: it waits in the kernel for a \
                    disk, or for a vfork child that has not called exec yet";
                return Err(Refusal::new(Cause::Busy, reason, "Try again later"));
            }
        }
        if self.at_breaks() > 0 && !self.changed.is_empty() {
            // A thread may have been stuck at the break from the first moment on.
            self.pausing_since = self.pausing_since.map(|since| since.min(self.running_since));
        }
        Ok(())
    }

    /// Resumes threads that are stopped: all, or only those that are not at a break.
    pub fn resume(&mut self, with_those_at_breaks: bool) -> Result<(), Refusal> {
        for (&tid, thread) in &mut self.threads {
            let Some(registers) = thread.registers() else { continue };
            if thread.is_at_break() && !with_those_at_breaks {
                continue;
            }
            let _ = again(self.pid, tid, registers);
            match sys::resume(tid, ResumeMode::Freely, 0) {
                Ok(()) => *thread = Thread::RUNNING,
                Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {
                    *thread = Thread::RUNNING
                }
                Err(error) => return Err(Refusal::failed("resuming it", &error)),
            }
        }
        if self.at_breaks() == 0 {
            self.paused = self.pause();
            self.pausing_since = None;
        }
        self.running_since = Instant::now();
        Ok(())
    }

    /// Lets threads run for some time.
    pub fn let_run(&mut self, time: Duration) -> Result<(), Refusal> {
        let until = Instant::now() + time;
        loop {
            self.look(false)?;
            if Instant::now() > until {
                return Ok(());
            }
            self.heed_the_user()?;
        }
    }

    /// The number of threads at a break.
    pub fn at_breaks(&self) -> usize {
        self.threads.values().filter(|thread| thread.is_at_break()).count()
    }

    /// How long any of its threads has been stopped because of us, in total.
    pub fn pause(&self) -> Duration {
        self.paused + self.pausing_since.map_or(Duration::ZERO, |since| since.elapsed())
    }

    fn heed_the_user(&self) -> Result<(), Refusal> {
        match self.asked.load(Ordering::Relaxed) {
            0 => Ok(()),
            signal => {
                let cause = Cause::Interrupted(i32::try_from(signal).unwrap_or(libc::SIGINT));
                Err(Refusal::new(cause, "interrupted", ""))
            }
        }
    }

    /// Detaches from all threads, which must be stopped; changes of its code are undone first.
    pub fn detach(&mut self) {
        if self.restore_code().is_err() {
            // Nothing can be done: the process is gone, or runs another program.
            self.changed.clear();
        }
        for (&tid, thread) in &self.threads {
            if let Some(registers) = thread.registers() {
                let _ = again(self.pid, tid, registers);
            }
            // A thread that has ended needs no detaching.
            let _ = sys::detach(tid, 0);
        }
        self.threads.clear();
    }

    /// Changes bytes of its code, while all threads are stopped. [`Tracee::restore_code`] undoes it.
    pub fn change_code(&mut self, address: u64, bytes: [u8; 2]) -> Result<(), Refusal> {
        let failed = |error| Refusal::failed("changing its code", &error);
        let mut word = [0; 8];
        self.memory
            .read_exact_at(&mut word, address)
            .map_err(|error| Refusal::failed("reading its code", &error))?;
        let was = u64::from_le_bytes(word);
        word[..2].copy_from_slice(&bytes);
        let change = Change { address, was, now: u64::from_le_bytes(word) };
        let tid = self.any_stopped()?;
        // Recorded first: undoing a change that was not made does no harm.
        self.guardian.as_mut().map_or(Ok(()), |guardian| guardian.note(change)).map_err(failed)?;
        self.changed.push(change);
        sys::write_word(tid, address, change.now).map_err(failed)
    }

    /// Undoes what [`Tracee::change_code`] did, the last change first.
    pub fn restore_code(&mut self) -> Result<(), Refusal> {
        if self.changed.is_empty() {
            return Ok(());
        }
        let tid = self.any_stopped()?;
        restore(tid, &self.changed)
            .map_err(|error| Refusal::failed("restoring its code", &error))?;
        self.nothing_is_changed();
        Ok(())
    }

    fn nothing_is_changed(&mut self) {
        self.changed.clear();
        if let Some(guardian) = &mut self.guardian {
            guardian.all_restored();
        }
    }

    pub fn any_stopped(&self) -> Result<Tid, Refusal> {
        let stopped = |(&tid, thread): (&Tid, &Thread)| thread.registers().map(|_| tid);
        self.threads.iter().find_map(stopped).ok_or_else(|| Refusal::gone(self.pid))
    }

    /// A stopped thread with room for our frames below its stack pointer.
    pub fn any_with_room(&self, regions: &[Region]) -> Option<Tid> {
        let fits = |(&tid, thread): (&Tid, &Thread)| {
            thread.registers().filter(|registers| net::has_room(regions, registers)).map(|_| tid)
        };
        self.threads.iter().find_map(fits)
    }

    pub fn word(&self, address: u64) -> Option<u64> {
        let mut word = [0; 8];
        self.memory.read_exact_at(&mut word, address).ok()?;
        Some(u64::from_le_bytes(word))
    }

    fn running(&self) -> impl Iterator<Item = Tid> {
        let running = |(&tid, thread): (&Tid, &Thread)| thread.registers().is_none().then_some(tid);
        self.threads.iter().filter_map(running)
    }

    /// Looks at what has happened to running threads. Those that stopped for a signal get it and continue; if
    /// `stopping`, they are asked to stop again.
    fn look(&mut self, stopping: bool) -> Result<(), Refusal> {
        let mut anything = false;
        let running: Vec<_> = self.running().collect();
        for tid in running {
            let is_leader = u32::try_from(tid) == Ok(self.pid);
            let seen = match sys::seen(tid, is_leader && self.is_child) {
                Ok(Some(seen)) => seen,
                Ok(None) => continue,
                // A thread that called exec disappears under this id.
                Err(error) if error.raw_os_error() == Some(libc::ECHILD) => Seen::Ended,
                Err(error) => return Err(Refusal::failed("waiting for it", &error)),
            };
            anything = true;
            match seen {
                Seen::Ended => {
                    self.threads.remove(&tid);
                }
                Seen::Stopped { signal, event } => {
                    match self.stopped(tid, signal, event) {
                        Ok(()) => {}
                        // It was killed in between: its end will be seen.
                        Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {}
                        Err(error) if error.kind() == io::ErrorKind::Other => {
                            return Err(Refusal::new(Cause::Gone, error.to_string(), "Try again"));
                        }
                        Err(error) => return Err(Refusal::failed("stopping it", &error)),
                    }
                    let stands = self.threads.get(&tid).is_some_and(|it| it.registers().is_some());
                    if stopping && !stands {
                        let _ = sys::interrupt(tid);
                    } else if !stopping && stands && !self.threads[&tid].is_at_break() {
                        // A thread that is starting, or a group stop (as by ^Z) that takes effect once we are
                        // gone.
                        let _ = sys::resume(tid, ResumeMode::Freely, 0);
                        self.threads.insert(tid, Thread::RUNNING);
                    }
                }
            }
        }
        if self.threads.is_empty() {
            return Err(Refusal::gone(self.pid));
        }
        if !anything {
            std::thread::sleep(NAP);
        }
        Ok(())
    }

    /// Handles the stop of a running thread.
    fn stopped(&mut self, tid: Tid, signal: i32, event: i32) -> io::Result<()> {
        match event {
            // A signal for the thread.
            0 => sys::resume(tid, ResumeMode::Freely, signal),
            libc::PTRACE_EVENT_STOP => {
                let registers = sys::registers(tid)?;
                let at_break = self.breaks.contains(&registers.rip);
                self.threads.insert(tid, Thread { registers: Some(registers), at_break });
                Ok(())
            }
            libc::PTRACE_EVENT_CLONE | libc::PTRACE_EVENT_FORK | libc::PTRACE_EVENT_VFORK => {
                let new = Tid::try_from(sys::event_message(tid)?).unwrap_or(0);
                if event == libc::PTRACE_EVENT_CLONE
                    && fs::exists(format!("/proc/{}/task/{new}", self.pid)).unwrap_or(false)
                {
                    self.threads.insert(new, Thread::RUNNING);
                } else if event == libc::PTRACE_EVENT_VFORK {
                    // It shares the memory, which must stay as it is, and does not run the code that we
                    // changed.
                    let_go_of_child(new, &[])?;
                } else {
                    let_go_of_child(new, &self.changed)?;
                }
                sys::resume(tid, ResumeMode::Freely, 0)
            }
            libc::PTRACE_EVENT_EXEC => {
                // Nothing that we changed is left.
                self.nothing_is_changed();
                self.threads.clear();
                self.threads.insert(tid, Thread::RUNNING);
                sys::detach(tid, 0)?;
                self.threads.clear();
                Err(io::Error::other("it executed another program"))
            }
            _ => sys::resume(tid, ResumeMode::Freely, 0),
        }
    }
}

impl Drop for Tracee {
    fn drop(&mut self) {
        // Whatever went wrong, it must continue as before. If it does not stop, it does when our thread ends.
        if !self.threads.is_empty() && self.stop().is_ok() {
            self.detach();
        }
    }
}

/// Makes a thread restart its system call, if it is one that fails with EINTR when a thread is stopped. Its
/// timeout then starts over.
fn again(pid: u32, tid: Tid, registers: &Registers) -> io::Result<()> {
    let is_given_up = is_given_up_for_stops(registers.orig_rax.cast_signed());
    let was_interrupted = registers.rax.cast_signed() == -i64::from(libc::EINTR);
    // If a signal has arrived meanwhile, the call is supposed to fail.
    if !is_given_up || !was_interrupted || has_signals(pid, tid) {
        return Ok(());
    }
    let (rax, rip) = (registers.orig_rax, registers.rip.wrapping_sub(2));
    sys::set_registers(tid, &Registers { rax, rip, orig_rax: u64::MAX, ..*registers })
}

/// A signal mask in a thread's status file, which is hexadecimal.
fn signals(status: &str, name: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    line.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

fn status(pid: u32, tid: Tid) -> String {
    fs::read_to_string(format!("/proc/{pid}/task/{tid}/status")).unwrap_or_default()
}

/// Whether a thread is about to receive a signal.
fn has_signals(pid: u32, tid: Tid) -> bool {
    let status = status(pid, tid);
    let pending = signals(&status, "SigPnd") | signals(&status, "ShdPnd");
    pending & !signals(&status, "SigBlk") != 0
}

/// Undoes changes of code.
fn restore(tid: Tid, changed: &[Change]) -> io::Result<()> {
    changed.iter().rev().try_for_each(|change| sys::write_word(tid, change.address, change.was))
}

/// Detaches from a process that the tracee has forked: it has our changes in its memory, and is not ours.
fn let_go_of_child(child: Tid, changed: &[Change]) -> io::Result<()> {
    let until = Instant::now() + STOPPING;
    while Instant::now() < until {
        match sys::seen(child, false)? {
            Some(Seen::Stopped { .. }) => {
                restore(child, changed)?;
                return sys::detach(child, 0);
            }
            Some(Seen::Ended) => return Ok(()),
            None => std::thread::sleep(NAP),
        }
    }
    Err(io::Error::from(io::ErrorKind::TimedOut))
}

/// The threads of a process.
fn tids(pid: u32) -> Result<Vec<Tid>, Refusal> {
    let folder = fs::read_dir(format!("/proc/{pid}/task")).map_err(|_| Refusal::gone(pid))?;
    let names = folder.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    Ok(names.take(MOST_THREADS).collect())
}

fn parent(pid: u32) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("PPid:"))?.trim().parse().ok()
}
