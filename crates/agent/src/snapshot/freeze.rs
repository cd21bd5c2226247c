//! Making a frozen copy, at a safe point.

use alloc::ffi::CString;
use alloc::format;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use bactrian_agent_abi::frozen::{Facts, Reason, Skipped};
use bactrian_agent_abi::ledger::{Limit, Line};
use bactrian_agent_abi::{Busy, Limits};
use bactrian_agent_os::lock::Lock;
use bactrian_agent_os::stacks::{self, Stack};
use bactrian_agent_os::sys::{self, Clock, Pid};
use bactrian_agent_os::{confined, proc, process};

use super::budget::Budget;
use super::copy::{self, Order};
use super::{Setup, ledger, notes, setup};
use crate::keeper::filters::{self, Answer};
use crate::keeper::ring::Ring;

/// The snapshots of this process.
struct Series {
    /// What names of files begin with.
    prefix: Vec<u8>,
    folder: CString,
    process: Pid,
    /// Added to numbers in the ledger, where several processes write.
    key: u64,
    number: u64,
    skipped: Skipped,
    budget: Budget,
}

static SERIES: Lock<Option<Series>> = Lock::new(None);
/// Snapshots are not taken any more.
static OFF: AtomicBool = AtomicBool::new(false);
/// The process whose snapshots these are.
static OWNER: AtomicU32 = AtomicU32::new(0);
/// The number of its last one.
static LAST: AtomicU64 = AtomicU64::new(0);

/// Snapshots that were skipped because the keeper had no time to look for filters. They are still to be told.
static LATE: AtomicU32 = AtomicU32::new(0);
/// So long, in microseconds, the keeper is waited for, if a snapshot may be skipped.
const LONGEST_ANSWER: u64 = 100_000;

/// So long, in microseconds, a program waits until there may be another copy.
const LONGEST_WAIT: u64 = 10_000_000;
/// How often it looks, in milliseconds.
const NAP: i64 = 2;

/// A program that ends waits for its copies in steps of so many milliseconds, and so many of them.
const STEP: i64 = 100;
const MOST_STEPS: usize = 100;

/// Copies that outlive this process become children of the program, which would meet them: there must be none.
static ADOPTED: AtomicBool = AtomicBool::new(false);
/// The same of a child that is being made.
static CHILD_ADOPTED: AtomicBool = AtomicBool::new(false);

/// Gets ready, while there is one thread.
pub fn prepare(setup: &Setup) -> Result<(), &'static str> {
    ADOPTED.store(setup.agent.is_ward, Ordering::Relaxed);
    let settings = &setup.agent.settings;
    if let Some(folder) = settings.keeper.as_deref().filter(|_| settings.trace.is_none()) {
        // Only for what the keeper tells of filters. It stays mapped.
        let _ = Ring::take(folder, u64::MAX);
    }
    let series = Series::new(setup, setup.agent.is_heir).ok_or("a path with a NUL in it")?;
    begin();
    SERIES.take();
    // SAFETY: we hold the lock.
    unsafe {
        *SERIES.inside() = Some(series);
        SERIES.release();
    }
    Ok(())
}

/// This process begins with no copies.
fn begin() {
    notes::share();
    LAST.store(0, Ordering::Relaxed);
    OWNER.store(sys::process_id().0, Ordering::Relaxed);
}

/// Whether this is the process whose snapshots these are: a child made by vfork shares our memory.
pub fn is_ours() -> bool {
    sys::process_id().0 == OWNER.load(Ordering::Relaxed)
}

/// The program ends: tells of snapshots that were skipped when nothing could be told.
pub fn tell_late(setup: &Setup) {
    for _ in 0..LATE.swap(0, Ordering::Relaxed) {
        ledger::add(setup.ledger.as_deref(), &Line::Skipped(Limit::Busy));
    }
}

/// The program ends: whoever reads the ledger then must find there which copies are at work.
pub fn let_copies_begin(most: u32) {
    let last = LAST.load(Ordering::Relaxed);
    let first = last.saturating_sub(most.into()) + 1;
    for notes in (first..=last).filter_map(notes::of) {
        // On a busy machine it may take the copy a while to come to that.
        for _ in 0..MOST_STEPS {
            let copy = notes.copy.load(Ordering::Relaxed);
            if notes.begun.load(Ordering::Acquire) == 1 || process::end_of(Pid(copy)).is_some() {
                break;
            }
            process::wait_while(&notes.begun, 0, STEP);
        }
    }
}

