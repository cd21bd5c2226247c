//! Bringing a process to a safe point.
//!
//! A heap is consistent where a collection could begin: every live value is in a place where the runtime
//! looks for it. There are two kinds of such safe points.
//!
//! *Blocked.* A program that waits for something outside is in C, between two collections. OCaml 5 says so
//! itself: a thread that blocks has released its domain, and its `caml_state` is null. OCaml 4 does not say
//! so, but a thread in a system call is in C code that OCaml has called, and if that system call is not one
//! by which the runtime itself manages its memory, no collection is running. OCaml code that calls C leaves
//! its return address in the runtime's state and on the stack. C code that is called without leaving it
//! (`[@@noalloc]`) is recognised by the missing return address, or by a stack that does not lead through
//! known frames to its end.
//!
//! *Polling.* A running program is asked to collect, by the same flags that signals use, and is stopped when
//! it enters the runtime for that: we put a jump to itself at the first instruction of each function of
//! [`ENTRIES`]. At that moment OCaml's registers are saved and nothing has been done yet. What the flags ask
//! for turns out to be nothing, and the runtime clears them by itself.
//!
//! All domains of OCaml 5 must be at a safe point at the same time. Each that arrives at an entry is held
//! there until the last has arrived. That can last forever: a domain that was in the middle of stopping the
//! world waits for those that we hold. So holding has a time limit, after which all domains continue for a
//! moment, and we start again. (Calling the runtime's own function that stops all domains would need code of
//! ours in the program; this needs none.)
//!
//! The jumps are in the code only while threads run and we wait, from [`arm`] to the next stop of all
//! threads. If we are killed (SIGKILL) right then, the kernel detaches from the program, and its threads wait
//! in those jumps until a process of ours has restored the code ([`super::guardian`]). That is why they are
//! jumps and not breakpoints: a thread that ran into int3 would die of it once its tracer is gone, even if
//! the code is restored. The price: we are not notified when a thread arrives, so all are stopped now and
//! then to look.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::net::has_room;
use super::refusal::{Cause, Refusal};
use super::sys::{self, Registers, Tid};
use super::tracee::{Thread, Tracee};
use crate::heap::roots::StackCheck;
use crate::memory::Region;

/// Functions of the runtime at whose first instruction the heap is consistent: where OCaml code enters the
/// collector; where C allocates; where C and the interpreter check for signals; where a domain is about to
/// stop all others.
pub const ENTRIES: &[&str] = &[
    "caml_garbage_collection",
    "caml_alloc_small_dispatch",
    "caml_process_pending_actions",
    "caml_try_run_on_all_domains_with_spin_work",
];
/// A jump to itself: the thread waits there, with all its registers, and continues when the code is restored.
const WAITING: [u8; 2] = [0xeb, 0xfe];
/// How long threads run before we look at them for the first time; this doubles each time, up to the last. A
/// thread may wait in a jump for as long.
const FIRST_WAIT: Duration = Duration::from_micros(100);
const LAST_WAIT: Duration = Duration::from_millis(16);
/// How long domains that have arrived are held without another one arriving, at first; this doubles each
/// time.
const FIRST_HOLD: Duration = Duration::from_millis(8);
const LAST_HOLD: Duration = Duration::from_millis(128);
/// How long all domains run when holding did not help.
const BREATH: Duration = Duration::from_millis(2);

/// What must be known about a runtime to bring it to a safe point. Addresses are in the process.
#[derive(Clone, Debug)]
pub struct Places {
    /// How to find the domain state.
    pub state: State,
    /// The first instructions of the functions of [`ENTRIES`].
    pub entries: Vec<u64>,
    /// `caml_something_to_do` of OCaml 4, which the interpreter checks.
    pub something_to_do: Option<u64>,
    /// Byte offsets in the domain state.
    pub offsets: Offsets,
}

/// How to find the domain state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// OCaml 4: the address of a global variable.
    Global(u64),
    /// OCaml 5: a thread-local variable, at this offset from the thread pointer.
    PerThread(i64),
}

/// Byte offsets in the domain state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offsets {
    /// `young_limit`.
    pub young_limit: u64,
    /// `young_alloc_end` of OCaml 4.
    pub young_alloc_end: Option<u64>,
    /// `action_pending` of OCaml 5.
    pub action_pending: Option<u64>,
    /// `bottom_of_stack` and `last_return_address` of native code of OCaml 4.
    pub last_call: Option<(u64, u64)>,
}

