//! When snapshots are taken.
//!
//! The collector calls us at its own pace: neither a thread nor a timer is needed. Our hooks call the
//! previous ones afterwards.

use core::ffi::{CStr, c_char, c_int};
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};

use bactrian_agent_abi::frozen::Reason;
use bactrian_agent_abi::ledger::Limit;
use bactrian_agent_os::confined;
use bactrian_agent_os::loaded;
use bactrian_agent_os::patch::{self, Patch};
use bactrian_agent_os::sys::{self, Clock};

use super::freeze::{self, Outcome, SnapshotRequest};
use super::{Setup, blocked, setup, still};
use crate::keeper::filters;
use crate::runtime::blocking;
use crate::runtime::collector::{Domains, Hook, Many};

/// Reasons for which a snapshot is due, as bits.
static DUE: AtomicU32 = AtomicU32::new(0);
/// The number of major collections that have been seen.
static COLLECTIONS: AtomicUsize = AtomicUsize::new(0);
/// The collector's own cycle count when it was last read.
static LAST_CYCLE: AtomicUsize = AtomicUsize::new(0);
/// Words in use at the last peak.
static PEAK: AtomicUsize = AtomicUsize::new(0);
/// When the next snapshot is due, in nanoseconds on the monotonic clock.
static NEXT: AtomicU64 = AtomicU64::new(u64::MAX);
/// Whether the program has exited.
static ENDED: AtomicBool = AtomicBool::new(false);

/// The previous values of the hooks.
static BEFORE_MAJOR: AtomicUsize = AtomicUsize::new(0);
static BEFORE_MINOR: AtomicUsize = AtomicUsize::new(0);
static BEFORE_SLICE: AtomicUsize = AtomicUsize::new(0);
static BEFORE_INTERRUPTED: AtomicUsize = AtomicUsize::new(0);
/// The runtime's own hook, which does nothing.
static NOT_INTERRUPTED: AtomicUsize = AtomicUsize::new(0);

static THREAD_INITIALIZE: Patch = Patch::new();

/// States of the domains seen so far; those of OCaml 5 stay valid when their domains end.
static STATES: [AtomicUsize; 128] = [const { AtomicUsize::new(0) }; 128];

fn bit(reason: Reason) -> u32 {
    1 << reason as u32
}

fn now() -> u64 {
    sys::nanos(Clock::Monotonic)
}

/// Installs the hooks that the settings need.
pub fn install() {
    let Some(setup) = setup() else { return };
    let when = &setup.settings.when;
    if let Some(micros) = when.every {
        NEXT.store(now() + micros * 1000, Ordering::Relaxed);
    }
    match &setup.collector.domains {
        Domains::One(one) => {
            if when.major.is_some() {
                put(one.major, &BEFORE_MAJOR, after_marking_4);
            }
            if when.every.is_some() || when.signal.is_some() || when.peak.is_some() {
                put(setup.collector.minor_end, &BEFORE_MINOR, after_minor_4);
            }
        }
        Domains::Many(many) => {
            NOT_INTERRUPTED.store(many.interrupted.load(Ordering::Relaxed), Ordering::Relaxed);
            meet(setup.agent.program.state());
            if when.major.is_some() || when.peak.is_some() {
                put(many.slice_end, &BEFORE_SLICE, after_slice_5);
            }
            if when.every.is_some() || when.signal.is_some() {
                put(setup.collector.minor_end, &BEFORE_MINOR, after_minor_5);
            }
        }
    }
    if (when.signal.is_some() || when.every.is_some())
        && let Some(function) = setup.collector.thread_initialize
    {
        let ours = when_threads_start as *const () as usize;
        // SAFETY: a function of that type, which no thread is in. If code cannot be changed here, our hooks
        // are reinstalled at the next collection.
        unsafe { THREAD_INITIALIZE.put_up(function, ours) };
    }
    if let Some(signal) = when.signal {
        blocked::keep_table();
        // If the kernel refuses, the signal can never arrive.
        let _ = sys::handle_signal(signal, on_signal);
    }
    stay(setup);
}

/// Puts our hook before the current one.
fn put(hook: Hook, before: &AtomicUsize, ours: extern "C" fn()) {
    let current = hook.load(Ordering::Acquire);
    if current != ours as usize {
        before.store(current, Ordering::Release);
        hook.store(ours as usize, Ordering::Release);
    }
}

/// Calls the previous hook.
fn go_on(before: &AtomicUsize) {
    if let hook @ 1.. = before.load(Ordering::Acquire) {
        // SAFETY: all these hooks have this type.
        let hook: extern "C" fn() = unsafe { loaded::function(hook) };
        hook();
    }
}

