//! Collecting the stacks of allocations in place of the runtime.
//!
//! The runtime's sampler uses one function to collect every stack, at the moment of the allocation. At high
//! rates we patch that function: it walks with `walk` or `interpreter_walk` and returns a callstack of a
//! single slot, which is a number. The sampler passes it to our callback, mostly at once, and there the
//! number stands for the stack. Other users of that function (Printexc, a sampler of the program's own) get
//! what they would get without us. The patch is never removed, since other domains may be in the function at
//! any moment.

use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use bactrian_agent_abi::StackSource;
use bactrian_agent_os::patch::Patch;
use bactrian_agent_os::sys;
use bactrian_ocaml::value::integer;

use super::recording::Stack;
use super::session::with_recording;
use crate::runtime::agent::{self, Agent};
use crate::runtime::interpreter_walk::{InterpreterWalker, each_return_address};
use crate::runtime::kept_walk::KeptWalk;
use crate::runtime::program::{Collection, DOMAINS, Frames, Program};
use crate::runtime::walk::{NativeWalker, each_frame};

/// From this rate on we collect stacks.
const HIGH_RATE: f64 = 1e-3;
/// The sampler's depth when we collect: it distinguishes the sampler's calls from others.
const OUR_DEPTH: usize = 0x3BAC_71A9;
/// The position of the domain in a stack's number: another domain may receive the callback.
const DOMAIN_SHIFT: u32 = 44;

static PATCH: Patch = Patch::new();
/// Whether callstacks are numbers.
static NUMBERS: AtomicBool = AtomicBool::new(false);
static COLLECTORS: [AtomicPtr<Collector>; DOMAINS] =
    [const { AtomicPtr::new(ptr::null_mut()) }; DOMAINS];

/// What a domain uses to collect its stacks. Used by that domain only.
struct Collector {
    walker: Walker,
    number: u64,
    /// Whether the stack with the last number has been asked for.
    is_used: bool,
}

/// What walks a stack.
enum Walker {
    Native(NativeWalker),
    Bytecode(InterpreterWalker),
}

impl Walker {
    /// None if there is no memory.
    fn new(frames: Frames, depth: usize) -> Option<Walker> {
        Some(match frames {
            Frames::Native(finder, layout) => {
                Walker::Native(NativeWalker::new(finder, layout, depth)?)
            }
            Frames::Bytecode(code, layout) => {
                Walker::Bytecode(InterpreterWalker::new(code, layout, depth)?)
            }
        })
    }

    /// # Safety
    /// `state` is the state of the domain that runs on this thread, which has called C from OCaml.
    unsafe fn walk(&mut self, state: *const usize, index: isize, program: &Program) {
        // SAFETY: by the caller.
        unsafe {
            match self {
                Walker::Native(walker) => walker.walk(state, usize::try_from(index).ok()),
                Walker::Bytecode(walker) => walker.walk(state, program),
            }
        }
    }

    fn last(&mut self) -> &mut KeptWalk {
        match self {
            Walker::Native(walker) => &mut walker.walk,
            Walker::Bytecode(walker) => &mut walker.walk,
        }
    }
}

/// Takes over the collection of stacks, if that is useful and possible. Returns the depth for the sampler.
///
/// # Safety
/// The runtime is initialised, and no thread is collecting a stack.
pub unsafe fn take_over(agent: &Agent) -> usize {
    let settings = &agent.settings;
    if settings.rate >= HIGH_RATE
        && settings.stacks == StackSource::Auto
        && let Some(collection) = &agent.program.collection
    {
        let ours = match agent.program.runtime.domain_id {
            None => collect_4 as *const () as usize,
            Some(_) => collect_5 as *const () as usize,
        };
        // SAFETY: by the caller; the types are those of the two functions.
        if unsafe { PATCH.put_up(collection.function, ours) } {
            NUMBERS.store(true, Ordering::Relaxed);
            return OUR_DEPTH;
        }
    }
    settings.depth as usize
}

/// Walks the stack for an allocation and returns the number under which it can be asked for.
///
/// # Safety
/// `state` is the state of this thread's domain.
unsafe fn collect(
    agent: &Agent,
    collection: &Collection,
    state: *const usize,
    index: isize,
) -> u64 {
    // SAFETY: by the caller.
    let domain = unsafe { agent.program.domain(state) };
    let Some(place) = COLLECTORS.get(domain) else { return 0 };
    let mut collector = place.load(Ordering::Relaxed);
    if collector.is_null() {
        let depth = agent.settings.depth as usize;
        let Some(walker) = Walker::new(collection.frames, depth) else { return 0 };
        // Mapped rather than allocated: running out of memory must not panic here.
        let Ok(memory) = sys::map(size_of::<Collector>()) else { return 0 };
        collector = memory.cast();
        // SAFETY: the memory is new and long enough.
        unsafe {
            collector.write(Collector {
                walker,
                number: (domain as u64) << DOMAIN_SHIFT,
                is_used: true,
            })
        };
        place.store(collector, Ordering::Relaxed);
    }
    // SAFETY: made above, by this domain or an earlier one with its number; never freed.
    let Collector { walker, number, is_used } = unsafe { &mut *collector };
    if !*is_used {
        let (codes, _) = walker.last().stack();
        with_recording(|recording| {
            recording.keep_stack(*number, codes);
        });
    }
    // SAFETY: by the caller.
    unsafe { walker.walk(state, index, &agent.program) };
    *number += 1;
    *is_used = false;
    *number
}