/// Brings the process, all of whose threads are stopped, to a safe point. They are stopped again afterwards,
/// whatever the result. Returns the states of the domains that were found.
pub fn reach(
    tracee: &mut Tracee,
    places: &Places,
    stack: &mut StackCheck<'_>,
    until: Instant,
) -> Result<Vec<u64>, Refusal> {
    tracee.breaks.clone_from(&places.entries);
    let (mut wait, mut hold, mut last_came) = (FIRST_WAIT, FIRST_HOLD, Instant::now());
    loop {
        let positions = ThreadPositions::look(tracee, places, stack)?;
        if positions.is_safe() {
            return Ok(positions.domains());
        }
        if Instant::now() > until {
            return Err(too_busy(places));
        }
        let held = tracee.at_breaks();
        if held > 0 && (last_came.elapsed() > hold || positions.is_stuck()) {
            (wait, hold) = (FIRST_WAIT, (hold * 2).min(LAST_HOLD));
            tracee.resume(true)?;
            tracee.let_run(BREATH)?;
            tracee.stop()?;
            last_came = Instant::now();
            continue;
        }
        arm(tracee, places, &positions)?;
        tracee.resume(false)?;
        let waited = tracee.let_run(wait);
        // The code may be changed only while all threads are stopped.
        tracee.stop()?;
        tracee.restore_code()?;
        waited?;
        if tracee.at_breaks() > held {
            (wait, last_came) = (FIRST_WAIT, Instant::now());
        } else {
            wait = (wait * 2).min(LAST_WAIT);
        }
    }
}

/// Sets the jumps at the entries and asks for a collection.
fn arm(tracee: &mut Tracee, places: &Places, positions: &ThreadPositions) -> Result<(), Refusal> {
    for &entry in &places.entries {
        tracee.change_code(entry, WAITING)?;
    }
    let tid = tracee.any_stopped()?;
    let write = |address, word| {
        sys::write_word(tid, address, word)
            .map_err(|error| Refusal::failed("requesting a collection", &error))
    };
    for state in positions.domains() {
        let limit = match places.offsets.young_alloc_end {
            Some(end) => tracee.word(state + end).unwrap_or(u64::MAX),
            None => u64::MAX,
        };
        if let Some(pending) = places.offsets.action_pending {
            write(state + pending, 1)?;
        }
        write(state + places.offsets.young_limit, limit)?;
    }
    if let Some(address) = places.something_to_do {
        // An int: keep the other half of the word.
        let word = tracee.word(address).unwrap_or(0);
        write(address, (word & !0xffff_ffff) | 1)?;
    }
    Ok(())
}

fn too_busy(places: &Places) -> Refusal {
    let reason = match places.state {
        State::Global(_) => {
            "it reached no safe point: it runs a loop that does not allocate, or C code"
        }
        State::PerThread(_) => {
            "its domains reached no safe point: one of them runs C code without releasing its \
             domain lock"
        }
    };
    let way_out = "Try again, or wait longer (--wait)";
    Refusal::new(Cause::Busy, reason, way_out)
}

/// Where the threads are stopped.
enum ThreadPositions {
    /// OCaml 4.
    One { state: u64, is_at_break: bool, is_waiting: bool },
    /// OCaml 5: the threads of each domain.
    Domains(BTreeMap<u64, Vec<Holder>>),
}

/// A thread that has a domain, or is about to get it back.
struct Holder {
    is_at_break: bool,
    is_idle: bool,
    is_in_call: bool,
}

impl ThreadPositions {
    fn look(
        tracee: &Tracee,
        places: &Places,
        stack: &mut StackCheck<'_>,
    ) -> Result<ThreadPositions, Refusal> {
        match places.state {
            State::Global(address) => {
                let state = tracee.word(address).filter(|&state| state != 0).ok_or_else(|| {
                    Refusal::new(
                        Cause::Unknown,
                        "its OCaml runtime has not started yet",
                        "Try again",
                    )
                })?;
                let is_at_break = tracee.at_breaks() > 0;
                let mut registers = tracee.threads.values().filter_map(|thread| thread.registers());
                let is_waiting = registers.all(is_in_harmless_call)
                    && is_in_c(tracee, state, places.offsets.last_call, stack);
                Ok(ThreadPositions::One { state, is_at_break, is_waiting })
            }
            State::PerThread(offset) => {
                let mut domains: BTreeMap<u64, Vec<Holder>> = BTreeMap::new();
                for thread in tracee.threads.values() {
                    let Some(registers) = thread.registers() else { continue };
                    let at = registers.fs_base.wrapping_add_signed(offset);
                    // A thread that is starting has no thread-local variables yet.
                    let Some(state) = tracee.word(at).filter(|&state| state != 0) else { continue };
                    domains.entry(state).or_default().push(Holder {
                        is_at_break: thread.is_at_break(),
                        is_idle: is_idle(registers),
                        is_in_call: call(registers).is_some(),
                    });
                }
                Ok(ThreadPositions::Domains(domains))
            }
        }
    }