/// Reinstalls our hooks: OCaml's thread library replaces them when it starts.
fn stay(setup: &Setup) {
    blocking::stay(&setup.agent.program);
    blocked::stay(setup.collector);
    if setup.settings.when.signal.is_some()
        && let Domains::Many(many) = &setup.collector.domains
    {
        // The runtime calls it whenever a thread has run for a while, which is how we notice that thread.
        put(many.interrupted, &BEFORE_INTERRUPTED, when_interrupted_5);
    }
}

/// The program is about to forbid us system calls, and there will be no snapshots. The patch would stay, and nobody
/// could call the function behind it.
pub fn before_filter() {
    lift();
}

/// Returns whether calls get through.
fn lift() -> bool {
    patch::begin().is_some_and(|changing| THREAD_INITIALIZE.lift(&changing))
}

/// Interposed before `caml_thread_initialize`, once.
extern "C" fn when_threads_start(unit: usize) -> usize {
    filters::ask();
    if !lift() {
        // The call would lead back to here.
        return unit;
    }
    let Some(setup) = setup() else { return unit };
    let Some(function) = setup.collector.thread_initialize else { return unit };
    // SAFETY: its type.
    let initialize: extern "C" fn(usize) -> usize = unsafe { loaded::function(function) };
    let result = initialize(unit);
    stay(setup);
    result
}

/// Remembers the state of a domain.
fn meet(state: *const usize) {
    for place in &STATES {
        match place.compare_exchange(0, state as usize, Ordering::Relaxed, Ordering::Relaxed) {
            Err(other) if other != state as usize => {}
            _ => return,
        }
    }
}

/// Whether a periodic snapshot is due.
fn is_time(setup: &Setup) -> bool {
    let Some(micros) = setup.settings.when.every else { return false };
    let (now, next) = (now(), NEXT.load(Ordering::Relaxed));
    // Only the thread that sets the next time takes the snapshot.
    now >= next
        && NEXT
            .compare_exchange(next, now + micros * 1000, Ordering::Relaxed, Ordering::Relaxed)
            .is_ok()
}

/// Whether this many words are a new peak.
fn is_peak(setup: &Setup, words: usize) -> bool {
    let Some(percent) = setup.settings.when.peak else { return false };
    let last = PEAK.load(Ordering::Relaxed);
    let is_new = words as u128 * 100 > last as u128 * (100 + u128::from(percent));
    if is_new {
        PEAK.store(words, Ordering::Relaxed);
    }
    is_new
}

/// Whether a major collection that has ended is one of those that are wanted.
fn is_wanted_collection(setup: &Setup) -> bool {
    let Some(every) = setup.settings.when.major else { return false };
    let count = COLLECTIONS.fetch_add(1, Ordering::Relaxed) + 1;
    count.is_multiple_of(every as usize)
}

/// Whether the collector has completed another cycle.
fn is_new_cycle(cycles: usize) -> bool {
    LAST_CYCLE.swap(cycles, Ordering::Relaxed) != cycles
}

/// OCaml 4: takes a snapshot immediately.
///
/// # Safety
/// The program is at a safe point.
unsafe fn take_4(setup: &Setup, reason: Reason, name: Option<&[u8]>, since: u64) -> Outcome {
    let domains = [setup.agent.program.state()];
    // SAFETY: by the caller.
    unsafe { freeze::take(&SnapshotRequest { reason, name, domains: &domains }, since) }
}

extern "C" fn after_marking_4() {
    let since = now();
    if let Some(setup) = setup() {
        stay(setup);
        if is_wanted_collection(setup) {
            // SAFETY: the collector is between two phases.
            unsafe { take_4(setup, Reason::Major, None, since) };
        }
    }
    go_on(&BEFORE_MAJOR);
}

extern "C" fn after_minor_4() {
    let since = now();
    if let Some(setup) = setup() {
        stay(setup);
        let is_asked = DUE.swap(0, Ordering::Relaxed) & bit(Reason::Signal) != 0;
        if let Some(reason) = if is_asked { Some(Reason::Signal) } else { reason_4(setup) } {
            // SAFETY: the collector has emptied the minor heap and does nothing else.
            unsafe { take_4(setup, reason, None, since) };
        }
    }
    go_on(&BEFORE_MINOR);
}

fn reason_4(setup: &Setup) -> Option<Reason> {
    if is_time(setup) {
        return Some(Reason::Every);
    }
    let Domains::One(one) = &setup.collector.domains else { return None };
    let state = setup.agent.program.state();
    // SAFETY: the domain state.
    let (cycles, words) = unsafe { (one.cycles(state), one.used_words(state)) };
    (setup.settings.when.peak.is_some() && is_new_cycle(cycles) && is_peak(setup, words))
        .then_some(Reason::Peak)
}

