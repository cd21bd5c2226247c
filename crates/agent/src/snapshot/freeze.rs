//! Making a frozen copy, at a safe point.

use alloc::ffi::CString;
use alloc::format;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use bactrian_agent_abi::frozen::{Facts, Reason, Skipped};
use bactrian_agent_abi::ledger::{Limit, Line, SnapshotId};
use bactrian_agent_abi::{Busy, Limits};
use bactrian_agent_os::lock::Lock;
use bactrian_agent_os::stacks::{self, Stack};
use bactrian_agent_os::sys::{self, Clock, Pid};
use bactrian_agent_os::{birthmark, confined, proc, process};

use super::budget::Budget;
use super::copy::{self, Order};
use super::{Setup, ledger, notes, setup};
use crate::keeper::filters::{self, Answer};
use crate::keeper::ring::Ring;

/// The series of snapshots of this process.
struct Series {
    /// The prefix of file names.
    prefix: Vec<u8>,
    folder: CString,
    process: Pid,
    /// Added to snapshot numbers in the ledger, which several processes share.
    key: u64,
    number: u64,
    skipped: Skipped,
    budget: Budget,
}

static SERIES: Lock<Option<Series>> = Lock::new(None);
/// Set when no more snapshots are taken.
static OFF: AtomicBool = AtomicBool::new(false);
/// The process that takes these snapshots.
static OWNER: AtomicU32 = AtomicU32::new(0);
/// The number of its last snapshot, and what is added to it in the ledger.
static LAST: AtomicU64 = AtomicU64::new(0);
static KEY: AtomicU64 = AtomicU64::new(0);

/// Snapshots that were skipped because the keeper had no time to check for filters, and that are not in the
/// ledger yet.
static LATE: AtomicU32 = AtomicU32::new(0);
/// How long to wait for the keeper if the snapshot may be skipped, in microseconds.
const LONGEST_ANSWER: u64 = 100_000;

/// How long a program waits until another copy may be made, in microseconds.
const LONGEST_WAIT: u64 = 10_000_000;
/// The polling interval of that wait, in milliseconds.
const NAP: i64 = 2;

/// A program that exits waits for its copies: the length of a step in milliseconds, and their number.
const STEP: i64 = 100;
const MOST_STEPS: usize = 100;

/// Whether the program would adopt copies that outlive this process, and notice them: then none may be made.
static ADOPTED: AtomicBool = AtomicBool::new(false);
/// The same for a child that is being forked.
static CHILD_ADOPTED: AtomicBool = AtomicBool::new(false);

/// Prepares for snapshots, while there is one thread.
pub fn prepare(setup: &Setup) -> Result<(), &'static str> {
    ADOPTED.store(setup.agent.is_ward, Ordering::Relaxed);
    let series = Series::new(setup, setup.agent.is_heir).ok_or("a path with a NUL in it")?;
    begin();
    if let Some(mut held) = SERIES.take() {
        *held.inside() = Some(series);
    }
    Ok(())
}

/// Resets what belongs to one process, which has no copies yet.
fn begin() {
    notes::share();
    LAST.store(0, Ordering::Relaxed);
    OWNER.store(sys::process_id().0, Ordering::Relaxed);
}

/// Whether this process takes these snapshots: a child made by vfork shares our memory.
pub fn is_ours() -> bool {
    sys::process_id().0 == OWNER.load(Ordering::Relaxed)
}

/// At exit: records snapshots that were skipped when the ledger could not be written.
pub fn tell_late(setup: &Setup) {
    for _ in 0..LATE.swap(0, Ordering::Relaxed) {
        ledger::add(setup.ledger.as_deref(), &Line::Skipped(Limit::Busy));
    }
}