    fn domains(&self) -> Vec<u64> {
        match self {
            ThreadPositions::One { state, .. } => vec![*state],
            ThreadPositions::Domains(domains) => domains.keys().copied().collect(),
        }
    }

    fn is_safe(&self) -> bool {
        match self {
            // Only one thread runs OCaml at a time, and that is the one at the break.
            ThreadPositions::One { is_at_break, is_waiting, .. } => *is_at_break || *is_waiting,
            ThreadPositions::Domains(domains) => {
                domains.values().all(|holders| is_domain_safe(holders))
            }
        }
    }

    /// Whether the domains that are not at a safe point yet wait for those that are.
    fn is_stuck(&self) -> bool {
        let ThreadPositions::Domains(domains) = self else { return false };
        let mut missing = domains.values().filter(|holders| !is_domain_safe(holders));
        missing.all(|holders| holders.iter().all(|holder| holder.is_in_call))
    }
}

/// Whether a domain is at a safe point. Only one thread runs in a domain at a time. Others may have its state
/// without the right to run: the backup thread, which serves the domain while the first thread is blocked,
/// and threads of the program that wait for their turn.
fn is_domain_safe(holders: &[Holder]) -> bool {
    holders.iter().any(|holder| holder.is_at_break) || holders.iter().all(|holder| holder.is_idle)
}

/// Whether a thread of OCaml 5 is blocked, but not waiting for another domain within a collection. For the
/// latter the runtime uses bare futexes and short sleeps; idle threads wait for a condition variable.
fn is_idle(registers: &Registers) -> bool {
    match call(registers) {
        Some(libc::SYS_futex) => {
            registers.rsi & FUTEX_COMMAND == u64::from(libc::FUTEX_WAIT_BITSET.unsigned_abs())
        }
        Some(libc::SYS_nanosleep | libc::SYS_clock_nanosleep | libc::SYS_sched_yield) => false,
        _ => is_in_harmless_call(registers),
    }
}

/// The bits of a futex operation that hold the command.
const FUTEX_COMMAND: u64 = 0x7f;

/// The system call that a thread is in, if any.
fn call(registers: &Registers) -> Option<i64> {
    Some(registers.orig_rax.cast_signed()).filter(|&number| number >= 0)
}

/// Whether a thread is in a system call that does not manage memory.
fn is_in_harmless_call(registers: &Registers) -> bool {
    call(registers).is_some_and(|number| {
        !matches!(
            number,
            libc::SYS_mmap
                | libc::SYS_munmap
                | libc::SYS_mremap
                | libc::SYS_mprotect
                | libc::SYS_madvise
                | libc::SYS_brk
                | libc::SYS_rt_sigreturn
                | libc::SYS_exit
                | libc::SYS_exit_group
                | libc::SYS_execve
        )
    })
}

/// Whether OCaml has called C in the way that leaves its stack walkable.
fn is_in_c(
    tracee: &Tracee,
    state: u64,
    last_call: Option<(u64, u64)>,
    stack: &mut StackCheck<'_>,
) -> bool {
    let Some((bottom, return_address)) = last_call else { return true };
    let (Some(bottom), Some(return_address)) =
        (tracee.word(state + bottom), tracee.word(state + return_address))
    else {
        return false;
    };
    // Before any OCaml code has run there is no OCaml stack.
    bottom == 0
        || tracee.word(bottom.wrapping_sub(8)) == Some(return_address) && stack.is_whole(state)
}

/// The best thread to make the copy in, among those with room for it: one at a break, else the main thread,
/// else one that has a domain, else any.
pub fn best_thread(tracee: &Tracee, places: &Places, regions: &[Region]) -> Option<Tid> {
    let has_domain = |registers: &Registers| match places.state {
        State::Global(_) => false,
        State::PerThread(offset) => {
            let at = registers.fs_base.wrapping_add_signed(offset);
            tracee.word(at).is_some_and(|state| state != 0)
        }
    };
    let stopped = || {
        let stopped = |(&tid, thread)| Some((tid, thread, Thread::registers(thread)?));
        let stopped = tracee.threads.iter().filter_map(stopped);
        stopped.filter(|(_, _, registers)| has_room(regions, registers))
    };
    let at_break = stopped().find(|(_, thread, _)| thread.is_at_break());
    let with_domain = || stopped().find(|(_, _, registers)| has_domain(registers));
    let leader = || stopped().find(|(tid, ..)| u32::try_from(*tid) == Ok(tracee.pid));
    let found = at_break.or_else(leader).or_else(with_domain).or_else(|| stopped().next());
    found.map(|(tid, ..)| tid)
}
