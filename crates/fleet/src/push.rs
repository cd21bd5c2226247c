//! Pushes profiles to servers: as pprof to those that understand Pyroscope's `/ingest`, and as OpenTelemetry profiles.
//!
//! The store has everything; a server gets what it can. Requests wait in a bounded queue of a separate thread, and each is tried
//! a few times. What fails then, or finds the queue full, is counted and dropped. So a slow or absent server never holds up the
//! store.

use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use bactrian_export::{StackFrame, StackProfile, otlp_request};

use crate::layout::Run;
use crate::origin::Origin;
use crate::profiler::{Counts, FrameText, MINUTE, Profile};
use crate::stack_ids::{FIRST, mix};

/// The maximum number of waiting requests.
const MOST_WAITING: usize = 64;
/// The pauses before the second and the third attempt. If the third fails, the request is dropped.
const PAUSES: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(4)];

/// Sends requests.
pub trait HttpClient: Send {
    /// Posts a body.
    ///
    /// # Errors
    /// If there is no answer in time, or none that means success.
    fn post(&self, url: &str, content_type: &str, body: &[u8]) -> io::Result<()>;
}

/// A server of profiles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PushServer {
    /// The address of a server that understands Pyroscope's `POST /ingest`.
    Pyroscope(String),
    /// The address of a server that understands OpenTelemetry profiles.
    Otlp(String),
}

/// A request.
struct Request {
    url: String,
    content_type: &'static str,
    body: Vec<u8>,
}

/// The state of pushing.
#[derive(Debug, Default)]
struct PushState {
    pushed: AtomicU64,
    dropped: AtomicU64,
    /// Why the last request failed; None if it did not.
    trouble: Mutex<Option<String>>,
}

/// Pushes the profiles of all runs.
pub struct Pusher {
    servers: Vec<PushServer>,
    queue: Option<SyncSender<Request>>,
    state: Arc<PushState>,
    thread: Option<JoinHandle<()>>,
}

impl Pusher {
    /// Pushes to these servers.
    pub fn new(servers: Vec<PushServer>, client: Box<dyn HttpClient>) -> Pusher {
        let (queue, requests) = sync_channel(MOST_WAITING);
        let state = Arc::new(PushState::default());
        let shared = Arc::clone(&state);
        let thread = thread::spawn(move || push_all(&requests, &*client, &shared));
        Pusher { servers, queue: Some(queue), state, thread: Some(thread) }
    }

    /// The number of successful requests, and of dropped ones.
    pub fn counts(&self) -> (u64, u64) {
        let PushState { pushed, dropped, .. } = &*self.state;
        (pushed.load(Ordering::Relaxed), dropped.load(Ordering::Relaxed))
    }

