//! The thread that traces: from the first stop to the last letting go.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::mpsc::{Receiver, Sender};
use std::time::{Duration, Instant};
use std::{fs, thread};

use super::calls::Caller;
use super::inject::{self, system_call};
use super::refusal::{Cause, Refusal};
use super::safe_point::{self, Places};
use super::signals::Held;
use super::sys::{self, Seen, Tid};
use super::tracee::Tracee;
use super::{Frozen, Options, Way, listing};
use crate::heap::roots::StackCheck;
use crate::heap::target::{Files, Target, Thread};
use crate::memory::{Memory, ProcessMemory};

/// What a `syscall` instruction is, in bytes.
const SYSCALL: [u8; 2] = [0x0f, 0x05];
/// Enough of any code to have one in it, where there is one at all.
const LOOKED_THROUGH: u64 = 4 << 20;
const NAP: Duration = Duration::from_micros(100);
/// How long a killed copy may take to go: its memory has to be given back.
const GOING: Duration = Duration::from_secs(20);

/// Freezes a process, hands it over, and lets it go on when `finished` ends.
pub fn trace(
    pid: u32,
    options: Options,
    tell: &Sender<Result<Frozen, Refusal>>,
    finished: &Receiver<()>,
) {
    // Until the end: ended by a signal, we would leave a dead copy among the program's children.
    let held = Held::begin();
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
        Ok((tid, instruction)) => {
            stopped.tracee.detach();
            let pause = stopped.tracee.pause();
            let taken = stopped.look_at_copy(tid, instruction, options, pause, asked);
            let _ = tell.send(taken);
            // Ends by an error when the handle is dropped, which is what it waits for.
            let _ = finished.recv();
            sys::kill(tid);
            wait_for_end(tid);
            // Without this it would stay as a zombie among the program's children until that ends.
            reap(pid, tid, instruction);
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
                way: Way::Stopped { reason },
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

/// A process at a safe point.
struct Stopped {
    tracee: Tracee,
    target: Target,
    places: Places,
    domains: Vec<u64>,
    /// The thread that ran last has ended: the runtime would not come to an end with a list of its threads.
    thread_is_gone: bool,
    gaps: Vec<String>,
    /// Where a `syscall` instruction is, if a copy is wanted and may be made; else why not.
    instruction: Result<u64, String>,
}

fn stop(pid: u32, options: Options, asked: Arc<AtomicUsize>) -> Result<Stopped, Refusal> {
    let memory = ProcessMemory::open(pid).map_err(|error| Refusal::opening(pid, &error))?;
    let mut target = Target::find(&memory, &Files::of_process(pid)).map_err(|unknown| {
        let way_out = "`bactrian doctor` says more about it";
        Refusal::new(Cause::Unknown, format!("process {pid}: {unknown}"), way_out)
    })?;
    let places = Places::of(&target)?;
    let instruction = if options.copy {
        may_inject(pid).and_then(|()| {
            let missing = || "it has no instruction by which it could be copied".to_owned();
            find_instruction(&memory).ok_or_else(missing)
        })
    } else {
        Err("no copy was asked for".to_owned())
    };
    let until = Instant::now() + options.wait;
    let mut stack = StackCheck::new(&target, &memory);
    let mut tracee = Tracee::seize(pid, asked)?;
    tracee.stop()?;
    let domains = safe_point::reach(&mut tracee, &places, &mut stack, until)?;
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
    Ok(Stopped { tracee, target, places, domains, thread_is_gone, gaps, instruction })
}

impl Stopped {
    /// Makes the process copy itself: the copy, and the instruction by which it was made. Or why not.
    fn copy(&mut self) -> Result<(Tid, u64), String> {
        let instruction = self.instruction.clone()?;
        let tid = safe_point::best_thread(&self.tracee, &self.places).ok_or("it has no threads")?;
        // No flags: a process of its own, whose end is told to nobody but to who asks for such children.
        let outcome = system_call(tid, instruction, libc::SYS_clone, [0; 6])
            .map_err(|error| format!("it could not be made to copy itself: {error}"))?;
        match (outcome.result, outcome.child) {
            (error @ ..0, _) => {
                let error = i32::try_from(-error).unwrap_or(libc::EINVAL);
                Err(format!("the kernel did not copy it: {}", io::Error::from_raw_os_error(error)))
            }
            (_, Some(child)) => Ok((child, instruction)),
            (_, None) => Err("its copy is not to be found".to_owned()),
        }
    }

    /// Prepares the copy for being read. The process runs already.
    fn look_at_copy(
        self,
        copy: Tid,
        instruction: u64,
        options: Options,
        pause: Duration,
        asked: Arc<AtomicUsize>,
    ) -> Result<Frozen, Refusal> {
        let Stopped { target, places, mut domains, thread_is_gone, mut gaps, .. } = self;
        let failed = |error: io::Error| Refusal::failed("looking at its copy", &error);
        inject::next_stop(copy).map_err(failed)?;
        // Only the copy is to die with us.
        sys::set_options(copy, libc::PTRACE_O_EXITKILL | libc::PTRACE_O_TRACESYSGOOD)
            .map_err(failed)?;
        // Else the other ends of the program's pipes and sockets would not see it close them. An old kernel
        // cannot; then that has to wait for the copy's end.
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
            way: Way::Copied,
            pause,
            pid,
            asked,
            tracer: None,
        })
    }
}

