//! The rate of a recording: what was asked for, or one that falls as the trace grows (`agent_abi::falling`).

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
pub struct Falling {
    /// How often it was halved since the recording began.
    pub halved: u32,
    /// Allocations of the recording. (Their numbers have gaps where there are domains.)
    written: u64,
    /// After so many it is halved once more.
    next: u64,
    /// The runtime has been told already: what it has drawn before comes first.
    is_told: bool,
    /// Domains that allocate, as far as their numbers tell. Each of them draws by itself.
    domains: u64,
}

impl Falling {
    /// For a recording that begins at the present rate.
    pub fn new(agent: &Agent) -> Falling {
        let next = if agent.settings.falls { falling::FIRST_HALVING } else { u64::MAX };
        Falling { halved: 0, written: 0, next, is_told: false, domains: 1 }
    }

    /// What a sample stands for, in samples of the first rate.
    #[inline]
    pub fn weighed(&self, samples: u64) -> u64 {
        samples << self.halved
    }

    /// An allocation of a domain was written; says whether from the next one on the rate is another.
    ///
    /// # Safety
    /// In a callback of our sampler.
    #[inline]
    pub unsafe fn after_one(&mut self, domain: DomainId, program: &Program) -> bool {
        self.written += 1;
        self.domains = self.domains.max(u64::from(domain.0) + 1);
        let lag = (program.rate_lag() * self.domains).min(falling::BETWEEN - 1);
        if !self.is_told && self.written.saturating_add(lag) >= self.next {
            self.is_told = true;
            // SAFETY: by the caller.
            if !unsafe { halve(program) } {
                self.next = u64::MAX;
            }
        }
        let is_due = self.written >= self.next;
        if is_due {
            self.halved += 1;
            self.next += falling::BETWEEN;
            self.is_told = false;
        }
        is_due
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