impl Series {
    fn new(setup: &Setup, is_child: bool) -> Option<Series> {
        let id = sys::process_id();
        let mut prefix = setup.settings.heap.clone();
        let slash = prefix.iter().rposition(|byte| *byte == b'/').unwrap_or(0);
        let folder = CString::new(&prefix[..=slash.min(prefix.len().checked_sub(1)?)]).ok()?;
        let first = CString::new([&prefix[..], b".1.heap"].concat()).ok()?;
        // Programs that a shell has started do not know of each other.
        let is_child = is_child || process::file_size(&first).is_some();
        if is_child {
            prefix.extend_from_slice(format!(".{}", id.0).as_bytes());
        }
        Some(Series {
            prefix,
            folder,
            process: id,
            key: if is_child { u64::from(id.0) << 32 } else { 0 },
            number: 0,
            skipped: Skipped::default(),
            budget: Budget::new(),
        })
    }

    /// Whether another copy can be afforded, perhaps after others have ended.
    fn afford(&mut self, limits: &Limits, reason: Reason) -> Result<(), Limit> {
        let beyond = match reason {
            Reason::Major | Reason::Every | Reason::Peak => 0,
            Reason::Signal | Reason::Call => 1,
            // A program that ends leaves its memory to its last copy.
            Reason::Exit => 2,
        };
        let waits = waits(limits, reason);
        let start = sys::micros(Clock::Monotonic);
        loop {
            match self.budget.check(limits, &self.folder, beyond) {
                Err(Limit::Copies)
                    if waits && sys::micros(Clock::Monotonic) - start < LONGEST_WAIT =>
                {
                    process::nap(NAP);
                }
                result => return result,
            }
        }
    }

    /// Counts those that were skipped when nothing could be told.
    fn count_late(&mut self, setup: &Setup) {
        for _ in 0..LATE.swap(0, Ordering::Relaxed) {
            self.skip(setup, Limit::Busy);
        }
    }

    fn skip(&mut self, setup: &Setup, limit: Limit) -> Outcome {
        let count = match limit {
            Limit::Copies | Limit::Busy => &mut self.skipped.copies,
            Limit::Memory | Limit::NoMemory => &mut self.skipped.memory,
            Limit::Disk | Limit::NoDisk => &mut self.skipped.disk,
            Limit::Process | Limit::Adopted | Limit::Filtered | Limit::Kernel => {
                &mut self.skipped.process
            }
        };
        *count += 1;
        ledger::add(setup.ledger.as_deref(), &Line::Skipped(limit));
        Outcome::Skipped(limit)
    }

    fn take(&mut self, setup: &Setup, wanted: &Wanted<'_>, since: u64) -> Outcome {
        self.count_late(setup);
        if ADOPTED.load(Ordering::Relaxed) {
            return self.skip(setup, Limit::Adopted);
        }
        if proc::filters().is_some_and(|filters| filters > setup.settings.filters) {
            // The program has set it by an instruction of its own, where there is no keeper.
            confined::confine();
            return self.skip(setup, Limit::Filtered);
        }
        let limits = &setup.settings.limits;
        if let Err(limit) = self.afford(limits, wanted.reason) {
            return self.skip(setup, limit);
        }
        let trace = (setup.recording.write_all)();
        let number = self.number + 1;
        let heap = [&self.prefix[..], format!(".{number}.heap").as_bytes()].concat();
        let Ok(file) = CString::new(&heap[..]) else { return Outcome::Off };
        let now = sys::nanos(Clock::Monotonic);
        let facts = Facts {
            program: self.process.0,
            copy: 0,
            number,
            key: self.key + number,
            reason: wanted.reason,
            strings: setup.settings.strings,
            time: sys::micros(Clock::Realtime),
            elapsed: now.saturating_sub(setup.start) / 1000,
            pause: 0,
            skipped: self.skipped,
            disk_limit: self.budget.disk_left(limits),
            thread_pointer: sys::thread_pointer() as u64,
            name: wanted.name,
            heap: &heap,
            trace: trace.as_deref(),
            ledger: setup.settings.ledger.as_deref(),
            directory: setup.directory.as_deref(),
        };
        let notes = notes::of(number);
        if let Some(notes) = notes {
            notes.pause.store(0, Ordering::Relaxed);
            notes.begun.store(0, Ordering::Relaxed);
        }
        let order = Order { setup, facts, domains: wanted.domains, notes };
        // SAFETY: `copy::live` keeps to what may be used.
        match unsafe { process::clone_quietly() } {
            Ok(Some(copy)) => {
                self.number = number;
                if let Some(notes) = notes {
                    notes.copy.store(copy.0, Ordering::Relaxed);
                }
                self.budget.spent(copy, file);
                // In microseconds, and never 0; so long that it overflows is not a pause.
                let length = (sys::nanos(Clock::Monotonic).saturating_sub(since)) / 1000;
                if let Some(notes) = notes {
                    let length = u32::try_from(length).unwrap_or(u32::MAX).max(1);
                    process::store_and_wake(&notes.pause, length);
                }
                LAST.store(number, Ordering::Relaxed);
                Outcome::Taken
            }
            Ok(None) => copy::live(order),
            Err(_) => self.skip(setup, Limit::Process),
        }
    }
}

