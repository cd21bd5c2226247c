//! The recording of this process, its lock, and whether it is running.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use bactrian_agent_os::lock::Lock;
use bactrian_agent_os::{birthmark, stacks};

use super::recording::Recording;
use crate::runtime::agent::{Agent, prepared};

static RECORDING: Lock<Option<Recording>> = Lock::new(None);
/// Whether callbacks are recorded.
static RUNNING: AtomicBool = AtomicBool::new(false);

/// For observers outside: the lock's word, 0 while no thread works on the recording, and whether callbacks
/// are recorded.
pub const LOCK: &AtomicU64 = RECORDING.state();
pub const RUNNING_WORD: &AtomicBool = &RUNNING;

/// Whether callbacks are to be recorded in this process. A child that was made without our handlers (`_Fork`, a
/// system call of its own) has a copy of the recording, but its ring is its parent's, and a lock that another
/// thread held is never released there.
#[inline]
fn is_on() -> bool {
    RUNNING.load(Ordering::Relaxed) && !birthmark::is_in_copy()
}

/// The agent, if callbacks are to be recorded.
#[inline]
pub fn running() -> Option<&'static Agent> {
    if is_on() { prepared() } else { None }
}

/// Starts a recording; from now on callbacks are recorded.
pub fn begin(recording: Recording) {
    if let Some(mut held) = RECORDING.take() {
        *held.inside() = Some(recording);
        RUNNING.store(true, Ordering::Release);
    }
}

/// Starts a recording in place of the previous one, if there was one: its recorder may have been killed while
/// other threads are still working on it. `make` runs on our own stack.
pub fn begin_anew(make: impl FnOnce() -> Option<Recording>) {
    turn_off();
    let Some(mut held) = RECORDING.take() else { return };
    let recording = held.inside();
    let mut has_begun = false;
    // SAFETY: we hold the lock, which covers both the recording and the stack. After a panic there is no
    // recording.
    unsafe {
        stacks::run(|| {
            if let Some(mut old) = recording.take() {
                old.abandon();
            }
            *recording = make();
            has_begun = recording.is_some();
        });
    }
    drop(held);
    RUNNING.store(has_begun, Ordering::Release);
}

/// Runs `f` on the recording, on our own stack; returns None if there is no recording. If `f` panics, the
/// agent is off from then on.
///
/// If this thread is working on the recording already, the caller is a signal handler of the program that has
/// interrupted us, for example to exit. Nothing is done then: the program's work has precedence over ours.
#[inline]
pub fn with_recording<T>(f: impl FnOnce(&mut Recording) -> T) -> Option<T> {
    if is_on() { with_recording_or_copy(f) } else { None }
}

/// The same, also for a copy of the recording.
#[inline]
fn with_recording_or_copy<T>(f: impl FnOnce(&mut Recording) -> T) -> Option<T> {
    if !RUNNING.load(Ordering::Relaxed) {
        return None;
    }
    let mut held = RECORDING.take()?;
    // Another thread may have panicked while we waited.
    if !RUNNING.load(Ordering::Relaxed) {
        return None;
    }
    let recording = held.inside();
    let mut result = None;
    // SAFETY: we hold the lock, which covers both the recording and the stack.
    let done = unsafe {
        stacks::run(|| {
            if let Some(recording) = recording {
                result = Some(f(recording));
            }
        })
    };
    if !done {
        turn_off_after_panic(held.inside());
    }
    result
}

/// Turns the agent off. We hold the lock.
#[cold]
fn turn_off_after_panic(recording: &mut Option<Recording>) {
    RUNNING.store(false, Ordering::Release);
    // The recording may be in any state; only its note is written once more.
    // SAFETY: the lock covers the stack.
    unsafe {
        stacks::run(|| {
            if let Some(recording) = recording {
                recording.note_accident();
            }
        });
    }
}

/// Runs `f` on the recording, on the program's stack; returns whether it could do its work. Such work needs
/// little stack and does not panic.
#[inline]
pub fn briefly(f: impl FnOnce(&mut Recording) -> bool) -> bool {
    let Some(mut held) = RECORDING.take() else { return false };
    RUNNING.load(Ordering::Relaxed) && held.inside().as_mut().is_some_and(f)
}

/// To be called in a callback that found the recording unusable. If this thread is still working on it, it has
/// left an earlier callback by a longjmp, and the recording is in an unknown state: it is turned off.
#[cold]
pub fn look_for_loss() {
    if RECORDING.is_mine() {
        turn_off();
        // SAFETY: this thread holds the lock, and will not return to where it took it.
        unsafe { RECORDING.release() };
    }
}

/// Whether this thread is working on the recording; if so, the caller is a signal handler that has
/// interrupted it.
pub fn is_at_work() -> bool {
    RECORDING.is_mine()
}

/// From now on callbacks are ignored.
pub fn turn_off() {
    RUNNING.store(false, Ordering::Release);
}

/// Before a fork: no thread may be in the middle of something.
pub fn before_fork() {
    RECORDING.hold_for_fork();
}

/// After the fork, in the parent.
pub fn after_fork_in_parent() {
    RECORDING.let_go_after_fork();
}

/// After the fork, in the child, which gets a recording of its own or none.
pub fn after_fork_in_child(follows: bool) {
    if !RECORDING.let_go_after_fork() {
        // The recording is in the middle of something that this process will not finish.
        return turn_off();
    }
    if follows {
        with_recording(Recording::after_fork);
    } else {
        with_recording_or_copy(Recording::abandon);
        turn_off();
    }
}