/// Whether a process may be made to do system calls. A filter of system calls might kill it for one that it does not
/// expect; one that it has from the same ancestor as we have lets programs start others.
fn may_inject(pid: u32) -> Result<(), String> {
    let filters = |pid: &str| {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
            line.map(str::trim).and_then(|value| value.parse::<u32>().ok())
        };
        (field("Seccomp").unwrap_or(0), field("Seccomp_filters").unwrap_or(0))
    };
    let (theirs, ours) = (filters(&pid.to_string()), filters("self"));
    match theirs {
        (0, _) => Ok(()),
        _ if theirs == ours => Ok(()),
        _ => Err("its system calls are filtered (seccomp), and the filter might end it for the \
                  one by which it would be copied"
            .to_owned()),
    }
}

/// The address of a `syscall` instruction, in the kernel's own code in the process or else in any.
fn find_instruction(memory: &dyn Memory) -> Option<u64> {
    let code = || memory.regions().iter().filter(|region| region.executable && region.readable);
    let name = |region: &crate::memory::Region| region.file.clone().unwrap_or_default();
    let kernels = code().filter(|region| name(region).as_os_str() == "[vdso]");
    let others = code().filter(|region| name(region).is_absolute());
    kernels.chain(others).find_map(|region| {
        let length = (region.range.end - region.range.start).min(LOOKED_THROUGH);
        let mut bytes = vec![0; usize::try_from(length).ok()?];
        if !memory.read(region.range.start, &mut bytes) {
            return None;
        }
        let at = bytes.windows(2).position(|bytes| bytes == SYSCALL)?;
        Some(region.range.start + at as u64)
    })
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

/// Has the process take note of the end of its copy.
fn reap(pid: u32, copy: Tid, instruction: u64) {
    // The process may have ended; then its copy belongs to another, who takes note by itself. A signal that came is
    // not heeded: this is how we end.
    let Ok(mut tracee) = Tracee::seize_one(pid, Arc::default()) else { return };
    if tracee.stop().is_err() {
        return;
    }
    let Ok(tid) = tracee.any_stopped() else { return };
    let options = u64::from((libc::__WALL | libc::WNOHANG).cast_unsigned());
    let arguments = [u64::from(copy.unsigned_abs()), 0, options, 0, 0, 0];
    let _ = system_call(tid, instruction, libc::SYS_wait4, arguments);
    tracee.detach();
}
