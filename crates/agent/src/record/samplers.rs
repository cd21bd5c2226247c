//! The runtime's samplers that are ours, in a program that was already running when we came.
//!
//! When we start with the program, there is one sampler: the first domain has it, and passes it on to the
//! domains that it spawns. In a program that is already running, each domain has to start its own. Both
//! starting and stopping raise an exception if the program uses the sampler itself, and that exception must
//! not reach its code: so we call them the way C calls OCaml functions, through the callback that returns
//! exceptions.
//!
//! Domains of OCaml 5 share the sampler that one of them had started before it spawned the others, and any of
//! them may stop it for all. So we do not remember whose a domain's sampler is, and for which recording it
//! was started, but read it from the runtime.

use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};

use bactrian_ocaml::Polling;
use bactrian_ocaml::heap_layout::configuration;
use bactrian_ocaml::value::{UNIT, is_exception, tag};

use super::doors;
use super::static_blocks::{Block, C_CALL, door};
use crate::runtime::agent::{self, Agent};
use crate::runtime::program::{DOMAINS, Sampler};

/// How many samplers we have started and not stopped.
static COUNT: AtomicUsize = AtomicUsize::new(0);
/// The parameters that they were started with.
static RATE: AtomicU64 = AtomicU64::new(0);
static DEPTH: AtomicU32 = AtomicU32::new(0);
/// The first callback of our samplers, by which we recognise them.
static CALLBACK: AtomicUsize = AtomicUsize::new(0);

/// Domains that are just starting or stopping their sampler: the call is ours.
static CALLING: [AtomicBool; DOMAINS] = [const { AtomicBool::new(false) }; DOMAINS];

/// The domain of this thread.
#[derive(Clone, Copy)]
pub struct Here {
    pub agent: &'static Agent,
    /// Its number, which an earlier domain may have had.
    pub domain: usize,
    state: *const usize,
}

impl Here {
    /// None if this thread has no domain.
    pub fn find() -> Option<Here> {
        let agent = agent::prepared()?;
        let state = agent.program.state();
        if state.is_null() {
            return None;
        }
        // SAFETY: a domain's state.
        let domain = unsafe { agent.program.domain(state) };
        (domain < DOMAINS).then_some(Here { agent, domain, state })
    }

    /// Whether its sampler is ours.
    pub fn is_on(self) -> bool {
        match self.agent.program.runtime.polling {
            // OCaml 4 has a single sampler.
            Polling::ToEnd { .. } => COUNT.load(Ordering::Acquire) > 0,
            Polling::ToHighest { .. } => {
                let ours = CALLBACK.load(Ordering::Acquire);
                self.samples(|block| block[configuration::FIRST_CALLBACK] == ours)
            }
        }
    }

    /// Whether its sampler is ours, and was started with this tracker. (OCaml 5)
    pub fn is_on_with(self, tracker: usize) -> bool {
        const LAST: usize = configuration::LAST_CALLBACK - configuration::FIRST_CALLBACK;
        // SAFETY: the tracker is a block of closures.
        let last = unsafe { *(tracker as *const usize).add(LAST) };
        self.samples(|block| block[configuration::LAST_CALLBACK] == last)
    }

    /// Whether its sampler is running and belongs to the program. (OCaml 5)
    pub fn samples_for_program(self) -> bool {
        let ours = CALLBACK.load(Ordering::Acquire);
        self.samples(|block| block[configuration::FIRST_CALLBACK] != ours)
    }

    /// The configuration of its sampler, an OCaml value, if one is there. (OCaml 5)
    pub fn configuration(self) -> Option<usize> {
        // SAFETY: our own domain, which is running.
        unsafe { self.agent.program.sampler_configuration(self.state) }.map(|block| block as usize)
    }

    /// Whether its sampler is running and its configuration satisfies `so`. (OCaml 5)
    fn samples(self, so: impl FnOnce(&[usize; 9]) -> bool) -> bool {
        // SAFETY: a configuration has this many fields.
        let block = self.configuration().map(|block| unsafe { &*(block as *const [usize; 9]) });
        block.is_some_and(|block| {
            block[configuration::STATUS] == configuration::SAMPLING && so(block)
        })
    }
}

/// Whether a call of the sampler's functions on this thread is ours. Needed because another domain may have
/// closed the doors meanwhile.
pub fn is_calling() -> bool {
    Here::find().is_some_and(|here| CALLING[here.domain].load(Ordering::Relaxed))
}

/// Sets the first callback of our samplers, by which they are recognised.
pub fn are_known_by(callback: usize) {
    CALLBACK.store(callback, Ordering::Release);
}

/// The rate and the depth of the sampler that is running, if any. (OCaml 4)
pub fn parameters() -> Option<(f64, u32)> {
    let rate = f64::from_bits(RATE.load(Ordering::Acquire));
    (COUNT.load(Ordering::Acquire) > 0).then(|| (rate, DEPTH.load(Ordering::Acquire)))
}

/// OCaml functions that start and stop the sampler, and the arguments for the start.
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

/// Starts the sampler of this thread's domain with the prepared arguments; returns false if the program uses
/// the sampler.
///
/// # Safety
/// The runtime may collect here, and no callback is running. The prepared arguments are the same each time,
/// except the rate.
pub unsafe fn start(here: Here, prepared: [usize; 3]) -> bool {
    let Some(call) = here.agent.program.callback else { return false };
    // Since 5.5 starting a sampler does not raise if there is another one, but replaces it.
    if here.samples_for_program() {
        return false;
    }
    START.set_function(start_door as *const () as usize);
    STOP.set_function(stop_door as *const () as usize);
    for (word, argument) in ARGUMENTS.iter().zip(prepared) {
        word.store(argument, Ordering::Relaxed);
    }
    RATE.store(here.agent.settings.rate.to_bits(), Ordering::Release);
    DEPTH.store(here.agent.settings.depth, Ordering::Release);
    if !doors::open_start() {
        return false;
    }
    CALLING[here.domain].store(true, Ordering::Relaxed);
    let has_started = !is_exception(call(START.value(), UNIT));
    CALLING[here.domain].store(false, Ordering::Relaxed);
    if has_started {
        COUNT.fetch_add(1, Ordering::AcqRel);
    }
    has_started
}

/// Stops the sampler of this thread's domain, which is ours; returns how many are left.
///
/// # Safety
/// Called from a callback, or while the runtime is idle.
pub unsafe fn stop(here: Here) -> usize {
    if let Some(call) = here.agent.program.callback
        && doors::open_stop()
    {
        CALLING[here.domain].store(true, Ordering::Relaxed);
        // If it raises, another domain has already stopped the sampler that both shared.
        let has_stopped = !is_exception(call(STOP.value(), UNIT));
        CALLING[here.domain].store(false, Ordering::Relaxed);
        if has_stopped {
            return COUNT.fetch_sub(1, Ordering::AcqRel) - 1;
        }
    }
    COUNT.load(Ordering::Acquire)
}
