//! What the agent found and what it was asked for: known before the program starts, never changed.

use alloc::ffi::CString;
use alloc::vec::Vec;

use bactrian_agent_abi::Settings;
use bactrian_agent_os::lock::SetOnce;

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
}

static AGENT: SetOnce<Agent> = SetOnce::new();

/// # Safety
/// Called at most once, while there is one thread.
pub unsafe fn prepare(agent: Agent) {
    // SAFETY: by the caller.
    unsafe { AGENT.set(agent) };
}

/// The agent, if it has something to do in this process.
#[inline]
pub fn prepared() -> Option<&'static Agent> {
    AGENT.get()
}
