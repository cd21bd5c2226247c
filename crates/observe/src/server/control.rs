//! Requests of clients to the program.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, Weak};

use bactrian_live::{Action, ObserverId};

use super::Shared;
use super::sampler::Sampler;
use crate::name::cut;
use crate::process;
use crate::registry::{Observer, lock};

/// Longer answers are cut, in bytes.
const LONGEST_ANSWER: usize = 1000;
/// The longest period that can be requested, in milliseconds.
const LONGEST_PERIOD_MS: u32 = 3_600_000;
/// The most requests that may wait for the program; more are refused.
const MOST_WAITING: usize = 64;

type SnapshotHook = dyn Fn(&str, Reply) + Send + Sync;
type SamplingHook = dyn Fn(bool, Reply) + Send + Sync;

/// Callbacks by which the program serves its clients.
#[derive(Default)]
pub(crate) struct Hooks {
    snapshot: Mutex<Option<Arc<SnapshotHook>>>,
    sampling: Mutex<Option<Arc<SamplingHook>>>,
    answers: Mutex<VecDeque<Answer>>,
    /// The number of requests without an answer.
    waiting: Mutex<usize>,
}

/// What was done, None if the answer comes later, or why it was not done.
type Done = Result<Option<String>, String>;

/// An answer to be sent to a client.
#[derive(Debug)]
pub(crate) struct Answer {
    pub client: u64,
    pub request: u32,
    pub result: Result<String, String>,
}

/// Receives the answer to a request, now or later, on any thread. If it is dropped unused, the client is told
/// that there is no answer.
pub struct Reply {
    shared: Weak<Shared>,
    client: u64,
    request: u32,
    result: Option<Result<String, String>>,
}

impl Reply {
    /// Answers with what was done, or why not.
    pub fn send(mut self, result: Result<String, String>) {
        self.result = Some(result);
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        let Some(shared) = self.shared.upgrade().filter(|_| !process::is_child()) else { return };
        let result = self.result.take().unwrap_or_else(|| Err("the program did not answer".into()));
        let short = |text: String| cut(&text, LONGEST_ANSWER);
        let result = result.map(short).map_err(short);
        *lock(&shared.hooks.waiting) -= 1;
        shared.hooks.add(Answer { client: self.client, request: self.request, result });
        shared.ring();
    }
}

impl fmt::Debug for Reply {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.debug_struct("Reply").field("request", &self.request).finish_non_exhaustive()
    }
}

impl Hooks {
    pub fn set_snapshot(&self, hook: impl Fn(&str, Reply) + Send + Sync + 'static) {
        *lock(&self.snapshot) = Some(Arc::new(hook));
    }

    pub fn set_sampling(&self, hook: impl Fn(bool, Reply) + Send + Sync + 'static) {
        *lock(&self.sampling) = Some(Arc::new(hook));
    }

    fn add(&self, answer: Answer) {
        lock(&self.answers).push_back(answer);
    }

    /// Takes the answers to be sent.
    pub fn take_answers(&self) -> VecDeque<Answer> {
        std::mem::take(&mut *lock(&self.answers))
    }
}

/// Executes a client's request. The answer comes through [`Hooks::take_answers`].
pub(crate) fn obey(
    shared: &Arc<Shared>,
    sampler: &Sampler,
    client: u64,
    request: u32,
    action: Action,
) {
    let result = match action {
        Action::SetPeriod(id, milliseconds) => set_period(sampler, id, milliseconds),
        Action::Stop(id) => set_stopped(sampler, id, true),
        Action::Resume(id) => set_stopped(sampler, id, false),
        Action::Mark(text) => {
            shared.add_marker(&text);
            Ok(Some("marked".to_owned()))
        }
        Action::Snapshot(name) => {
            let hook = lock(&shared.hooks.snapshot).clone();
            let hook = hook.ok_or_else(|| {
                let pid = std::process::id();
                format!("this program takes no snapshots by itself; on its machine: bactrian snapshot {pid}")
            });
            hook.and_then(|hook| Ok((hook, reply(shared, client, request)?)))
                .map(|(hook, reply)| hook(&cut(&name, LONGEST_ANSWER), reply))
                .map(|()| None)
        }
        Action::Sampling(on) => {
            let hook = lock(&shared.hooks.sampling).clone();
            let hook = hook.ok_or_else(|| "this program has no sampling to switch".to_owned());
            hook.and_then(|hook| Ok((hook, reply(shared, client, request)?)))
                .map(|(hook, reply)| hook(on, reply))
                .map(|()| None)
        }
    };
    // A hook answers by itself.
    if let Some(result) = result.transpose() {
        shared.hooks.add(Answer { client, request, result });
    }
}

/// Creates the reply for a hook, unless too many requests wait.
fn reply(shared: &Arc<Shared>, client: u64, request: u32) -> Result<Reply, String> {
    let mut waiting = lock(&shared.hooks.waiting);
    if *waiting >= MOST_WAITING {
        return Err("too many requests wait already".to_owned());
    }
    *waiting += 1;
    Ok(Reply { shared: Arc::downgrade(shared), client, request, result: None })
}

fn set_period(sampler: &Sampler, id: ObserverId, milliseconds: u32) -> Done {
    let observer = alive(sampler, id)?;
    if !(1..=LONGEST_PERIOD_MS).contains(&milliseconds) {
        return Err(format!(
            "{milliseconds} ms is not a possible period: at least 1, at most {LONGEST_PERIOD_MS}"
        ));
    }
    observer.set_period(milliseconds);
    Ok(Some(format!("every {milliseconds} ms")))
}

fn set_stopped(sampler: &Sampler, id: ObserverId, stopped: bool) -> Done {
    alive(sampler, id)?.set_stopped(stopped);
    Ok(Some(if stopped { "stopped" } else { "resumed" }.to_owned()))
}

fn alive(sampler: &Sampler, id: ObserverId) -> Result<&Observer, String> {
    let entry = sampler.find(id).filter(|entry| entry.end.is_none());
    entry.map(|entry| &*entry.observer).ok_or_else(|| format!("there is no observer {}", id.0))
}
