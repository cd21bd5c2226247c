//! What the agent has found and what it was asked for. It is set before the program starts and never changes;
//! in a program that was already running, each recording sets its own.

use alloc::boxed::Box;
use alloc::ffi::CString;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicPtr, Ordering};

use bactrian_agent_abi::Settings;

use super::program::Program;

/// The program and the settings.
pub struct Agent {
    pub program: Program,
    pub settings: Settings,
    /// Whether the snapshots' own file names belong to an earlier process, or to this one before exec.
    pub is_heir: bool,
    /// Whether an ancestor of this process would adopt its frozen copies.
    pub is_ward: bool,
    /// The file with the program's bytecode, if it is bytecode.
    pub bytecode: Option<CString>,
    /// Whether the variables that start runtime_events are ours, and to be hidden from the program.
    pub hides_events: bool,
    /// The directory in which they have the rings written.
    pub rings: Option<CString>,
    /// The program's `OCAMLRUNPARAM`, for runtimes that do not report their parameters.
    pub runtime_params: Vec<u8>,
    /// Whether the program was already running when we came.
    pub came_late: bool,
}

impl Agent {
    /// Whether allocations are to be recorded.
    pub fn is_recorded(&self) -> bool {
        self.settings.trace.is_some() && self.program.sampler.is_some()
    }
}

static AGENT: AtomicPtr<Agent> = AtomicPtr::new(core::ptr::null_mut());

/// Sets the agent. The previous one stays in memory: other threads may still use it.
pub fn prepare(agent: Agent) {
    AGENT.store(Box::into_raw(Box::new(agent)), Ordering::Release);
}

/// The agent, if there is something to do in this process.
#[inline]
pub fn prepared() -> Option<&'static Agent> {
    // SAFETY: null, or an agent that is never freed nor changed.
    unsafe { AGENT.load(Ordering::Acquire).as_ref() }
}
