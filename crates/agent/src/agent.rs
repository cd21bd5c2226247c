//! The agent as a whole: what it found, what it was asked, the recording, and whether it is on.

use alloc::ffi::CString;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicBool, Ordering};

use bactrian_agent_abi::Settings;
use bactrian_trace::State;

use crate::lock::{Lock, SetOnce};
use crate::program::Program;
use crate::recording::Recording;
use crate::{guard, page, rescue, snapshot};

/// What is known before the program starts, and never changes.
pub struct Agent {
    pub program: Program,
    pub settings: Settings,
    /// A process before this one, or its program before exec, has the snapshots' own names.
    pub is_heir: bool,
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
static RECORDING: Lock<Option<Recording>> = Lock::new(None);
/// Callbacks are answered.
static RUNNING: AtomicBool = AtomicBool::new(false);
/// A fork was made by a signal handler that had interrupted us.
static FORKED_WITHIN: AtomicBool = AtomicBool::new(false);
/// The runtime's sampler is ours.
static SAMPLING: AtomicBool = AtomicBool::new(false);

/// # Safety
/// Called at most once, while there is one thread.
pub unsafe fn prepare(agent: Agent) {
    // SAFETY: by the caller.
    unsafe { AGENT.set(agent) };
}

/// The agent, if it has something to do in this process.
pub fn prepared() -> Option<&'static Agent> {
    AGENT.get()
}

/// The agent, if callbacks are to be answered.
#[inline]
pub fn running() -> Option<&'static Agent> {
    if RUNNING.load(Ordering::Relaxed) { AGENT.get() } else { None }
}

/// Starts a recording; the callbacks may come.
pub fn begin(recording: Recording) {
    RECORDING.take();
    // SAFETY: we hold the lock.
    unsafe {
        *RECORDING.inside() = Some(recording);
        RECORDING.release();
    }
    RUNNING.store(true, Ordering::Release);
    SAMPLING.store(true, Ordering::Release);
}

/// Works on the recording, on our own stack; none if there is none. If the work panics, the agent is off
/// from then on.
pub fn with_recording<T>(f: impl FnOnce(&mut Recording) -> T) -> Option<T> {
    if !RUNNING.load(Ordering::Relaxed) {
        return None;
    }
    if RECORDING.is_mine() {
        // A signal handler of the program's has interrupted us, and ends the process, for example. Its work
        // goes before ours.
        return None;
    }
    RECORDING.take();
    let mut result = None;
    // Another thread may have had an accident while we waited.
    if RUNNING.load(Ordering::Relaxed) {
        // SAFETY: we hold the lock, for the recording as for the stack.
        let done = unsafe {
            rescue::run(|| {
                if let Some(recording) = RECORDING.inside() {
                    result = Some(f(recording));
                }
            })
        };
        if !done {
            RUNNING.store(false, Ordering::Release);
            // The recording may be in any state; only its note is written once more.
            // SAFETY: as above.
            unsafe {
                rescue::run(|| {
                    if let Some(recording) = RECORDING.inside() {
                        recording.note_accident();
                    }
                });
            }
        }
    }
    // SAFETY: we hold the lock.
    unsafe { RECORDING.release() };
    result
}

/// A callback begins. If this thread is still at work in another one, it has left that by a jump, and what it was
/// working on is in an unknown state.
#[inline]
pub fn is_lost() -> bool {
    let lost = RECORDING.is_mine();
    if lost {
        turn_off();
        // SAFETY: this thread holds the lock, and will not come back to give it.
        unsafe { RECORDING.release() };
    }
    lost
}

/// Stops the runtime's sampler, if it is ours. From a callback, or with the runtime at rest.
pub fn stop_sampling() {
    if let Some(agent) = prepared()
        && SAMPLING.swap(false, Ordering::AcqRel)
    {
        guard::lift();
        (agent.program.memprof_stop)(bactrian_ocaml::value::UNIT);
    }
}

/// The program starts a sampler of its own: it goes first. We are called for all samples that are still waiting, and the
/// collector may run.
pub fn give_way() {
    if SAMPLING.load(Ordering::Acquire)
        && let Some(tell) = prepared().and_then(|agent| agent.program.memprof_tell)
    {
        // OCaml 4 forgets them when its sampler is stopped. Our callbacks do not raise.
        tell();
    }
    stop_sampling();
    with_recording(|recording| recording.end(State::ProgramSamples));
}

/// Whether this thread works on the recording: then a signal handler has interrupted that.
pub fn is_at_work() -> bool {
    RECORDING.is_mine()
}

/// Callbacks are not answered any more.
pub fn turn_off() {
    RUNNING.store(false, Ordering::Release);
}

/// A fork is about to happen: nobody may be in the middle of something.
pub extern "C" fn before_fork() {
    // In the order in which a snapshot takes the locks.
    snapshot::before_fork();
    let interrupted = RECORDING.is_mine();
    FORKED_WITHIN.store(interrupted, Ordering::Relaxed);
    if !interrupted {
        RECORDING.take();
    }
}

/// After the fork, in the parent.
pub extern "C" fn after_fork_in_parent() {
    if !FORKED_WITHIN.load(Ordering::Relaxed) {
        // SAFETY: taken before the fork.
        unsafe { RECORDING.release() };
    }
    snapshot::in_parent_after_fork();
}

/// After the fork, in the child.
pub extern "C" fn after_fork_in_child() {
    page::let_go();
    let follows = prepared()
        .is_some_and(|agent| agent.settings.children == bactrian_agent_abi::Children::Follow);
    snapshot::after_fork(follows);
    if FORKED_WITHIN.load(Ordering::Relaxed) {
        // The recording is in the middle of something that this process will not finish.
        return turn_off();
    }
    // SAFETY: taken before the fork by the thread that is now the only one.
    unsafe { RECORDING.release() };
    if follows {
        with_recording(Recording::after_fork);
    } else {
        with_recording(Recording::abandon);
        turn_off();
    }
}
