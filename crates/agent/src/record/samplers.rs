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
use crate::runtime::program::DOMAINS;

/// Domains whose sampler we have started and not stopped.
static ON: [AtomicBool; DOMAINS] = [const { AtomicBool::new(false) }; DOMAINS];
/// How many there are.
pub static COUNT: AtomicUsize = AtomicUsize::new(0);
/// The rate at which they sample.
static RATE: AtomicU64 = AtomicU64::new(0);

/// Domains that are just about to start or stop theirs: the call is ours.
static CALLING: [AtomicBool; DOMAINS] = [const { AtomicBool::new(false) }; DOMAINS];

/// Whether a call of the sampler's functions on this thread is ours. Another domain may have closed the doors meanwhile.
pub fn is_calling() -> bool {
    here().is_some_and(|(_, domain)| CALLING[domain].load(Ordering::Relaxed))
}

/// The rate of those that are on.
pub fn rate() -> Option<f64> {
    (COUNT.load(Ordering::Acquire) > 0).then(|| f64::from_bits(RATE.load(Ordering::Acquire)))
}

/// Whether a domain's sampler is ours.
pub fn is_on(domain: usize) -> bool {
    ON.get(domain).is_some_and(|on| on.load(Ordering::Acquire))
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
    agent::prepared().map_or(UNIT, |agent| (agent.program.memprof_start)(rate, depth, tracker))
}

/// # Safety
/// Called by OCaml.
unsafe extern "C" fn stop_here(_unit: usize, _state: *const usize) -> usize {
    agent::prepared().map_or(UNIT, |agent| (agent.program.memprof_stop)(UNIT))
}

/// Starts the sampler of this thread's domain with what was prepared for it; false if it is the program's, or inherited from
/// another domain of ours.
///
/// # Safety
/// The runtime may collect, and no callback is under way. What was prepared is the same each time, but for the rate.
pub unsafe fn start(agent: &Agent, domain: usize, prepared: [usize; 3]) -> bool {
    let Some(call) = agent.program.callback else { return false };
    START.set_function(start_door as *const () as usize);
    STOP.set_function(stop_door as *const () as usize);
    for (word, argument) in ARGUMENTS.iter().zip(prepared) {
        word.store(argument, Ordering::Relaxed);
    }
    RATE.store(agent.settings.rate.to_bits(), Ordering::Release);
    doors::open();
    CALLING[domain].store(true, Ordering::Relaxed);
    let has_started = !is_exception(call(START.value(), UNIT));
    CALLING[domain].store(false, Ordering::Relaxed);
    if has_started && !ON[domain].swap(true, Ordering::AcqRel) {
        COUNT.fetch_add(1, Ordering::AcqRel);
    }
    has_started
}

/// Stops the sampler of this thread's domain, or the one that it has inherited; gives how many are left.
///
/// # Safety
/// From a callback, or with the runtime at rest.
pub unsafe fn stop(agent: &Agent, domain: usize) -> usize {
    if let Some(call) = agent.program.callback {
        doors::open();
        CALLING[domain].store(true, Ordering::Relaxed);
        // If it raises, another domain has stopped what both had.
        call(STOP.value(), UNIT);
        CALLING[domain].store(false, Ordering::Relaxed);
    }
    match ON.get(domain).is_some_and(|on| on.swap(false, Ordering::AcqRel)) {
        true => COUNT.fetch_sub(1, Ordering::AcqRel) - 1,
        false => COUNT.load(Ordering::Acquire),
    }
}

/// The number of this thread's domain, if it has one.
pub fn here() -> Option<(&'static Agent, usize)> {
    let agent = agent::prepared()?;
    let state = agent.program.state();
    // SAFETY: a domain's state, or null.
    let domain = unsafe { (!state.is_null()).then(|| agent.program.domain(state)) };
    Some((agent, domain.filter(|domain| *domain < DOMAINS)?))
}
