//! The page that an observer watches the program by: pauses that we measure, and a switch for sampling.
//!
//! The runtime calls hooks around each minor collection and each slice of a major one, in OCaml 5 on each domain. Ours note the
//! time, and call those that were there before. A slice may hold a minor collection, which is then part of it and no pause of its own;
//! and what follows at once is the same pause: domains of OCaml 5 that wait for each other work off many small slices meanwhile. So a
//! pause is told when the next one begins.
//!
//! Not measured is what no hook is called for: the rest of a cycle that the program itself asks for (`Gc.full_major`), and how long
//! domains wait for each other.
//!
//! OCaml 5 has runtime_events for this, which tell more; there hooks are set only in a program that was started without.

use alloc::ffi::CString;
use core::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering, fence};

use bactrian_agent_abi::control::{Hook, PAUSE_HOOKS};
use bactrian_agent_abi::page::{
    BYTES, LONG, LONG_KEPT, LONG_WORDS, MAGIC, Pause, VERSION, WORDS, bucket_of, word,
};
use bactrian_agent_os::sys::{self, Clock};
use bactrian_agent_os::{birthmark, loaded};

use super::samplers::Here;
use crate::runtime::agent::Agent;
use crate::runtime::program::DOMAINS;

type Words = [AtomicU64; WORDS];

/// The page; null if there is none, or it is that of another process.
static PAGE: AtomicPtr<Words> = AtomicPtr::new(core::ptr::null_mut());

/// What is measured, by domain.
static MEASURED: [Measured; DOMAINS] = [const { Measured::none() }; DOMAINS];

/// What is measured of a domain: only the thread that collects for it writes this.
struct Measured {
    /// When what goes on now began, by kind; 0 if it does not.
    began: [AtomicU64; 2],
    /// The last pause, which is not told yet: its kind, when it began and when it ended; 0 if there is none.
    last: [AtomicU64; 3],
}

impl Measured {
    const fn none() -> Measured {
        Measured { began: [const { AtomicU64::new(0) }; 2], last: [const { AtomicU64::new(0) }; 3] }
    }

    /// The last pause, which is then to be told.
    fn take_last(&self) -> Option<Stood> {
        let [kind, began, ended] = self.last.each_ref().map(|word| word.load(Ordering::Relaxed));
        self.last[2].store(0, Ordering::Relaxed);
        (ended != 0).then_some(Stood { pause: Pause::from_number(kind)?, began, ended })
    }

    fn forget(&self) {
        for word in self.began.iter().chain(&self.last) {
            word.store(0, Ordering::Relaxed);
        }
    }

    fn put_last(&self, stood: &Stood) {
        let words = [stood.pause as u64, stood.began, stood.ended];
        for (word, value) in self.last.iter().zip(words) {
            word.store(value, Ordering::Relaxed);
        }
    }
}

/// That the program stood still: why and how long.
struct Stood {
    pause: Pause,
    began: u64,
    ended: u64,
}

/// In nanoseconds: too short a while for a program to do much between two pauses.
const AT_ONCE: u64 = 10_000;

/// Hooks that were there before ours.
static BEFORE: [AtomicUsize; PAUSE_HOOKS.len()] = [const { AtomicUsize::new(0) }; _];

/// Ours, in the order of [`PAUSE_HOOKS`].
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

/// Takes the page that the settings name, and sets hooks. The runtime is initialised, no OCaml code runs yet, and there is one
/// thread.
pub fn start(agent: &Agent) {
    let Some(words) = take(agent) else { return };
    if let Some(variables) = agent.program.pause_hooks {
        for (variable, hook) in variables.into_iter().zip(&HOOKS) {
            // SAFETY: variables of the runtime that hold a function or null, aligned, and there from start to end.
            let variable = unsafe { &*(variable as *const AtomicUsize) };
            hook.previous.store(variable.load(Ordering::Acquire), Ordering::Release);
            variable.store(hook.ours as usize, Ordering::Release);
        }
        words[word::MEASURES].store(1, Ordering::Relaxed);
    }
}

/// Takes the page that the settings name, in a program that runs already, where hooks are set from outside; or lets go of that of the
/// recording before. It stays mapped: another domain may look at it just now.
pub fn start_late(agent: &Agent) {
    let_go();
    if let Some(words) = take(agent) {
        words[word::MEASURES].store(1, Ordering::Relaxed);
    }
}