/// The stack that a callstack stands for, and where to say that it was written.
#[inline]
pub fn stack(domain: usize, slots: &[usize]) -> (Stack<'_>, Option<Written>) {
    match NUMBERS.load(Ordering::Relaxed) {
        false => (Stack::Slots(slots), None),
        true => walked(domain, slots),
    }
}

/// The stack with a number.
fn walked<'a>(domain: usize, slots: &[usize]) -> (Stack<'a>, Option<Written>) {
    let wanted = slots.first().map_or(0, |slot| *slot as u64 >> 1);
    let collector = COLLECTORS.get(domain).map_or(ptr::null_mut(), |c| c.load(Ordering::Relaxed));
    // SAFETY: this is the domain's own callback, so no other thread uses it. It is never freed.
    let Some(Collector { walker, number, is_used }) = (unsafe { collector.as_mut() }) else {
        return (Stack::Slots(&[]), None);
    };
    let is_last = wanted == *number;
    *is_used |= is_last;
    if !is_last {
        return (Stack::Waiting(wanted), Some(Written { collector, is_last }));
    }
    let (codes, unchanged) = walker.last().stack();
    (Stack::Walked { codes, unchanged }, Some(Written { collector, is_last }))
}

/// A stack that was asked for and may have been written.
pub struct Written {
    collector: *mut Collector,
    is_last: bool,
}

impl Written {
    /// It was written: the collector's next stack is compared with it.
    pub fn mark(self) {
        // SAFETY: as in `walked`; the stack is no longer in use.
        unsafe { (*self.collector).walker.last().mark_written(self.is_last) }
    }
}

/// OCaml 4's function: puts up to `most` slots, as values, into a buffer that it may have to allocate or
/// enlarge.
///
/// # Safety
/// Called by the runtime.
unsafe extern "C" fn collect_4(
    buffer: *mut *mut usize,
    room: *mut isize,
    most: isize,
    index: i32,
) -> isize {
    let Some((agent, collection)) = collecting() else { return 0 };
    if most <= 0 {
        return 0;
    }
    let state = agent.program.state();
    // SAFETY: the runtime's arguments.
    unsafe {
        let room = &mut *room.cast::<usize>();
        if most as usize == OUR_DEPTH {
            if !ensure_room(collection, buffer, room, 1) {
                return 0;
            }
            **buffer = integer(collect(agent, collection, state, index as isize) as usize);
            return 1;
        }
        let found = |slot: usize| slot | 1;
        as_without_us(collection, state, buffer, room, (most as usize, index as isize), found)
            as isize
    }
}

/// OCaml 5's function: puts up to `most` slots into a buffer that it may have to allocate or enlarge.
///
/// # Safety
/// Called by the runtime.
unsafe extern "C" fn collect_5(
    most: usize,
    buffer: *mut *mut usize,
    room: *mut usize,
    index: isize,
) -> usize {
    let Some((agent, collection)) = collecting() else { return 0 };
    let state = agent.program.state();
    // SAFETY: the runtime's arguments.
    unsafe {
        let room = &mut *room;
        if most == OUR_DEPTH {
            if !ensure_room(collection, buffer, room, 1) {
                return 0;
            }
            **buffer = (collect(agent, collection, state, index) as usize) << 1;
            return 1;
        }
        as_without_us(collection, state, buffer, room, (most, index), |slot| slot)
    }
}

fn collecting() -> Option<(&'static Agent, &'static Collection)> {
    let agent = agent::prepared()?;
    Some((agent, agent.program.collection.as_ref()?))
}

/// Makes sure that a buffer of the runtime has room for this many slots.
///
/// # Safety
/// The buffer and its room are the runtime's.
unsafe fn ensure_room(
    collection: &Collection,
    buffer: *mut *mut usize,
    room: &mut usize,
    slots: usize,
) -> bool {
    if *room >= slots {
        return true;
    }
    let wanted = (2 * *room).max(32).max(slots);
    // SAFETY: the runtime's memory, and its own realloc. A room of 0 means that there is no buffer.
    unsafe {
        let old = if *room == 0 { ptr::null_mut() } else { *buffer };
        let new = (collection.resize)(old, wanted * size_of::<usize>());
        if new.is_null() {
            return false;
        }
        *buffer = new;
    }
    *room = wanted;
    true
}

/// What the runtime's own function does: up to `most` slots of the stack, each converted by `shown`; the
/// first is that of the allocation with the given index.
///
/// # Safety
/// As for `collect` and `ensure_room`.
unsafe fn as_without_us(
    collection: &Collection,
    state: *const usize,
    buffer: *mut *mut usize,
    room: &mut usize,
    (most, index): (usize, isize),
    shown: impl Fn(usize) -> usize,
) -> usize {
    let mut count = 0;
    let mut allocation = usize::try_from(index).ok();
    // SAFETY: by the caller.
    unsafe {
        let mut put = |slot: usize| {
            if count == most || !ensure_room(collection, buffer, room, count + 1) {
                return false;
            }
            *(*buffer).add(count) = shown(slot);
            count += 1;
            true
        };
        match collection.frames {
            Frames::Native(finder, layout) => each_frame(&finder, layout, state, |descriptor| {
                put(match allocation.take() {
                    Some(index) => descriptor.allocation_slot(index),
                    None => descriptor.slot(),
                })
            }),
            Frames::Bytecode(code, layout) => each_return_address(code, layout, state, put),
        }
    }
    count
}
