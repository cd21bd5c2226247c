//! What the server wants to know and OCaml has to say: the queue between the server's thread and the program's.
//!
//! The server's thread says at a tick what is due. That goes into the queue, and the program is asked to come by. It takes
//! one after the other out, as long as its budget lasts; what is left waits for the next tick. Numbers of the runtime come
//! first, because they cost nothing. The program is asked again at each tick as long as there is something in the queue:
//! it may have missed it. The server's thread waits a moment for the answers, so that most are seen with the tick they
//! are for.
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

/// So long the server's thread waits for answers. A program that is at work comes by a safe point much sooner.
const PATIENCE: Duration = Duration::from_millis(3);

#[derive(Debug, Default)]
struct Asked {
    of_runtime: VecDeque<u32>,
    others: VecDeque<u32>,
    /// Those that were begun and are to go on with the next tick.
    unfinished: Vec<u32>,
    /// Somebody has come by and found nothing more to do.
    is_answered: bool,
}

static ASKED: Mutex<Asked> = Mutex::new(Asked {
    of_runtime: VecDeque::new(),
    others: VecDeque::new(),
    unfinished: Vec::new(),
    is_answered: false,
});
static ANSWERED: Condvar = Condvar::new();

/// Starts the server. `ask` is called by its thread when there is something in the queue.
///
/// # Safety
/// `ask` may be called by any thread for ever, and the text is there.
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
            // Whether they came is seen by who looks for values.
            let _ = ANSWERED.wait_timeout_while(lock(&ASKED), PATIENCE, |asked| !asked.is_answered);
        }
    });
}

/// The next observer whose value is wanted, or 0.
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

/// Whether there is one.
#[unsafe(no_mangle)]
pub extern "C" fn bactrian_observe_is_asked() -> bool {
    let asked = lock(&ASKED);
    !asked.of_runtime.is_empty() || !asked.others.is_empty()
}

/// That one is to go on with the next tick.
#[unsafe(no_mangle)]
pub extern "C" fn bactrian_observe_again(id: u32) {
    lock(&ASKED).unfinished.push(id);
}

/// Whether a client wants that one not to be evaluated.
#[unsafe(no_mangle)]
pub extern "C" fn bactrian_observe_is_stopped(id: u32) -> bool {
    lock(entries()).get(&id).is_some_and(|entry| entry.handle.is_stopped())
}

/// How long that one took. One that takes too much of the program's time is asked less often.
#[unsafe(no_mangle)]
pub extern "C" fn bactrian_observe_spent(id: u32, nanos: u64) {
    if let Some(entry) = lock(entries()).get(&id) {
        entry.handle.set_cost(nanos);
    }
}