/// At exit: waits until each copy at work has its first line in the ledger, which the launcher reads after the exit.
pub fn let_copies_begin(setup: &Setup) {
    let last = LAST.load(Ordering::Relaxed);
    let most = u64::from(setup.settings.limits.copies) + beyond(Reason::Exit) as u64;
    for number in last.saturating_sub(most) + 1..=last {
        let Some(notes) = notes::of(number) else { return };
        // On a busy machine a copy may take a while to get there.
        for _ in 0..MOST_STEPS {
            if notes.begun.load(Ordering::Acquire) == 1 {
                break;
            }
            if process::end_of_copy(Pid(notes.copy.load(Ordering::Relaxed))).is_some() {
                tell_if_unheard(setup, KEY.load(Ordering::Relaxed), number);
                break;
            }
            process::wait_while(&notes.begun, 0, STEP);
        }
    }
}

/// Records that a snapshot failed if its copy, which has ended, was killed before it could record anything.
fn tell_if_unheard(setup: &Setup, key: u64, number: u64) {
    let Some(notes) = notes::of(number) else { return };
    if notes.begun.swap(1, Ordering::AcqRel) == 0 {
        let id = SnapshotId { number: key + number, copy: notes.copy.load(Ordering::Relaxed) };
        ledger::failed(
            setup.ledger.as_deref(),
            id,
            format_args!("its copy was killed, or had no memory"),
        );
    }
}

/// How many copies more than the limit may exist.
fn beyond(reason: Reason) -> usize {
    match reason {
        Reason::Major | Reason::Every | Reason::Peak => 0,
        Reason::Signal | Reason::Call => 1,
        // A program that exits leaves its memory to its last copy.
        Reason::Exit => 2,
    }
}

impl Series {
    fn new(setup: &Setup, is_child: bool) -> Option<Series> {
        let id = sys::process_id();
        let mut prefix = setup.settings.heap.clone();
        let slash = prefix.iter().rposition(|byte| *byte == b'/').unwrap_or(0);
        let folder = CString::new(&prefix[..=slash.min(prefix.len().checked_sub(1)?)]).ok()?;
        let first = CString::new([&prefix[..], b".1.heap"].concat()).ok()?;
        // Programs started by a shell do not know of each other.
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

    /// Checks whether another copy is affordable, possibly after waiting for others to end.
    fn afford(&mut self, setup: &Setup, reason: Reason) -> Result<(), Limit> {
        let (limits, key) = (&setup.settings.limits, self.key);
        let waits = waits(limits, reason);
        let start = sys::micros(Clock::Monotonic);
        loop {
            self.budget.copies.settle(|number| tell_if_unheard(setup, key, number));
            match self.budget.check(limits, &self.folder, beyond(reason)) {
                Err(Limit::Copies)
                    if waits && sys::micros(Clock::Monotonic) - start < LONGEST_WAIT =>
                {
                    process::nap(NAP);
                }
                result => return result,
            }
        }
    }

    /// Counts snapshots that were skipped when the ledger could not be written.
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

    fn take(&mut self, setup: &Setup, wanted: &SnapshotRequest<'_>, since: u64) -> Outcome {
        self.count_late(setup);
        if ADOPTED.load(Ordering::Relaxed) {
            return self.skip(setup, Limit::Adopted);
        }
        if proc::filters().is_some_and(|filters| filters > setup.settings.filters) {
            // The program has set a filter by its own system call instruction, and there is no keeper.
            confined::confine();
            return self.skip(setup, Limit::Filtered);
        }
        if let Err(limit) = self.afford(setup, wanted.reason) {
            return self.skip(setup, limit);
        }
        let trace = (setup.recording.write_all)();
        let number = self.number + 1;
        let heap = [&self.prefix[..], format!(".{number}.heap").as_bytes()].concat();
        let Ok(file) = CString::new(&heap[..]) else { return Outcome::Off };
        let now = sys::nanos(Clock::Monotonic);
        let most_bytes = self.budget.disk_left(&setup.settings.limits);
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
            disk_limit: most_bytes,
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
        // SAFETY: `copy::live` uses only what it may.
        match unsafe { process::clone_quietly() } {
            Ok(Some(copy)) => {
                self.number = number;
                if let Some(notes) = notes {
                    notes.copy.store(copy.0, Ordering::Relaxed);
                }
                self.budget.copies.add(number, copy, file, most_bytes.unwrap_or(0));
                // In microseconds, and never 0, which means unknown; saturates at 71 minutes.
                let length = (sys::nanos(Clock::Monotonic).saturating_sub(since)) / 1000;
                if let Some(notes) = notes {
                    let length = u32::try_from(length).unwrap_or(u32::MAX).max(1);
                    process::store_and_wake(&notes.pause, length);
                }
                KEY.store(self.key, Ordering::Relaxed);
                LAST.store(number, Ordering::Relaxed);
                Outcome::Taken
            }
            Ok(None) => copy::live(order),
            Err(_) => self.skip(setup, Limit::Process),
        }
    }
}

/// Whether the program waits for what a snapshot needs, instead of skipping it: by default, if somebody waits
/// for the snapshot.
fn waits(limits: &Limits, reason: Reason) -> bool {
    let is_asked_for = match reason {
        Reason::Major | Reason::Every | Reason::Peak => false,
        Reason::Signal | Reason::Call | Reason::Exit => true,
    };
    limits.busy.map_or(is_asked_for, |busy| busy == Busy::Wait)
}

/// A snapshot that is wanted.
pub struct SnapshotRequest<'a> {
    pub reason: Reason,
    pub name: Option<&'a [u8]>,
    /// The states of all domains, this one's first.
    pub domains: &'a [*const usize],
}