/// Whether the program waits for what a snapshot needs, instead of going on without it: if somebody waits for it, too.
fn waits(limits: &Limits, reason: Reason) -> bool {
    let is_asked_for = match reason {
        Reason::Major | Reason::Every | Reason::Peak => false,
        Reason::Signal | Reason::Call | Reason::Exit => true,
    };
    limits.busy.map_or(is_asked_for, |busy| busy == Busy::Wait)
}

/// What is wanted of a snapshot.
pub struct Wanted<'a> {
    pub reason: Reason,
    pub name: Option<&'a [u8]>,
    /// States of all domains, this one's first.
    pub domains: &'a [*const usize],
}

/// What became of it.
#[derive(Clone, Copy)]
pub enum Outcome {
    /// The copy is made.
    Taken,
    Skipped(Limit),
    /// None are taken here.
    Off,
}

/// Takes a snapshot. `since` is when it was decided, in nanoseconds on the monotonic clock.
///
/// # Safety
/// The program is at a safe point, and no OCaml code runs anywhere in it until this returns.
pub unsafe fn take(wanted: &Wanted<'_>, since: u64) -> Outcome {
    let mut outcome = Outcome::Off;
    let Some(setup) = setup() else { return outcome };
    if OFF.load(Ordering::Relaxed) || SERIES.is_mine() {
        return outcome;
    }
    let patience = match waits(&setup.settings.limits, wanted.reason) {
        true => u64::MAX,
        false => LONGEST_ANSWER,
    };
    if filters::ask_within(patience) == Answer::Late {
        LATE.fetch_add(1, Ordering::Relaxed);
        return Outcome::Skipped(Limit::Busy);
    }
    if confined::is_confined() || !is_ours() {
        return outcome;
    }
    let signals = process::set_blocked_signals(!0);
    SERIES.take();
    // SAFETY: we hold the lock, for the series as for the stack.
    let done = unsafe {
        stacks::run_on(Stack::Snapshot, || {
            if let Some(series) = SERIES.inside() {
                outcome = series.take(setup, wanted, since);
            }
        })
    };
    if !done {
        OFF.store(true, Ordering::Relaxed);
    }
    // SAFETY: we hold the lock.
    unsafe { SERIES.release() };
    process::set_blocked_signals(signals);
    outcome
}

/// A fork is about to happen: nobody may be in the middle of something.
pub fn before_fork() {
    if setup().is_some() && !SERIES.is_mine() {
        SERIES.take();
        let is_adopted = ADOPTED.load(Ordering::Relaxed)
            || !confined::is_confined() && process::adopts_orphans();
        CHILD_ADOPTED.store(is_adopted, Ordering::Relaxed);
    }
}

/// After the fork, in the parent.
pub fn in_parent_after_fork() {
    if setup().is_some() {
        // SAFETY: taken before the fork.
        unsafe { SERIES.release() };
    }
}

/// After the fork, in the child.
pub fn after_fork(follows: bool) {
    let Some(setup) = setup() else { return };
    // SAFETY: taken before the fork by the thread that is now the only one.
    unsafe {
        if !follows {
            OFF.store(true, Ordering::Relaxed);
        } else {
            ADOPTED.store(CHILD_ADOPTED.load(Ordering::Relaxed), Ordering::Relaxed);
            begin();
            stacks::run_on(Stack::Snapshot, || {
                *SERIES.inside() = Series::new(setup, true);
            });
        }
        SERIES.release();
    }
    super::blocked::after_fork();
}
