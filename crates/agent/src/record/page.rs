//! The page through which an observer watches the program: pauses that we measure, and a switch for sampling.
//!
//! The runtime calls hooks around each minor collection and each slice of a major one, in OCaml 5 on each
//! domain. Ours note the time, and call the previous hooks. A slice may contain a minor collection, which
//! then is part of it and not a pause of its own. What follows immediately belongs to the same pause: domains
//! of OCaml 5 that wait for each other work through many small slices meanwhile. So a pause is reported only
//! when the next one begins.
//!
//! We cannot measure what has no hooks: the rest of a cycle that the program itself asks for
//! (`Gc.full_major`), and the time that domains wait for each other.
//!
//! OCaml 5 has runtime_events for this, which say more. There, hooks are set only by a tracer, in a running program that
//! does not write these events.

use alloc::ffi::CString;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};
use core::time::Duration;

use bactrian_agent_abi::control::{Hook, PAUSE_HOOKS};
use bactrian_agent_abi::page::{
    BYTES, LONG, LONG_KEPT, LONG_WORDS, LONGEST_END, MAGIC, Pause, VERSION, WORDS, bucket_of, word,
};
use bactrian_agent_os::sys::{self, Clock};
use bactrian_agent_os::{birthmark, confined, loaded};

use super::samplers::Here;
use crate::keeper::filters::{self, Answer};
use crate::runtime::agent::Agent;
use crate::runtime::program::DOMAINS;

type Words = [AtomicU64; WORDS];

/// The page; null if there is none, or it belongs to another process.
static PAGE: AtomicPtr<Words> = AtomicPtr::new(core::ptr::null_mut());

/// Measurements in progress, by domain.
static MEASURED: [Measured; DOMAINS] = [const { Measured::none() }; DOMAINS];

/// The measurements of a domain. Only the thread that collects for it writes them.
struct Measured {
    /// When the current collection began, by kind; 0 if there is none.
    began: [AtomicU64; 2],
    /// The last pause, not reported yet: its kind, start and end; all 0 if there is none.
    last: [AtomicU64; 3],
}

impl Measured {
    const fn none() -> Measured {
        Measured { began: [const { AtomicU64::new(0) }; 2], last: [const { AtomicU64::new(0) }; 3] }
    }

    /// Removes the last pause, to be reported.
    fn take_last(&self) -> Option<PauseSpan> {
        let [kind, began, ended] = self.last.each_ref().map(|word| word.load(Ordering::Relaxed));
        self.last[2].store(0, Ordering::Relaxed);
        (ended != 0).then_some(PauseSpan { pause: Pause::from_number(kind)?, began, ended })
    }

    fn forget(&self) {
        for word in self.began.iter().chain(&self.last) {
            word.store(0, Ordering::Relaxed);
        }
    }

    fn put_last(&self, stood: &PauseSpan) {
        let words = [stood.pause as u64, stood.began, stood.ended];
        for (word, value) in self.last.iter().zip(words) {
            word.store(value, Ordering::Relaxed);
        }
    }
}

/// A pause of the program.
struct PauseSpan {
    pause: Pause,
    began: u64,
    ended: u64,
}

/// In nanoseconds: an interval too short for the program to do much between two pauses.
const MERGE_WITHIN: u64 = 10_000;

/// The previous values of the hooks.
static BEFORE: [AtomicUsize; PAUSE_HOOKS.len()] = [const { AtomicUsize::new(0) }; _];

/// Our hooks, in the order of [`PAUSE_HOOKS`].
pub const HOOKS: [Hook; PAUSE_HOOKS.len()] = [
    Hook { ours: minor_begins, previous: &BEFORE[0] },
    Hook { ours: minor_ends, previous: &BEFORE[1] },
    Hook { ours: slice_ends, previous: &BEFORE[2] },
    Hook { ours: slice_begins, previous: &BEFORE[3] },
];

fn words() -> Option<&'static Words> {
    // SAFETY: null, or a page that stays mapped.
    unsafe { PAGE.load(Ordering::Acquire).as_ref() }
}

