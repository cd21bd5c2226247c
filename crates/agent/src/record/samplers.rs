//! The runtime's samplers that are ours, in a program that ran before we came.
//!
//! Started with the program, there is one sampler: the first domain has it, and hands it on to those that it spawns. In a program
//! that runs, each domain has to start its own. Both starting and stopping may raise, if the program samples itself, and
//! an exception must not come to its code: so they are called as OCaml functions are called from C.

use core::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use bactrian_ocaml::value::{UNIT, is_exception, tag};

use super::doors;
use super::static_blocks::{Block, C_CALL, door};
use crate::runtime::agent::{self, Agent};
use crate::runtime::program::{DOMAINS, Sampler};

/// Of each number of a domain: the domain whose sampler we have started and not stopped, by its key.
static ON: [AtomicU64; DOMAINS] = [const { AtomicU64::new(0) }; DOMAINS];
/// How many there are.
static COUNT: AtomicUsize = AtomicUsize::new(0);
/// The rate at which they sample.
static RATE: AtomicU64 = AtomicU64::new(0);

/// Domains that are just about to start or stop theirs: the call is ours.
static CALLING: [AtomicBool; DOMAINS] = [const { AtomicBool::new(false) }; DOMAINS];

/// The domain of this thread.
#[derive(Clone, Copy)]
pub struct Here {
    pub agent: &'static Agent,
    /// Its number, which another one may have had.
    pub domain: usize,
    /// What no other has had; not 0.
    key: u64,
}

impl Here {
    /// None if this thread has no domain.
    pub fn find() -> Option<Here> {
        let agent = agent::prepared()?;
        let state = agent.program.state();
        if state.is_null() {
            return None;
        }
        // SAFETY: a domain's state. Its own number stands behind the one that is used again, both ints.
        let (domain, key) = unsafe {
            let unique = agent.program.runtime.domain_id.map_or(0, |at| *state.add(at + 1) as u32);
            (agent.program.domain(state), u64::from(unique) + 1)
        };
        (domain < DOMAINS).then_some(Here { agent, domain, key })
    }

    /// Whether its sampler is ours.
    pub fn is_on(self) -> bool {
        ON[self.domain].load(Ordering::Acquire) == self.key
    }
}

/// Whether a call of the sampler's functions on this thread is ours. Another domain may have closed the doors meanwhile.
pub fn is_calling() -> bool {
    Here::find().is_some_and(|here| CALLING[here.domain].load(Ordering::Relaxed))
}

/// The rate of those that are on.
pub fn rate() -> Option<f64> {
    (COUNT.load(Ordering::Acquire) > 0).then(|| f64::from_bits(RATE.load(Ordering::Acquire)))
}

/// Functions that start and stop the sampler, and what it is started with.
static START: Block<3> = Block::new(tag::CLOSURE);
static STOP: Block<3> = Block::new(tag::CLOSURE);
static ARGUMENTS: [AtomicUsize; 3] = [const { AtomicUsize::new(UNIT) }; 3];

door!(start_door, start_here);
door!(stop_door, stop_here);

/// # Safety
/// Called by OCaml.
unsafe extern "C" fn start_here(_unit: usize, _state: *const usize) -> usize {
    let [rate, depth, tracker] = ARGUMENTS.each_ref().map(|word| word.load(Ordering::Relaxed));
    sampler().map_or(UNIT, |sampler| (sampler.start)(rate, depth, tracker))
}

/// # Safety
/// Called by OCaml.
unsafe extern "C" fn stop_here(_unit: usize, _state: *const usize) -> usize {
    sampler().map_or(UNIT, |sampler| (sampler.stop)(UNIT))
}

fn sampler() -> Option<&'static Sampler> {
    agent::prepared()?.program.sampler.as_ref()
}

/// Starts the sampler of this thread's domain with what was prepared for it; false if it is the program's, or inherited from
/// another domain of ours.
///
/// # Safety
/// The runtime may collect, and no callback is under way. What was prepared is the same each time, but for the rate.
pub unsafe fn start(here: Here, prepared: [usize; 3]) -> bool {
    let Some(call) = here.agent.program.callback else { return false };
    START.set_function(start_door as *const () as usize);
    STOP.set_function(stop_door as *const () as usize);
    for (word, argument) in ARGUMENTS.iter().zip(prepared) {
        word.store(argument, Ordering::Relaxed);
    }
    RATE.store(here.agent.settings.rate.to_bits(), Ordering::Release);
    doors::open_start();
    CALLING[here.domain].store(true, Ordering::Relaxed);
    let has_started = !is_exception(call(START.value(), UNIT));
    CALLING[here.domain].store(false, Ordering::Relaxed);
    if has_started && ON[here.domain].swap(here.key, Ordering::AcqRel) == 0 {
        COUNT.fetch_add(1, Ordering::AcqRel);
    }
    has_started
}

/// Stops the sampler of this thread's domain, which is ours; gives how many are left.
///
/// # Safety
/// From a callback, or with the runtime at rest.
pub unsafe fn stop(here: Here) -> usize {
    if let Some(call) = here.agent.program.callback {
        doors::open_stop();
        CALLING[here.domain].store(true, Ordering::Relaxed);
        // If it raises, another domain has stopped what both had.
        call(STOP.value(), UNIT);
        CALLING[here.domain].store(false, Ordering::Relaxed);
    }
    match ON[here.domain].swap(0, Ordering::AcqRel) {
        0 => COUNT.load(Ordering::Acquire),
        _ => COUNT.fetch_sub(1, Ordering::AcqRel) - 1,
    }
}