extern "C" fn after_slice_5() {
    if let Some(setup) = setup()
        && let Domains::Many(many) = &setup.collector.domains
    {
        // SAFETY: a variable of the runtime.
        if is_new_cycle(unsafe { *many.cycles }) {
            if is_wanted_collection(setup) {
                DUE.fetch_or(bit(Reason::Major), Ordering::Relaxed);
            }
            if setup.settings.when.peak.is_some() {
                DUE.fetch_or(bit(Reason::Peak), Ordering::Relaxed);
            }
        }
        ask_if_due(setup, many);
    }
    go_on(&BEFORE_SLICE);
}

extern "C" fn after_minor_5() {
    if let Some(setup) = setup()
        && let Domains::Many(many) = &setup.collector.domains
    {
        if is_time(setup) {
            DUE.fetch_or(bit(Reason::Every), Ordering::Relaxed);
        }
        ask_if_due(setup, many);
    }
    go_on(&BEFORE_MINOR);
}

/// Asks this thread's domain to come to a safe point, if a snapshot is due.
fn ask_if_due(setup: &Setup, many: &Many) {
    let state = setup.agent.program.state();
    if state.is_null() {
        return;
    }
    meet(state);
    if DUE.load(Ordering::Relaxed) != 0 {
        put(many.interrupted, &BEFORE_INTERRUPTED, when_interrupted_5);
        // SAFETY: words of the domain state, which the runtime changes in the same way.
        unsafe {
            word(state, many.interrupt).store(1, Ordering::SeqCst);
            word(state, many.young_limit).store(usize::MAX, Ordering::SeqCst);
        }
    }
}

/// # Safety
/// `state` is a domain state that has this word, which is accessed atomically.
unsafe fn word(state: *const usize, at: usize) -> &'static AtomicUsize {
    // SAFETY: by the caller.
    unsafe { &*state.add(at).cast::<AtomicUsize>() }
}

/// A domain has come to a safe point.
extern "C" fn when_interrupted_5() {
    if let Some(setup) = setup()
        && let Domains::Many(many) = &setup.collector.domains
    {
        stay(setup);
        take_what_is_due_5(setup, many);
        if BEFORE_INTERRUPTED.load(Ordering::Relaxed) == NOT_INTERRUPTED.load(Ordering::Relaxed) {
            // SAFETY: this thread runs a domain, and this is its state.
            unsafe { word(setup.agent.program.state(), many.interrupt).store(0, Ordering::SeqCst) };
        }
    }
    go_on(&BEFORE_INTERRUPTED);
}

fn take_what_is_due_5(setup: &Setup, many: &Many) {
    if DUE.load(Ordering::Relaxed) == 0 {
        return;
    }
    let since = now();
    // SAFETY: this thread runs a domain and is at a safe point.
    unsafe {
        still::with_all_still(many, |domains| {
            // Another domain may have been faster.
            let due = DUE.swap(0, Ordering::Relaxed);
            let is_due = |reason| due & bit(reason) != 0;
            // A peak is noted even if there is another reason.
            let peak = is_due(Reason::Peak) && is_peak(setup, many.used_words(domains));
            let reason =
                [Reason::Signal, Reason::Major, Reason::Every].into_iter().find(|r| is_due(*r));
            if let Some(reason) = reason.or(peak.then_some(Reason::Peak)) {
                freeze::take(&SnapshotRequest { reason, name: None, domains }, since);
            }
        });
    }
}

/// The program is about to block; it is at a safe point.
pub fn before_waiting() {
    let Some(setup) = setup() else { return };
    let since = now();
    match &setup.collector.domains {
        Domains::One(_) => {
            let is_asked = DUE.swap(0, Ordering::Relaxed) & bit(Reason::Signal) != 0;
            if is_asked || is_time(setup) {
                let reason = if is_asked { Reason::Signal } else { Reason::Every };
                // SAFETY: OCaml is being left.
                unsafe { take_4(setup, reason, None, since) };
            }
        }
        Domains::Many(many) => {
            if is_time(setup) {
                DUE.fetch_or(bit(Reason::Every), Ordering::Relaxed);
            }
            if !setup.agent.program.state().is_null() {
                take_what_is_due_5(setup, many);
            }
        }
    }
}

