//! The tracing thread: from the first stop until it detaches.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::mpsc::{Receiver, Sender};
use std::time::{Duration, Instant};
use std::{fs, thread};

use super::calls::Caller;
use super::copy::{Means, ProcessCopy};
use super::gadgets::Gadgets;
use super::inject::{self, system_call};
use super::net::Vectors;
use super::refusal::{Cause, Refusal};
use super::safe_point::{self, Places};
use super::signals::DeferredSignals;
use super::sys::{self, Seen, Tid};
use super::tracee::Tracee;
use super::{FreezeMethod, Frozen, Options, listing};
use crate::heap::roots::StackCheck;
use crate::heap::target::{Files, Target, Thread};
use crate::memory::{Memory, ProcessMemory, Region};

const NAP: Duration = Duration::from_micros(100);
/// How long signal handlers may take.
const HANDLERS: Duration = Duration::from_millis(200);
/// How long a killed copy may take to disappear: the kernel has to release its memory.
const GOING: Duration = Duration::from_secs(20);

/// Freezes a process, hands it over, and lets it continue when `finished` is closed.
pub fn trace(
    pid: u32,
    options: Options,
    tell: &Sender<Result<Frozen, Refusal>>,
    finished: &Receiver<()>,
) {
    // Held until the end: if a signal ended us, the copy of a program that adopts orphans would stay as a
    // zombie.
    let held = DeferredSignals::begin();
    let asked = held.asked();
    let mut stopped = match stop(pid, options, asked.clone()) {
        Ok(stopped) => stopped,
        Err(refusal) => {
            drop(held);
            let _ = tell.send(Err(refusal));
            return;
        }
    };
    match stopped.copy() {
        Ok((copy, gadgets)) => {
            stopped.tracee.detach();
            let pause = stopped.tracee.pause();
            let vectors = stopped.vectors;
            let taken = stopped.look_at_copy(copy.tid, gadgets.call, options, pause, asked);
            let _ = tell.send(taken);
            // Returns an error when the handle is dropped, which is what it waits for.
            let _ = finished.recv();
            sys::kill(copy.tid);
            wait_for_end(copy.tid);
            copy.reap(pid, Means { gadgets, vectors: &vectors });
        }
        Err(reason) => {
            let pause = stopped.tracee.pause();
            let Stopped { tracee, target, domains, gaps, .. } = stopped;
            let memory = ProcessMemory::open(pid)
                .map_err(|error| Refusal::failed("opening its memory", &error));
            let _ = tell.send(memory.map(|memory| Frozen {
                memory,
                target,
                listing: None,
                domains,
                gaps,
                way: FreezeMethod::Stopped { reason },
                pause,
                pid,
                asked,
                tracer: None,
            }));
            let _ = finished.recv();
            drop(tracee);
        }
    }
}

/// A process that is stopped at a safe point.
struct Stopped {
    tracee: Tracee,
    target: Target,
    places: Places,
    domains: Vec<u64>,
    /// Set if the thread that ran last has ended: then the runtime's function that lists its threads would
    /// not terminate.
    thread_is_gone: bool,
    gaps: Vec<String>,
    /// The instructions with which it copies itself, if a copy is wanted and may be made; else the reason.
    gadgets: Result<Gadgets, String>,
    vectors: Vectors,
    /// The thread to make the copy in, if one has room for it.
    thread: Option<Tid>,
    /// Whether it is the first process of its PID namespace (of a container, or of the machine).
    is_first: bool,
}

fn stop(pid: u32, options: Options, asked: Arc<AtomicUsize>) -> Result<Stopped, Refusal> {
    let memory = ProcessMemory::open(pid).map_err(|error| Refusal::opening(pid, &error))?;
    let mut target = Target::find(&memory, &Files::of_process(pid)).map_err(|unknown| {
        Refusal::new(Cause::Unknown, format!("process {pid}: {unknown}"), unknown.way_out())
    })?;
    let places = Places::of(&target)?;
    let gadgets = if options.copy {
        may_inject(&pid.to_string()).and_then(|()| {
            let missing = || "it contains no system call instruction that could copy it".to_owned();
            Gadgets::find(&memory).ok_or_else(missing)
        })
    } else {
        Err("no copy was requested".to_owned())
    };
    let vectors = Vectors::of_this_processor();
    let is_first = is_first(pid);
    let until = Instant::now() + options.wait;
    let mut stack = StackCheck::new(&target, &memory);
    let mut tracee = Tracee::seize(pid, asked)?;
    tracee.stop()?;
    let enough = Instant::now() + HANDLERS;
    let (domains, thread) = loop {
        let domains = safe_point::reach(&mut tracee, &places, &mut stack, until)?;
        let thread = thread_with_room(&tracee, &places, memory.regions());
        if thread.is_some() || gadgets.is_err() || Instant::now() > enough.min(until) {
            break (domains, thread);
        }
        // It is in a signal handler that runs on a small alternate stack, and will return.
        tracee.resume(true)?;
        tracee.let_run(NAP)?;
        tracee.stop()?;
    };
    let thread_is_gone = domains.first().is_some_and(|&state| stack.active_thread_is_gone(state));
    target.threads = tracee
        .threads
        .iter()
        .filter_map(|(&tid, thread)| {
            let registers = thread.registers()?;
            Some(Thread {
                id: tid.unsigned_abs(),
                thread_pointer: registers.fs_base,
                stack_pointer: registers.rsp,
                instruction: registers.rip,
            })
        })
        .collect();
    let gaps = Vec::new();
    Ok(Stopped {
        tracee,
        target,
        places,
        domains,
        thread_is_gone,
        gaps,
        gadgets,
        vectors,
        thread,
        is_first,
    })
}