/// Takes the page named by the settings, and sets the hooks. The runtime is initialised, no OCaml code runs
/// yet, and there is one thread.
pub fn start(agent: &Agent) {
    let Some(words) = take(agent) else { return };
    if let Some(variables) = agent.program.pause_hooks {
        for (variable, hook) in variables.into_iter().zip(&HOOKS) {
            // SAFETY: variables of the runtime that hold a function pointer or null, aligned, and valid for
            // the whole run.
            let variable = unsafe { &*(variable as *const AtomicUsize) };
            hook.previous.store(variable.load(Ordering::Acquire), Ordering::Release);
            variable.store(hook.ours as usize, Ordering::Release);
        }
        words[word::MEASURES].store(1, Ordering::Relaxed);
    }
}

/// Takes the page named by the settings in a program that is already running, where hooks are set from
/// outside; or lets go of the previous recording's page. That one stays mapped: another domain may be looking
/// at it.
pub fn start_late(agent: &Agent) {
    let_go();
    if let Some(words) = take(agent) {
        words[word::MEASURES].store(1, Ordering::Relaxed);
    }
}

/// Takes the page named by the settings, if it is valid and has no owner.
fn take(agent: &Agent) -> Option<&'static Words> {
    let path = CString::new(agent.settings.page.as_deref()?).ok()?;
    // The observer sees that nothing happens; the program must not be bothered.
    let address = sys::map_shared(&path, BYTES).ok()?;
    let page = address.cast::<Words>();
    // SAFETY: that many bytes are mapped, and aligned to pages.
    let words = unsafe { &*page };
    let is_one = words[word::MAGIC].load(Ordering::Relaxed) == MAGIC
        && words[word::VERSION].load(Ordering::Relaxed) == VERSION;
    let owner = &words[word::OWNER];
    let us = u64::from(sys::process_id().0);
    if !is_one || owner.compare_exchange(0, us, Ordering::Relaxed, Ordering::Relaxed).is_err() {
        // SAFETY: no other thread knows of it.
        unsafe { sys::unmap(address, BYTES) };
        return None;
    }
    // Left over from the previous recording.
    for measured in &MEASURED {
        measured.forget();
    }
    PAGE.store(page, Ordering::Release);
    Some(words)
}

/// Whether there is an observer: then samples are written more often.
pub fn is_watched() -> bool {
    words().is_some()
}

/// Whether samples are wanted; always if there is no observer.
#[inline]
pub fn is_sampling() -> bool {
    words().is_none_or(|words| words[word::SAMPLING].load(Ordering::Relaxed) != 0)
}

/// Lets go of the page, because this process is a child of its owner.
pub fn let_go() {
    PAGE.store(core::ptr::null_mut(), Ordering::Release);
}

/// Called when the program has done all its work and its memory still exists: an observer that has asked for it reads
/// the collector's final counters. Our own time is not part of the times that it gets.
///
/// This takes system calls, so the keeper is asked for filters first. In a program that has confined itself or has no
/// keeper we do not wait, and nowhere for ever: the observer may be gone.
pub fn at_end() {
    let Some(words) = words() else { return };
    let is_wanted = words[word::READS_AT_END].load(Ordering::Relaxed) != 0;
    let is_first = words[word::END].load(Ordering::Relaxed) == 0;
    if !is_wanted || !is_first || !birthmark::is_here() {
        return;
    }
    let ended = sys::nanos(Clock::Monotonic);
    let (answer, spun) = filters::ask_and_measure(u64::MAX);
    if answer != Answer::Given || confined::is_confined() {
        return;
    }
    // A child that shares our memory until it becomes another program may end, too.
    if words[word::OWNER].load(Ordering::Relaxed) != u64::from(sys::process_id().0) {
        return;
    }
    for (domain, measured) in MEASURED.iter().enumerate() {
        if let Some(last) = measured.take_last() {
            tell(domain, &last);
        }
    }
    let cpu = sys::nanos(Clock::ProcessCpu).saturating_sub(spun);
    words[word::END_CPU].store(cpu, Ordering::Relaxed);
    words[word::END].store(ended, Ordering::Release);
    let was_read = &words[word::END_WAS_READ];
    // SAFETY: the lower half of the word, which lives as long as the mapping, for atomic use.
    let low_half = unsafe { &*(was_read as *const AtomicU64).cast::<AtomicU32>() };
    for _ in 0..LONGEST_END {
        if was_read.load(Ordering::Acquire) != 0 {
            return;
        }
        sys::futex_wait_at_most(low_half, 0, Duration::from_millis(1));
    }
}

