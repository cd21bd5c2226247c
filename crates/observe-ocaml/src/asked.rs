//! Values that only OCaml can provide: the queue between the server's thread and the program.
//!
//! At a tick, the server's thread queues the observers that are due and asks the program to come to a safe
//! point. There the program takes one observer after the other from the queue until its budget is used up;
//! the rest waits for the next tick. Numbers of the runtime come first, because they cost nothing. The
//! program is asked again at each tick while the queue is not empty, because it may have missed the request.
//! The server's thread waits briefly for the answers, so that most arrive with the tick that they are for.
#![expect(
    unsafe_code,
    reason = "C finds functions by names that are not changed, and texts are pointers"
)]

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex};
use std::time::Duration;

use bactrian_observe::server;

use crate::declare::entries;
use crate::lock;
use crate::texts::Text;

/// How long the server's thread waits for answers. A program that is running reaches a safe point much
/// sooner.
const PATIENCE: Duration = Duration::from_millis(3);

#[derive(Debug, Default)]
struct Asked {
    of_runtime: VecDeque<u32>,
    others: VecDeque<u32>,
    /// Evaluations that were begun and continue at the next tick.
    unfinished: Vec<u32>,
    /// The program came and found nothing more to do.
    is_answered: bool,
}

static ASKED: Mutex<Asked> = Mutex::new(Asked {
    of_runtime: VecDeque::new(),
    others: VecDeque::new(),
    unfinished: Vec::new(),
    is_answered: false,
});
static ANSWERED: Condvar = Condvar::new();

/// Starts the server. Its thread calls `ask` when the queue is not empty.
///
/// # Safety
/// `ask` may be called by any thread at any later time, and the text is valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bactrian_observe_start(ask: extern "C" fn(), runtime: Text) {
    let server = server();
    // SAFETY: the caller's duty.
    server.set_runtime(&unsafe { runtime.as_text() });
    server.set_evaluator(move |due| {
        let mut asked = lock(&ASKED);
        let unfinished = std::mem::take(&mut asked.unfinished);
        asked.others.extend(unfinished);
        for id in due {
            let is_of_runtime = lock(entries()).get(&id.0).is_some_and(|entry| entry.is_of_runtime);
            if is_of_runtime {
                asked.of_runtime.push_back(id.0);
            } else {
                asked.others.push_back(id.0);
            }
        }
        asked.is_answered = asked.of_runtime.is_empty() && asked.others.is_empty();
        let is_asked = !asked.is_answered;
        drop(asked);
        if is_asked {
            ask();
            // Whether answers came is seen when values are collected.
            let _ = ANSWERED.wait_timeout_while(lock(&ASKED), PATIENCE, |asked| !asked.is_answered);
        }
    });
}

/// Takes the next observer whose value is wanted; 0 if there is none.
#[unsafe(no_mangle)]
pub extern "C" fn bactrian_observe_next() -> u32 {
    let mut asked = lock(&ASKED);
    let next = asked.of_runtime.pop_front();
    let next = next.or_else(|| asked.others.pop_front());
    if next.is_none() {
        asked.is_answered = true;
        ANSWERED.notify_all();
    }
    next.unwrap_or(0)
}

/// Whether the queue is not empty.
#[unsafe(no_mangle)]
pub extern "C" fn bactrian_observe_is_asked() -> bool {
    let asked = lock(&ASKED);
    !asked.of_runtime.is_empty() || !asked.others.is_empty()
}

/// Continues the evaluation of an observer at the next tick.
#[unsafe(no_mangle)]
pub extern "C" fn bactrian_observe_again(id: u32) {
    lock(&ASKED).unfinished.push(id);
}

/// Whether a client has stopped the evaluation of an observer.
#[unsafe(no_mangle)]
pub extern "C" fn bactrian_observe_is_stopped(id: u32) -> bool {
    lock(entries()).get(&id).is_some_and(|entry| entry.handle.is_stopped())
}

/// Reports the evaluation time of an observer. Expensive observers are asked less often.
#[unsafe(no_mangle)]
pub extern "C" fn bactrian_observe_spent(id: u32, nanos: u64) {
    if let Some(entry) = lock(entries()).get(&id) {
        entry.handle.set_cost(nanos);
    }
}