    /// Why the last request failed, if it did.
    pub fn trouble(&self) -> Option<String> {
        self.state.trouble.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits until nothing is left in the queue.
    pub fn finish(&mut self) {
        self.queue = None;
        if let Some(thread) = self.thread.take() {
            // It does not panic, and if it did, nothing would be left to do.
            let _ = thread.join();
        }
    }

    /// Puts requests with a profile into the queue.
    pub(crate) fn offer(
        &self,
        profile: &Profile,
        run: &Run,
        origin: &Origin,
        rate: f64,
        stacks: &KnownStacks,
    ) {
        for request in self.servers.iter().flat_map(|server| {
            let both = [
                stacks.profile("alloc_space", profile, rate, |counts| counts.samples),
                stacks.profile("inuse_space", profile, rate, |counts| counts.live),
            ];
            requests(server, &both, profile, run, origin)
        }) {
            let Some(queue) = &self.queue else { return };
            if let Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) =
                queue.try_send(request)
            {
                self.state.dropped.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
}

impl Drop for Pusher {
    fn drop(&mut self) {
        // Requests that still wait are dropped; `finish` waits for them.
        self.queue = None;
    }
}

fn push_all(requests: &Receiver<Request>, client: &dyn HttpClient, state: &PushState) {
    for Request { url, content_type, body } in requests {
        let mut outcome = client.post(&url, content_type, &body);
        for pause in PAUSES {
            if outcome.is_ok() {
                break;
            }
            thread::sleep(pause);
            outcome = client.post(&url, content_type, &body);
        }
        let count = if outcome.is_ok() { &state.pushed } else { &state.dropped };
        count.fetch_add(1, Ordering::Relaxed);
        let mut trouble = state.trouble.lock().unwrap_or_else(PoisonError::into_inner);
        *trouble = outcome.err().map(|error| error.to_string());
    }
}

/// The frames of stacks, redacted.
#[derive(Default)]
pub(crate) struct KnownStacks(HashMap<i64, Vec<Arc<FrameText>>>);

impl KnownStacks {
    /// Adds the new stacks of a profile.
    pub fn learn(&mut self, profile: &Profile, origin: &Origin) {
        for stack in &profile.new_stacks {
            let frames = stack.frames.iter().map(|frame| Arc::new(origin.redact.frame(frame)));
            self.0.entry(stack.id).or_insert_with(|| frames.collect());
        }
    }

    fn profile<'s>(
        &'s self,
        name: &'static str,
        profile: &Profile,
        rate: f64,
        samples: fn(&Counts) -> u64,
    ) -> StackProfile<'s> {
        let bytes = 8.0 / rate;
        let stack = |(id, counts): (&i64, &Counts)| {
            let frames = self.0.get(id).into_iter().flatten().map(|frame| StackFrame {
                function: &frame.function,
                file: &frame.file,
                line: frame.line,
            });
            (frames.collect(), (samples(counts) as f64 * bytes).round() as u64)
        };
        StackProfile {
            name,
            period: bytes.round() as u64,
            start: profile.minute.saturating_mul(MINUTE.as_nanos() as u64),
            duration: MINUTE.as_nanos() as u64,
            stacks: profile.counts.iter().map(stack).collect(),
        }
    }
}

fn requests(
    server: &PushServer,
    profiles: &[StackProfile<'_>],
    profile: &Profile,
    run: &Run,
    origin: &Origin,
) -> Vec<Request> {
    match server {
        PushServer::Pyroscope(address) => {
            let (from, until) = (profile.minute * 60, (profile.minute + 1) * 60);
            let name = escaped(&pyroscope_name(run, origin));
            let address = address.trim_end_matches('/');
            let url =
                format!("{address}/ingest?name={name}&from={from}&until={until}&format=pprof");
            let request = |profile: &StackProfile<'_>| Request {
                url: url.clone(),
                content_type: "application/octet-stream",
                body: profile.pprof(),
            };
            profiles.iter().map(request).collect()
        }
        PushServer::Otlp(address) => {
            let (pid, labels) = (run.pid.to_string(), &origin.labels);
            let mut attributes = vec![
                ("service.name", origin.service.as_str()),
                ("host.name", run.host.as_str()),
                ("process.pid", pid.as_str()),
                ("process.executable.build_id.gnu", origin.build_id.as_str()),
            ];
            attributes.extend(origin.version.as_deref().map(|it| ("service.version", it)));
            attributes.extend(labels.iter().map(|(name, value)| (name.as_str(), value.as_str())));
            let body = otlp_request(profiles, &attributes, profile_id(profile, run));
            let address = address.trim_end_matches('/');
            let url = format!("{address}/v1development/profiles");
            vec![Request { url, content_type: "application/x-protobuf", body }]
        }
    }
}

/// A unique id for a minute of a run.
fn profile_id(profile: &Profile, run: &Run) -> [u8; 15] {
    let hash =
        mix(mix(mix(FIRST, run.host.as_bytes()), &run.pid.to_le_bytes()), &run.start.to_le_bytes());
    let mut id = [0; 15];
    id[..8].copy_from_slice(&hash.to_le_bytes());
    id[8..].copy_from_slice(&profile.minute.to_le_bytes()[..7]);
    id
}

/// `shop{host=web-1,zone=a}`. Characters that would end a value are written as `_`.
fn pyroscope_name(run: &Run, origin: &Origin) -> String {
    let plain = |text: &str| {
        let is_plain = |c: char| !",={}\"".contains(c) && !c.is_control();
        text.chars().map(|c| if is_plain(c) { c } else { '_' }).collect::<String>()
    };
    let name = |text: &str| {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
        text.chars().map(|c| if is_plain(c) { c } else { '_' }).collect::<String>()
    };
    let pid = run.pid.to_string();
    let known = [("host", &run.host), ("pid", &pid), ("build_id", &origin.build_id)];
    let mut labels: Vec<String> =
        known.iter().map(|(key, value)| format!("{key}={}", plain(value))).collect();
    labels.extend(origin.version.iter().map(|version| format!("version={}", plain(version))));
    labels
        .extend(origin.labels.iter().map(|(key, value)| format!("{}={}", name(key), plain(value))));
    format!("{}{{{}}}", plain(&origin.service), labels.join(","))
}

/// Encodes a parameter of a URL.
fn escaped(text: &str) -> String {
    let byte = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
            char::from(byte).to_string()
        }
        byte => format!("%{byte:02X}"),
    };
    text.bytes().map(byte).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_characters_in_labels_are_escaped() {
        let run = Run { host: "web,1}".to_owned(), pid: 7, start: 1 };
        let origin = Origin {
            service: "shop=a".to_owned(),
            labels: vec![("zone-a".to_owned(), "b c".to_owned())],
            build_id: "ff".to_owned(),
            ..Origin::default()
        };
        let name = pyroscope_name(&run, &origin);
        assert_eq!(name, "shop_a{host=web_1_,pid=7,build_id=ff,zone_a=b c}");
        assert_eq!(escaped("a{b=c d}é"), "a%7Bb%3Dc%20d%7D%C3%A9");
    }
}