/// Calls the hook that was there before ours.
fn go_on(hook: &Hook) {
    if let previous @ 1.. = hook.previous.load(Ordering::Acquire) {
        // SAFETY: all these hooks have this type.
        let previous: extern "C" fn() = unsafe { loaded::function(previous) };
        previous();
    }
}

/// The number of this thread's domain, and its measurements.
fn here() -> Option<(usize, &'static Measured)> {
    let domain = Here::find()?.domain;
    Some((domain, MEASURED.get(domain)?))
}

extern "C" fn minor_begins() {
    begins(Pause::Minor);
    go_on(&HOOKS[0]);
}

extern "C" fn minor_ends() {
    go_on(&HOOKS[1]);
    ends(Pause::Minor);
}

extern "C" fn slice_ends() {
    go_on(&HOOKS[2]);
    ends(Pause::Slice);
}

extern "C" fn slice_begins() {
    begins(Pause::Slice);
    go_on(&HOOKS[3]);
}

/// A pause begins, if pauses are measured.
pub fn begins(pause: Pause) {
    if words().is_none_or(|words| words[word::MEASURES].load(Ordering::Relaxed) == 0) {
        return;
    }
    let Some((domain, measured)) = here() else { return };
    let [minor, slice] = &measured.began;
    match pause {
        Pause::Minor if slice.load(Ordering::Relaxed) != 0 => return,
        Pause::Minor => {}
        // A slice never runs within a minor collection: one that is still noted was left by a longjmp.
        Pause::Slice => minor.store(0, Ordering::Relaxed),
    }
    let now = sys::nanos(Clock::Monotonic);
    measured.began[pause as usize].store(now, Ordering::Relaxed);
    let last_end = measured.last[2].load(Ordering::Relaxed);
    if now.saturating_sub(last_end) > MERGE_WITHIN
        && let Some(last) = measured.take_last()
    {
        tell(domain, &last);
    }
}

/// A pause ends, if its beginning was noted; that of a minor collection within a slice was not.
fn ends(pause: Pause) {
    let Some((_, measured)) = here() else { return };
    let began = measured.began[pause as usize].swap(0, Ordering::Relaxed);
    if began == 0 {
        return;
    }
    let first = measured.take_last();
    let (pause, began) = first.map_or((pause, began), |first| (first.pause, first.began));
    measured.put_last(&PauseSpan { pause, began, ended: sys::nanos(Clock::Monotonic) });
}

/// Reports a pause.
fn tell(domain: usize, stood: &PauseSpan) {
    let Some(words) = words() else { return };
    // There are ways to fork that bypass our handlers.
    if !birthmark::is_here() {
        return let_go();
    }
    let nanos = stood.ended.saturating_sub(stood.began);
    let add = |at: usize, more: u64| words[at].fetch_add(more, Ordering::Relaxed);
    // 0 stands for none.
    let shorter = |shortest: u64| (shortest == 0 || nanos < shortest).then_some(nanos.max(1));
    let _ = words[word::SHORTEST].fetch_update(Ordering::Relaxed, Ordering::Relaxed, shorter);
    words[word::LONGEST].fetch_max(nanos, Ordering::Relaxed);
    add(word::SUM, nanos);
    // Every number has a bucket.
    if let Some(count) = words.get(word::COUNTS + bucket_of(nanos)) {
        count.fetch_add(1, Ordering::Relaxed);
    }
    if nanos >= LONG {
        let place = add(word::LONG, 1) as usize % LONG_KEPT;
        if let Some([kind, rest @ ..]) = words.get(word::LONG_ONES + place * LONG_WORDS..) {
            // Until the entry is complete, its kind is invalid.
            kind.store(u64::MAX, Ordering::Relaxed);
            fence(Ordering::Release);
            for (word, value) in rest.iter().zip([domain as u64, stood.began, nanos]) {
                word.store(value, Ordering::Relaxed);
            }
            kind.store(stood.pause as u64, Ordering::Release);
        }
    }
}
