//! The sampling rate of a recording: constant, or falling as the trace grows (`agent_abi::falling`).

use alloc::vec::Vec;
use core::sync::atomic::{AtomicU64, Ordering};

use bactrian_agent_abi::{DEFAULT_RATE, falling};
use bactrian_trace::DomainId;

use crate::runtime::agent::Agent;
use crate::runtime::program::{Program, Sampler};

/// The rate at which the runtime samples now.
static NOW: AtomicU64 = AtomicU64::new(0);

/// The rate at which the runtime samples, or will sample once it is started.
pub fn now() -> f64 {
    f64::from_bits(NOW.load(Ordering::Relaxed))
}

/// Sets the initial rate. If the rate is to fall but cannot be changed, it is low from the start. `start`
/// starts a sampler at a rate.
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
/// Each domain draws the distances to its next samples by itself, many at a time. So after a halving some of
/// its samples still have the previous rate, however long it takes until they occur: as many as it has drawn
/// and not used, which is half of a batch on average.
pub struct Falling {
    /// How often the rate has been halved since the recording began.
    pub halved: u32,
    /// The number of allocations recorded. (Their ids have gaps if there are several domains.)
    written: u64,
    /// The number of allocations at which the rate is halved next.
    next: u64,
    /// The state of each domain that has been seen.
    domains: Vec<Option<DomainRate>>,
}

/// The state of a domain.
#[derive(Clone, Copy)]
struct DomainRate {
    /// How often the rate of its samples has been halved.
    halved: u32,
    /// Its samples since the rate was halved last.
    since: u64,
}

impl Falling {
    /// For a recording that begins at the present rate.
    pub fn new(agent: &Agent) -> Falling {
        let next = if agent.settings.falls { falling::FIRST_HALVING } else { u64::MAX };
        Falling { halved: 0, written: 0, next, domains: Vec::new() }
    }

    /// What a sample of a domain counts for, in samples at the first rate.
    #[inline]
    pub fn weighed(&mut self, domain: DomainId, samples: u64, program: &Program) -> u64 {
        if self.halved == 0 {
            return samples;
        }
        samples << self.halved_of(domain, program)
    }

    /// How often the rate of a domain's next sample has been halved.
    fn halved_of(&mut self, domain: DomainId, program: &Program) -> u32 {
        let at = usize::from(domain.0);
        if at >= self.domains.len() {
            // A new domain draws at the present rate. The first domain existed from the start.
            let from_start = DomainRate { halved: 0, since: 0 };
            let of = |domain| (domain == 0).then_some(from_start);
            self.domains.extend((self.domains.len()..=at).map(of));
        }
        let now = self.halved;
        let standing = self.domains[at].get_or_insert(DomainRate { halved: now, since: 0 });
        if standing.halved < now {
            standing.since += 1;
            if standing.since > program.rate_lag() {
                *standing = DomainRate { halved: now, since: 0 };
            }
        }
        standing.halved
    }

    /// To be called after an allocation was written; returns whether the rate has changed.
    ///
    /// # Safety
    /// Called in a callback of our sampler.
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

/// Halves the runtime's sampling rate; returns false if that is impossible, or the rate is already the
/// lowest.
///
/// # Safety
/// Called in a callback of our sampler.
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