/// Takes the page that the settings name, if it is one and has no owner.
fn take(agent: &Agent) -> Option<&'static Words> {
    let path = CString::new(agent.settings.page.as_deref()?).ok()?;
    // Whoever observes us sees that there is nothing; the program is not to be bothered.
    let address = sys::map_shared(&path, BYTES).ok()?;
    let page = address.cast::<Words>();
    // SAFETY: so many bytes are mapped, and aligned to pages.
    let words = unsafe { &*page };
    let is_one = words[word::MAGIC].load(Ordering::Relaxed) == MAGIC
        && words[word::VERSION].load(Ordering::Relaxed) == VERSION;
    let owner = &words[word::OWNER];
    let us = u64::from(sys::process_id().0);
    if !is_one || owner.compare_exchange(0, us, Ordering::Relaxed, Ordering::Relaxed).is_err() {
        // SAFETY: nobody else knows of it.
        unsafe { sys::unmap(address, BYTES) };
        return None;
    }
    // Of the recording before.
    for measured in &MEASURED {
        measured.forget();
    }
    PAGE.store(page, Ordering::Release);
    Some(words)
}

/// Whether somebody watches: then what is sampled is written more often.
pub fn is_watched() -> bool {
    words().is_some()
}

/// Whether samples are wanted: always, where nobody watches.
#[inline]
pub fn is_sampling() -> bool {
    words().is_none_or(|words| words[word::SAMPLING].load(Ordering::Relaxed) != 0)
}

/// This process is a child of the one that the page is of.
pub fn let_go() {
    PAGE.store(core::ptr::null_mut(), Ordering::Release);
}

/// Calls the hook that was there before ours.
fn go_on(hook: &Hook) {
    if let previous @ 1.. = hook.previous.load(Ordering::Acquire) {
        // SAFETY: all these hooks have this type.
        let previous: extern "C" fn() = unsafe { loaded::function(previous) };
        previous();
    }
}

/// The number of this thread's domain, with what is measured of it.
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
        // No slice is within a minor collection: one that is still noted was left by a jump.
        Pause::Slice => minor.store(0, Ordering::Relaxed),
    }
    let now = sys::nanos(Clock::Monotonic);
    measured.began[pause as usize].store(now, Ordering::Relaxed);
    let last_end = measured.last[2].load(Ordering::Relaxed);
    if now.saturating_sub(last_end) > AT_ONCE
        && let Some(last) = measured.take_last()
    {
        tell(domain, &last);
    }
}

/// A pause ends, if it was noted that it began: of a minor collection within a slice it was not.
fn ends(pause: Pause) {
    let Some((_, measured)) = here() else { return };
    let began = measured.began[pause as usize].swap(0, Ordering::Relaxed);
    if began == 0 {
        return;
    }
    let first = measured.take_last();
    let (pause, began) = first.map_or((pause, began), |first| (first.pause, first.began));
    measured.put_last(&Stood { pause, began, ended: sys::nanos(Clock::Monotonic) });
}

/// Tells of a pause.
fn tell(domain: usize, stood: &Stood) {
    let Some(words) = words() else { return };
    // Not every way to become two processes is one that we are told of.
    if !birthmark::is_here() {
        return let_go();
    }
    let nanos = stood.ended.saturating_sub(stood.began);
    let add = |at: usize, more: u64| words[at].fetch_add(more, Ordering::Relaxed);
    // Zero is none.
    let shorter = |shortest: u64| (shortest == 0 || nanos < shortest).then_some(nanos.max(1));
    let _ = words[word::SHORTEST].fetch_update(Ordering::Relaxed, Ordering::Relaxed, shorter);
    words[word::LONGEST].fetch_max(nanos, Ordering::Relaxed);
    add(word::SUM, nanos);
    // Any number has a bucket.
    if let Some(count) = words.get(word::COUNTS + bucket_of(nanos)) {
        count.fetch_add(1, Ordering::Relaxed);
    }
    if nanos >= LONG {
        let place = add(word::LONG, 1) as usize % LONG_KEPT;
        if let Some([kind, rest @ ..]) = words.get(word::LONG_ONES + place * LONG_WORDS..) {
            // Until all of it stands there, it is of no kind.
            kind.store(u64::MAX, Ordering::Relaxed);
            fence(Ordering::Release);
            for (word, value) in rest.iter().zip([domain as u64, stood.began, nanos]) {
                word.store(value, Ordering::Relaxed);
            }
            kind.store(stood.pause as u64, Ordering::Release);
        }
    }
}