/// The outcome of a snapshot.
#[derive(Clone, Copy)]
pub enum Outcome {
    /// The copy was made.
    Taken,
    Skipped(Limit),
    /// No snapshots are taken here.
    Off,
}

/// Takes a snapshot. `since` is when the pause began, in nanoseconds of the monotonic clock.
///
/// # Safety
/// The program is at a safe point, and none of its OCaml code runs until this returns.
pub unsafe fn take(wanted: &SnapshotRequest<'_>, since: u64) -> Outcome {
    let mut outcome = Outcome::Off;
    let Some(setup) = setup() else { return outcome };
    if OFF.load(Ordering::Relaxed) || birthmark::is_in_copy() || SERIES.is_mine() {
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
    if let Some(mut held) = SERIES.take() {
        let series = held.inside();
        // SAFETY: we hold the lock, which covers both the series and the stack.
        let done = unsafe {
            stacks::run_on(Stack::Snapshot, || {
                if let Some(series) = series {
                    outcome = series.take(setup, wanted, since);
                }
            })
        };
        if !done {
            OFF.store(true, Ordering::Relaxed);
        }
    }
    process::set_blocked_signals(signals);
    outcome
}

/// Whether this thread is taking a snapshot, or forking; if so, the caller is a signal handler that has
/// interrupted it.
pub fn is_at_work() -> bool {
    SERIES.is_mine()
}

/// Before a fork: no thread may be in the middle of a snapshot.
pub fn before_fork() {
    SERIES.hold_for_fork();
    if setup().is_some() {
        let is_adopted = ADOPTED.load(Ordering::Relaxed)
            || !confined::is_confined() && process::adopts_orphans();
        CHILD_ADOPTED.store(is_adopted, Ordering::Relaxed);
    }
}

/// After the fork, in the parent.
pub fn in_parent_after_fork() {
    SERIES.let_go_after_fork();
}

/// After the fork, in the child.
pub fn after_fork(follows: bool) {
    let is_between_snapshots = SERIES.let_go_after_fork();
    let Some(setup) = setup() else { return };
    if !follows || !is_between_snapshots || !start_new_series(setup) {
        OFF.store(true, Ordering::Relaxed);
    }
    super::blocked::after_fork();
}

/// Gives a forked child a series of its own; false if there is no memory for it.
fn start_new_series(setup: &Setup) -> bool {
    ADOPTED.store(CHILD_ADOPTED.load(Ordering::Relaxed), Ordering::Relaxed);
    begin();
    let Some(mut held) = SERIES.take() else { return false };
    let place = held.inside();
    // SAFETY: we hold the lock, which covers both the series and the stack.
    unsafe {
        stacks::run_on(Stack::Snapshot, || {
            *place = Series::new(setup, true);
            if !setup.agent.is_recorded() {
                Ring::take_for_questions(setup.agent.settings.keeper.as_deref());
            }
        })
    }
}
