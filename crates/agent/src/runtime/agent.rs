//! What the agent found and what it was asked for: known before the program starts, and never changed. In a program that
//! ran already each recording is asked for by itself.

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
    /// A process before this one, or its program before exec, has the snapshots' own names.
    pub is_heir: bool,
    /// An ancestor of it would adopt its copies.
    pub is_ward: bool,
    /// The file with the program's bytecode, if that is what it is.
    pub bytecode: Option<CString>,
    /// The variables that start runtime_events are ours, and not for the program's eyes.
    pub hides_events: bool,
    /// Where they have rings written.
    pub rings: Option<CString>,
    /// The program's `OCAMLRUNPARAM`, for runtimes that do not tell their parameters.
    pub runtime_params: Vec<u8>,
    /// The program ran before we came.
    pub came_late: bool,
}

static AGENT: AtomicPtr<Agent> = AtomicPtr::new(core::ptr::null_mut());

/// Sets what is known from now on. What was known before stays where it is: others may still look at it.
pub fn prepare(agent: Agent) {
    AGENT.store(Box::into_raw(Box::new(agent)), Ordering::Release);
}

/// The agent, if it has something to do in this process.
#[inline]
pub fn prepared() -> Option<&'static Agent> {
    // SAFETY: null, or an agent that is never freed nor changed.
    unsafe { AGENT.load(Ordering::Acquire).as_ref() }
}
