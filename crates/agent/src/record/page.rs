//! The page that an observer watches the program by: pauses that we measure, and a switch for sampling.
//!
//! OCaml 4 calls hooks around each minor collection and each slice of a major one. Ours note the time, and call those
//! that were there before. There is one collector, so that there is one writer. A slice may hold a minor
//! collection, which is then part of it and no pause of its own.
//!
//! Not measured is what no hook is called for: the rest of a cycle that the program itself asks for (`Gc.full_major`).
//!
//! OCaml 5 has runtime_events for this, which tell more; there the page is only a switch.

use alloc::ffi::CString;
use core::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};

use bactrian_agent_abi::control::{Hook, PAUSE_HOOKS};
use bactrian_agent_abi::page::{
    BYTES, LONG, LONG_KEPT, LONG_WORDS, MAGIC, Pause, VERSION, WORDS, bucket_of, word,
};
use bactrian_agent_os::sys::{self, Clock};
use bactrian_agent_os::{birthmark, loaded};

use crate::runtime::agent::Agent;

type Words = [AtomicU64; WORDS];

/// The page; null if there is none, or it is that of another process.
static PAGE: AtomicPtr<Words> = AtomicPtr::new(core::ptr::null_mut());

/// When what is measured now began, by kind; 0 if nothing is.
static BEGAN: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];

/// Hooks that were there before ours, in the order of [`Program::pause_hooks`].
///
/// [`Program::pause_hooks`]: crate::runtime::program::Program::pause_hooks
static BEFORE: [AtomicUsize; 4] = [const { AtomicUsize::new(0) }; 4];

/// Those that whoever puts us into a program that runs already sets, in the order of [`PAUSE_HOOKS`]: a slice begins where the
/// runtime polls.
pub const HOOKS: [Hook; PAUSE_HOOKS.len()] = [
    Hook { ours: minor_begins, previous: &BEFORE[0] },
    Hook { ours: minor_ends, previous: &BEFORE[1] },
    Hook { ours: slice_ends, previous: &BEFORE[3] },
];

fn words() -> Option<&'static Words> {
    // SAFETY: null, or a page that stays mapped.
    unsafe { PAGE.load(Ordering::Acquire).as_ref() }
}

/// Takes the page that the settings name, and sets hooks. The runtime is initialised, no OCaml code runs yet, and there is one
/// thread.
pub fn start(agent: &Agent) {
    let Some(words) = take(agent) else { return };
    if let Some(hooks) = agent.program.pause_hooks {
        let ours: [extern "C" fn(); 4] = [minor_begins, minor_ends, slice_begins, slice_ends];
        for ((hook, before), ours) in hooks.into_iter().zip(&BEFORE).zip(ours) {
            // SAFETY: variables of the runtime that hold a function or null, aligned, and there from start to end.
            let hook = unsafe { &*(hook as *const AtomicUsize) };
            before.store(hook.load(Ordering::Acquire), Ordering::Release);
            hook.store(ours as usize, Ordering::Release);
        }
        words[word::MEASURES].store(1, Ordering::Relaxed);
    }
}

/// Takes the page that the settings name, in a program that runs already, where hooks are set from outside; or lets go of that of the
/// recording before. It stays mapped: another domain may look at it just now.
pub fn start_late(agent: &Agent) {
    let_go();
    if let Some(words) = take(agent)
        && agent.program.pause_hooks.is_some()
    {
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
fn go_on(which: usize) {
    if let hook @ 1.. = BEFORE[which].load(Ordering::Acquire) {
        // SAFETY: all these hooks have this type.
        let hook: extern "C" fn() = unsafe { loaded::function(hook) };
        hook();
    }
}

extern "C" fn minor_begins() {
    BEGAN[Pause::Minor as usize].store(sys::nanos(Clock::Monotonic), Ordering::Relaxed);
    go_on(0);
}

extern "C" fn minor_ends() {
    go_on(1);
    let began = BEGAN[Pause::Minor as usize].swap(0, Ordering::Relaxed);
    if BEGAN[Pause::Slice as usize].load(Ordering::Relaxed) == 0 {
        note(Pause::Minor, began);
    }
}

extern "C" fn slice_begins() {
    slice_has_begun();
    go_on(2);
}

/// A slice of a major collection begins, if that is what the runtime calls us for.
pub fn slice_has_begun() {
    if words().is_some_and(|words| words[word::MEASURES].load(Ordering::Relaxed) != 0) {
        // No slice is within a minor collection: one that is still noted was left by a jump.
        BEGAN[Pause::Minor as usize].store(0, Ordering::Relaxed);
        BEGAN[Pause::Slice as usize].store(sys::nanos(Clock::Monotonic), Ordering::Relaxed);
    }
}

extern "C" fn slice_ends() {
    go_on(3);
    note(Pause::Slice, BEGAN[Pause::Slice as usize].swap(0, Ordering::Relaxed));
}

/// Notes a pause that ends now.
fn note(pause: Pause, began: u64) {
    let Some(words) = words() else { return };
    // Not every way to become two processes is one that we are told of.
    if !birthmark::is_here() {
        return let_go();
    }
    let Some(nanos) = sys::nanos(Clock::Monotonic).checked_sub(began).filter(|_| began != 0) else {
        return;
    };
    let add = |at: usize, more: u64| words[at].fetch_add(more, Ordering::Relaxed);
    let is_first = words[word::SHORTEST].load(Ordering::Relaxed) == 0;
    if is_first || words[word::SHORTEST].load(Ordering::Relaxed) > nanos {
        words[word::SHORTEST].store(nanos.max(1), Ordering::Relaxed);
    }
    words[word::LONGEST].fetch_max(nanos, Ordering::Relaxed);
    add(word::SUM, nanos);
    // Any number has a bucket.
    if let Some(count) = words.get(word::COUNTS + bucket_of(nanos)) {
        count.fetch_add(1, Ordering::Relaxed);
    }
    if nanos >= LONG {
        let place = words[word::LONG].load(Ordering::Relaxed) as usize % LONG_KEPT;
        let entry = [began, nanos, pause as u64];
        let places = words.iter().skip(word::LONG_ONES + place * LONG_WORDS);
        for (place, value) in places.zip(entry) {
            place.store(value, Ordering::Relaxed);
        }
        words[word::LONG].fetch_add(1, Ordering::Release);
    }
}