/// The handler of the signal that asks for a snapshot.
extern "C" fn on_signal(_signal: c_int) {
    let Some(setup) = setup() else { return };
    let since = now();
    filters::ask();
    if confined::is_confined() {
        return;
    }
    let is_alone = match &setup.collector.domains {
        Domains::One(_) => true,
        Domains::Many(many) => many.running.load(Ordering::Relaxed) == 1,
    };
    // Not if the signal has interrupted our own work.
    if is_alone && !(setup.recording.is_at_work)() && !freeze::is_at_work() {
        let taken = blocked::if_nobody_runs(|| {
            let state = match &setup.collector.domains {
                Domains::One(_) => setup.agent.program.state(),
                Domains::Many(_) => STATES[0].load(Ordering::Relaxed) as *const usize,
            };
            let wanted = SnapshotRequest { reason: Reason::Signal, name: None, domains: &[state] };
            // SAFETY: all threads are in blocking sections, and stay there.
            unsafe { freeze::take(&wanted, since) };
        });
        if taken {
            return;
        }
    }
    DUE.fetch_or(bit(Reason::Signal), Ordering::SeqCst);
    match &setup.collector.domains {
        Domains::One(one) => (one.request)(),
        Domains::Many(many) => {
            put(many.interrupted, &BEFORE_INTERRUPTED, when_interrupted_5);
            for state in STATES.iter().map(|state| state.load(Ordering::Relaxed)) {
                if state != 0 {
                    // SAFETY: a domain state, which stays, and words of it that the runtime changes in the same way.
                    unsafe {
                        word(state as *const usize, many.interrupt).store(1, Ordering::SeqCst);
                        if many.interrupt_all.is_none() {
                            word(state as *const usize, many.young_limit)
                                .store(usize::MAX, Ordering::SeqCst);
                        }
                    };
                }
            }
            if let Some(interrupt_all) = many.interrupt_all {
                interrupt_all();
            }
        }
    }
}

/// The program asks for a snapshot, from OCaml code. Returns an empty string if it was taken, the reason if
/// it was skipped, and null if snapshots are off.
///
/// # Safety
/// The name is null or ends with NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bactrian_take_snapshot(name: *const c_char) -> *const c_char {
    // SAFETY: by the caller.
    match unsafe { take_called(name) } {
        Outcome::Off => core::ptr::null(),
        Outcome::Taken => c"".as_ptr(),
        Outcome::Skipped(limit) => words(limit).as_ptr(),
    }
}

/// Why a snapshot was skipped, for the program.
fn words(limit: Limit) -> &'static CStr {
    match limit {
        Limit::Copies => c"too many copies of the program are still being read",
        Limit::Busy => c"the machine is too busy to find out whether the program may be copied",
        Limit::Memory => c"another copy of the program would exceed the memory that is allowed",
        Limit::NoMemory => c"there is not enough memory for another copy of the program",
        Limit::Disk => c"the files of snapshots are as large as is allowed",
        Limit::NoDisk => c"there is no room on the disk",
        Limit::Process => c"the system allows no further process",
        Limit::Adopted => c"the program adopts orphans (it is a subreaper), and would find the copy among its children",
        Limit::Filtered => {
            c"system calls are filtered (seccomp), and to copy the program might kill it"
        }
        Limit::Kernel => {
            c"the kernel is older than Linux 5.9, or a seccomp filter refuses close_range"
        }
    }
}

/// # Safety
/// The name is null or ends with NUL.
unsafe fn take_called(name: *const c_char) -> Outcome {
    let mut outcome = Outcome::Off;
    let Some(setup) = setup() else { return outcome };
    let since = now();
    // SAFETY: by the caller.
    let name = unsafe { sys::text(name) }.filter(|name| !name.is_empty());
    if setup.agent.program.state().is_null() {
        return outcome;
    }
    stay(setup);
    match &setup.collector.domains {
        // SAFETY: OCaml code has called C.
        Domains::One(_) => unsafe { outcome = take_4(setup, Reason::Call, name, since) },
        // SAFETY: as above.
        Domains::Many(many) => unsafe {
            still::with_all_still(many, |domains| {
                outcome =
                    freeze::take(&SnapshotRequest { reason: Reason::Call, name, domains }, since);
            });
        },
    }
    outcome
}

/// The program exits: normally, or `at_once` (by _exit), perhaps in a signal handler.
pub fn at_end(at_once: bool) {
    let Some(setup) = setup() else { return };
    filters::ask();
    if confined::is_confined() || !freeze::is_ours() {
        return;
    }
    if setup.settings.when.exit && !ENDED.swap(true, Ordering::Relaxed) {
        take_last(setup, at_once);
    }
    if setup.ledger.is_some() {
        freeze::tell_late(setup);
        freeze::let_copies_begin(setup);
    }
}

fn take_last(setup: &Setup, at_once: bool) {
    let state = setup.agent.program.state();
    if state.is_null() {
        return;
    }
    let since = now();
    match &setup.collector.domains {
        Domains::Many(many) if many.running.load(Ordering::Relaxed) > 1 => {
            if !at_once {
                // SAFETY: this thread runs a domain and has left OCaml for good.
                unsafe {
                    still::with_all_still(many, |domains| {
                        freeze::take(
                            &SnapshotRequest { reason: Reason::Exit, name: None, domains },
                            since,
                        );
                    });
                }
            }
        }
        _ => {
            // SAFETY: OCaml is left for good.
            unsafe { take_4(setup, Reason::Exit, None, since) };
        }
    }
}
