//! The rate of a recording: what was asked for, or one that falls as the trace grows (`agent_abi::falling`).

use alloc::vec::Vec;
use core::sync::atomic::{AtomicU64, Ordering};

use bactrian_agent_abi::{DEFAULT_RATE, falling};
use bactrian_trace::DomainId;

use crate::runtime::agent::Agent;
use crate::runtime::program::{Program, Sampler};

/// The rate at which the runtime samples now.
static NOW: AtomicU64 = AtomicU64::new(0);

/// The rate at which the runtime samples, or will when it is started.
pub fn now() -> f64 {
    f64::from_bits(NOW.load(Ordering::Relaxed))
}

/// Sets what is sampled at to begin with. One that cannot fall is low from the start. `start` starts a sampler at a rate.
///
/// # Safety
/// The runtime is initialised, no OCaml code runs yet, and there is no sampler.
pub unsafe fn begin(agent: &Agent, sampler: &Sampler, start: impl FnOnce(f64)) {
    let Agent { program, settings, .. } = agent;
    let rate = settings.rate;
    // SAFETY: by the caller.
    let is_fit =
        !settings.falls || unsafe { program.can_change_rate(sampler, rate, || start(rate)) };
    set(if is_fit { rate } else { DEFAULT_RATE });
}

/// Sets the rate at which the runtime samples.
pub fn set(rate: f64) {
    NOW.store(rate.to_bits(), Ordering::Relaxed);
}

/// How the rate of a recording falls.
///
/// Each domain draws by itself how far it is to its next samples, many at a time. So after a halving some of its samples are still of the
/// rate before, however long it takes until they come: as many as it has drawn and not used, half of what it draws on average.
pub struct Falling {
    /// How often it was halved since the recording began.
    pub halved: u32,
    /// Allocations of the recording. (Their numbers have gaps where there are domains.)
    written: u64,
    /// After so many it is halved once more.
    next: u64,
    /// How each domain stands, as far as it has been heard of.
    domains: Vec<Option<Standing>>,
}

/// How a domain stands.
#[derive(Clone, Copy)]
struct Standing {
    /// How often the rate of its samples was halved.
    halved: u32,
    /// Samples since the rate was halved once more.
    since: u64,
}

impl Falling {
    /// For a recording that begins at the present rate.
    pub fn new(agent: &Agent) -> Falling {
        let next = if agent.settings.falls { falling::FIRST_HALVING } else { u64::MAX };
        Falling { halved: 0, written: 0, next, domains: Vec::new() }
    }

    /// What a sample of a domain stands for, in samples of the first rate.
    #[inline]
    pub fn weighed(&mut self, domain: DomainId, samples: u64, program: &Program) -> u64 {
        if self.halved == 0 {
            return samples;
        }
        samples << self.halved_of(domain, program)
    }

    /// How often the rate of a domain's next sample was halved.
    fn halved_of(&mut self, domain: DomainId, program: &Program) -> u32 {
        let at = usize::from(domain.0);
        if at >= self.domains.len() {
            // One that is new draws at the present rate. The first was there before.
            let from_start = Standing { halved: 0, since: 0 };
            let of = |domain| (domain == 0).then_some(from_start);
            self.domains.extend((self.domains.len()..=at).map(of));
        }
        let now = self.halved;
        let standing = self.domains[at].get_or_insert(Standing { halved: now, since: 0 });
        if standing.halved < now {
            standing.since += 1;
            if standing.since > program.rate_lag() {
                *standing = Standing { halved: now, since: 0 };
            }
        }
        standing.halved
    }

    /// An allocation was written; says whether the rate is another from now on.
    ///
    /// # Safety
    /// In a callback of our sampler.
    #[inline]
    pub unsafe fn after_one(&mut self, program: &Program) -> bool {
        self.written += 1;
        if self.written < self.next {
            return false;
        }
        // SAFETY: by the caller.
        let is_halved = unsafe { halve(program) };
        self.next = if is_halved { self.next + falling::BETWEEN } else { u64::MAX };
        self.halved += u32::from(is_halved);
        is_halved
    }
}

/// Has the runtime sample half as much; false if it cannot, or samples little enough.
///
/// # Safety
/// In a callback of our sampler.
#[cold]
unsafe fn halve(program: &Program) -> bool {
    let (rate, half) = (now(), now() / 2.0);
    let lowest = falling::FIRST / f64::from(1_u32 << falling::HALVINGS);
    // SAFETY: by the caller.
    let is_halved = half >= lowest && unsafe { program.change_rate(rate, half) };
    if is_halved {
        set(half);
    }
    is_halved
}