impl Stopped {
    /// Makes the process copy itself. Returns the copy, and the instructions with which it was made; or the
    /// reason if that is impossible.
    fn copy(&mut self) -> Result<(ProcessCopy, Gadgets), String> {
        let gadgets = self.gadgets.clone()?;
        let means = Means { gadgets, vectors: &self.vectors };
        let tid = self.thread.ok_or("none of its threads has enough stack space")?;
        // Each thread has its own filters, and may have got one since: now it stands still.
        may_inject(&format!("{}/task/{tid}", self.tracee.pid))?;
        let copy = ProcessCopy::make(tid, &self.tracee.memory, means, self.is_first)?;
        Ok((copy, gadgets))
    }

    /// Prepares the copy for being read. The process is already running.
    fn look_at_copy(
        self,
        copy: Tid,
        instruction: u64,
        options: Options,
        pause: Duration,
        asked: Arc<AtomicUsize>,
    ) -> Result<Frozen, Refusal> {
        let Stopped { target, places, mut domains, thread_is_gone, mut gaps, .. } = self;
        let failed = |error: io::Error| Refusal::failed("examining its copy", &error);
        inject::next_stop(copy).map_err(failed)?;
        // Only the copy is to be killed when we die.
        sys::set_options(copy, libc::PTRACE_O_EXITKILL | libc::PTRACE_O_TRACESYSGOOD)
            .map_err(failed)?;
        // Otherwise the peers of the program's pipes and sockets would not see it close them. An old kernel
        // does not have this call; then they see it when the copy ends.
        let all = [0, u64::from(u32::MAX), 0, 0, 0, 0];
        let _ = system_call(copy, instruction, libc::SYS_close_range, all);
        let pid = copy.unsigned_abs();
        let listing = if options.list {
            let listed = Caller::new(copy, instruction).and_then(|mut caller| {
                listing::list(&mut caller, &target, &places, &mut domains, thread_is_gone)
            });
            match listed {
                Ok(listing) => Some(listing),
                Err(error) => {
                    gaps.push(format!("the runtime's own list of its roots: {error}"));
                    None
                }
            }
        } else {
            None
        };
        let memory = ProcessMemory::open(pid).map_err(failed)?;
        Ok(Frozen {
            memory,
            target,
            listing,
            domains,
            gaps,
            way: FreezeMethod::Copied,
            pause,
            pid,
            asked,
            tracer: None,
        })
    }
}

/// The thread to make the copy in, if one has room for it.
fn thread_with_room(tracee: &Tracee, places: &Places, regions: &[Region]) -> Option<Tid> {
    safe_point::best_thread(tracee, places, regions).or_else(|| {
        // The thread has started, or its stack has grown, since the mappings were listed.
        let now = ProcessMemory::open(tracee.pid).ok()?;
        safe_point::best_thread(tracee, places, now.regions())
    })
}

/// A field of a process's status file.
fn status_field(pid: &str, name: &str) -> Option<String> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    Some(line.trim().to_owned())
}

/// Whether a process is the first one of its PID namespace: it adopts orphans.
fn is_first(pid: u32) -> bool {
    // The last number is the id in the innermost namespace.
    let numbers = status_field(&pid.to_string(), "NSpid");
    numbers.is_some_and(|numbers| numbers.split_whitespace().last() == Some("1"))
}

/// Whether a process, or one of its threads, may be made to do system calls. A seccomp filter might kill it
/// for one that the filter does not expect; a filter that it has inherited from an ancestor that is also ours
/// lets programs start others.
pub(super) fn may_inject(pid: &str) -> Result<(), String> {
    let filters = |pid: &str| {
        let number = |name| status_field(pid, name).and_then(|it| it.parse::<u32>().ok());
        (number("Seccomp").unwrap_or(0), number("Seccomp_filters").unwrap_or(0))
    };
    let features = status_field(pid, "x86_Thread_features").unwrap_or_default();
    if features.split_whitespace().any(|feature| feature == "shstk") {
        return Err("it uses a shadow stack, which forbids the call that would copy it".to_owned());
    }
    let (theirs, ours) = (filters(pid), filters("self"));
    match theirs {
        (0, _) => Ok(()),
        _ if theirs == ours => Ok(()),
        _ => Err("it has a seccomp filter, which might kill it for the call that would copy it"
            .to_owned()),
    }
}

fn wait_for_end(tid: Tid) {
    let until = Instant::now() + GOING;
    while Instant::now() < until {
        match sys::seen(tid, false) {
            Ok(Some(Seen::Ended)) | Err(_) => return,
            Ok(_) => thread::sleep(NAP),
        }
    }
}
