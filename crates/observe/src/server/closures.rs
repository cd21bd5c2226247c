//! The thread that calls the program's closures.
//!
//! It is separate from the server's thread: a closure that waits for a lock, or forever, must not silence the
//! rest. If a closure does not return within [`LONGEST_CALL`], its observer is shown as failed, the thread is
//! abandoned to it, and another thread takes over the remaining closures.

use std::any::Any;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use bactrian_live::Value;

use super::sampler::LARGEST_SHARE;
use crate::process;
use crate::registry::{Observer, Source, lock};

/// A closure that takes longer is given up.
const LONGEST_CALL: Duration = Duration::from_secs(2);
/// The most threads that are abandoned to closures; after that, no closures are called any more.
const MOST_LOST: usize = 8;
/// How long a closure is not called after a panic. Doubled with each further panic, because each one writes
/// to the program's standard error.
const FIRST_REST: Duration = Duration::from_secs(1);
const MOST_DOUBLINGS: u32 = 6;

#[derive(Default)]
pub(crate) struct Closures {
    worker: Option<Arc<Worker>>,
    lost: usize,
}

#[derive(Default)]
struct Worker {
    state: Mutex<Work>,
    changed: Condvar,
}

#[derive(Default)]
struct Work {
    waiting: VecDeque<Arc<Observer>>,
    current: Option<(Arc<Observer>, Instant)>,
    /// Another thread has taken over.
    is_replaced: bool,
}

impl Closures {
    /// Requests a call of an observer's closure.
    pub fn ask(&mut self, observer: &Arc<Observer>) {
        self.give_up_late();
        let Some(worker) = self.worker() else {
            observer.publish(Value::Failed("too many closures have not come back".into()));
            return;
        };
        lock(&worker.state).waiting.push_back(Arc::clone(observer));
        worker.changed.notify_all();
    }

    /// Waits until all closures have returned, for at most `longest`.
    pub fn wait(&mut self, longest: Duration) {
        self.give_up_late();
        let Some(worker) = &self.worker else { return };
        let state = lock(&worker.state);
        // A hanging thread is not worth waiting for at every tick.
        let is_late = |state: &Work| {
            state.current.as_ref().is_some_and(|(_, since)| since.elapsed() > longest)
        };
        let goes_on = |state: &mut Work| {
            (!state.waiting.is_empty() || state.current.is_some()) && !is_late(state)
        };
        drop(worker.changed.wait_timeout_while(state, longest, goes_on));
    }

    fn worker(&mut self) -> Option<Arc<Worker>> {
        if self.worker.is_none() && self.lost < MOST_LOST {
            let worker = Arc::new(Worker::default());
            let runs = Arc::clone(&worker);
            let builder = std::thread::Builder::new().name("bactrian-values".into());
            // The new thread inherits the server thread's mask, which blocks all signals.
            builder.spawn(move || runs.run()).ok()?;
            self.worker = Some(worker);
        }
        self.worker.clone()
    }

    /// Abandons the thread of a closure that does not return.
    fn give_up_late(&mut self) {
        let Some(worker) = self.worker.clone() else { return };
        let mut state = lock(&worker.state);
        let Some((observer, since)) = &state.current else { return };
        if since.elapsed() < LONGEST_CALL {
            return;
        }
        // It stays outstanding, so it is not asked again until it returns after all.
        observer.show(Value::Failed(format!("no answer for {} s", LONGEST_CALL.as_secs())));
        state.is_replaced = true;
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        self.worker = None;
        self.lost += 1;
        if let Some(next) = self.worker() {
            lock(&next.state).waiting = waiting;
            next.changed.notify_all();
        }
    }
}

impl Drop for Closures {
    fn drop(&mut self) {
        if process::is_child() {
            return;
        }
        if let Some(worker) = &self.worker {
            lock(&worker.state).is_replaced = true;
            worker.changed.notify_all();
        }
    }
}

impl Worker {
    fn run(&self) {
        let mut state = lock(&self.state);
        loop {
            if state.is_replaced {
                return;
            }
            let Some(observer) = state.waiting.pop_front() else {
                self.changed.notify_all();
                let Ok(again) = self.changed.wait(state) else { return };
                state = again;
                continue;
            };
            let begin = Instant::now();
            state.current = Some((Arc::clone(&observer), begin));
            drop(state);
            let (value, rest) = call(&observer);
            let cost = begin.elapsed().max(rest / LARGEST_SHARE as u32);
            observer.set_cost(cost.as_nanos() as u64);
            observer.publish(value);
            state = lock(&self.state);
            state.current = None;
        }
    }
}

/// Calls the closure. Returns its value and how long it must not be called again.
fn call(observer: &Observer) -> (Value, Duration) {
    let Source::Closure { call, .. } = &observer.source else {
        return (Value::Collected, Duration::ZERO);
    };
    let mut call = lock(call);
    match catch_unwind(AssertUnwindSafe(|| (call.closure)())) {
        Ok(value) => {
            call.failures = 0;
            (value, Duration::ZERO)
        }
        Err(panic) => {
            let rest = FIRST_REST * (1 << call.failures.min(MOST_DOUBLINGS));
            call.failures = call.failures.saturating_add(1);
            (Value::Failed(message(&*panic)), rest)
        }
    }
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "panicked".to_owned())
}
