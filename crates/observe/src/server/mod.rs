//! The server: a thread of its own that sends the program's observers to clients.
//!
//! # How it works
//!
//! The thread waits in `epoll` for its listening sockets, its clients, and a bell by which the program can
//! wake it. Without clients it waits without a timeout, so that the program is not disturbed at all. With a
//! client there is a tick every period ([`event_loop`]): new observers are declared, those that are due are
//! read ([`sampler`]), and the update is encoded once for each of the two protocols ([`own`], [`old`]). All
//! clients ([`audience`]) share the encoded bytes. What clients send is not trusted ([`hearing`]). The
//! program's closures are called on another thread ([`closures`]), because one that never returns must not
//! silence the others.
//!
//! Each client has a queue of such pieces, bounded in bytes ([`client`]). A client that does not read loses
//! whole ticks. When its queue is empty again it gets the full state, as if it had just connected, with the
//! number of ticks it missed. So a frame is never cut, and a slow client costs at most the size of its queue.
//!
//! Nothing here may end or hang the program: errors go to the log.

mod audience;
mod bell;
mod client;
mod closures;
mod control;
mod event_loop;
mod hearing;
mod listen;
mod old;
mod old_tree;
mod own;
mod sampler;

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock};
use std::time::{Duration, Instant};

use bactrian_live::{ObserverId, ObserverKind, Value};
use bell::Bell;

use crate::log::Log;
use crate::name::{Name, cut};
use crate::process;
use crate::registry::{Closure, Handle, Origin, Registry, Source, lock};
use crate::settings::{Live, Settings};

pub use control::Reply;

/// How long the end of the program may wait for the server to send its last values.
const LONGEST_GOODBYE: Duration = Duration::from_millis(500);
/// How long the program may wait for [`Server::show_now`]: being seen is not essential to it.
const LONGEST_SHOW: Duration = Duration::from_millis(500);
/// The most markers that may wait for the next tick.
const MOST_MARKERS: usize = 100;
/// Longer marker texts are cut, in bytes.
const LONGEST_MARKER: usize = 1000;

/// Sends a program's observers to its clients.
pub struct Server {
    shared: Arc<Shared>,
}

/// The state shared by the program's threads and the server's thread.
pub(crate) struct Shared {
    pub settings: Settings,
    pub registry: Registry,
    pub log: Log,
    pub hooks: control::Hooks,
    evaluator: Mutex<Option<Arc<Evaluator>>>,
    runtime: Mutex<String>,
    markers: Mutex<Vec<String>>,
    state: Mutex<State>,
    changed: Condvar,
    /// Wakes the server's thread; None if there is no server.
    bell: Option<Bell>,
    /// The program has closed descriptors of ours.
    is_robbed: AtomicBool,
    ticks: AtomicU64,
}

type Evaluator = dyn Fn(&[ObserverId]) + Send + Sync;

#[derive(Debug, Default)]
struct State {
    clients: usize,
    /// Where the server listens; None until it does.
    places: Option<Places>,
    /// The reason for which it is to end.
    end: Option<String>,
    /// The server has ended, or never started.
    ended: bool,
    /// The server's thread id.
    thread: Option<rustix::process::Pid>,
    /// The number of [`Server::show_now`] requests, and the last one that was fulfilled.
    wanted: u64,
    shown: u64,
}

/// The addresses of a server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places {
    /// The Unix socket of our own protocol.
    pub socket: Option<PathBuf>,
    /// The network address of our own protocol.
    pub network: Option<SocketAddr>,
    /// The address of the Ocamlviz protocol.
    pub ocamlviz: Option<SocketAddr>,
}

/// The program's server, configured by the environment. The first call starts it.
pub fn server() -> &'static Server {
    static SERVER: OnceLock<Server> = OnceLock::new();
    static NONE: OnceLock<Server> = OnceLock::new();
    if let Some(server) = SERVER.get() {
        return server;
    }
    if process::is_child() {
        // Another thread may have been initialising the server when the process forked; in the child it never
        // finishes.
        return NONE
            .get_or_init(|| Server { shared: Arc::new(Shared::new(Settings::default(), None)) });
    }
    process::prepare();
    SERVER.get_or_init(|| Server::start(Settings::from_environment()))
}

impl Server {
    /// Starts a server. Errors go to its log.
    pub fn start(settings: Settings) -> Server {
        let is_off = settings.live == Live::Off && settings.ocamlviz.is_none();
        let bell = if is_off { None } else { Bell::new().ok() };
        let shared = Arc::new(Shared::new(settings, bell));
        for complaint in &shared.settings.complaints {
            shared.say(complaint);
        }
        if shared.bell.is_none() || process::is_child() {
            shared.set_ended();
            return Server { shared };
        }
        let run = {
            let shared = Arc::clone(&shared);
            move || event_loop::run(&shared)
        };
        let builder =
            std::thread::Builder::new().name("bactrian-live".into()).stack_size(512 << 10);
        match process::without_signals(|| builder.spawn(run)) {
            Ok(_) => {
                let at_exit = Arc::clone(&shared);
                process::at_exit(move || at_exit.end("the program has ended"));
            }
            Err(_) => shared.set_ended(),
        }
        Server { shared }
    }

    /// Registers an observer.
    pub fn declare(&self, kind: ObserverKind, name: impl Into<Name>, origin: Origin) -> Handle {
        self.shared.registry.add(kind, name.into(), origin.source(kind))
    }

    /// Registers an observer whose value `read` returns. The server's thread calls it at each tick, so it
    /// must be quick and must not panic. For libraries of other languages whose programs count in memory of
    /// their own.
    pub fn declare_read<F>(&self, kind: ObserverKind, name: impl Into<Name>, read: F) -> Handle
    where
        F: Fn() -> Value + Send + Sync + 'static,
    {
        self.shared.registry.add(kind, name.into(), Source::Read(Box::new(read)))
    }

    /// The live observer of this kind, name and labels.
    pub fn find(&self, kind: ObserverKind, name: &Name) -> Option<Handle> {
        self.shared.registry.find(kind, name)
    }

    /// Registers an observer whose value a closure returns. A thread of the server calls it whenever the
    /// observer is due and there are clients. A panic is shown as this observer's failure.
    pub fn watch<F>(&self, kind: ObserverKind, name: impl Into<Name>, closure: F) -> Handle
    where
        F: FnMut() -> Value + Send + 'static,
    {
        let call = Closure { closure: Box::new(closure), failures: 0 };
        let source = Source::Closure { call: Mutex::new(call), fresh: Mutex::new(None) };
        self.shared.registry.add(kind, name.into(), source)
    }

    /// Sets the function that asks the program for values of [`Origin::Asked`]. The server's thread calls it
    /// at each tick with the observers that are due and not asked yet. It must return soon; each answer comes
    /// through [`Handle::publish`], at any time. It is called with an empty list too, so that it can repeat
    /// old requests.
    pub fn set_evaluator(&self, evaluator: impl Fn(&[ObserverId]) + Send + Sync + 'static) {
        if !process::is_child() {
            *lock(&self.shared.evaluator) = Some(Arc::new(evaluator));
        }
    }

    /// Sets the language of the program and its version, for people.
    pub fn set_runtime(&self, runtime: &str) {
        if !process::is_child() {
            *lock(&self.shared.runtime) = cut(runtime, LONGEST_MARKER);
        }
    }

    /// Sets the hook that takes snapshots for clients.
    pub fn on_snapshot(&self, hook: impl Fn(&str, Reply) + Send + Sync + 'static) {
        if !process::is_child() {
            self.shared.hooks.set_snapshot(hook);
        }
    }

    /// Sets the hook that starts and stops sampling for clients.
    pub fn on_sampling(&self, hook: impl Fn(bool, Reply) + Send + Sync + 'static) {
        if !process::is_child() {
            self.shared.hooks.set_sampling(hook);
        }
    }

    /// Adds a line to the log.
    pub fn log(&self, line: &[u8]) {
        self.shared.log.add(line);
    }

    /// Adds a formatted line to the log; called by [`crate::log!`].
    pub fn log_format(&self, line: fmt::Arguments<'_>) {
        self.shared.log.format(line);
    }

    /// Asks clients to stop here and look, with all values as they are now.
    pub fn marker(&self, text: &str) {
        self.add_marker(text);
        self.show_now();
    }

    /// Asks clients to stop at the next tick; for callers that show the values in another way than
    /// [`Server::marker`].
    pub fn add_marker(&self, text: &str) {
        if !process::is_child() {
            self.shared.add_marker(text);
        }
    }

    /// Sends all values to clients as they are now. When this returns they have been read and may change. For
    /// values that the program has to be asked for, the last answer is sent.
    pub fn show_now(&self) {
        if process::is_child() {
            return;
        }
        let shared = &self.shared;
        let mut state = lock(&shared.state);
        // A closure of the program that we call may be the caller.
        if state.clients == 0 || state.ended || state.thread == Some(rustix::thread::gettid()) {
            return;
        }
        state.wanted += 1;
        let wish = state.wanted;
        shared.ring();
        let is_hidden = |state: &mut State| state.shown < wish && !state.ended && state.clients > 0;
        drop(shared.changed.wait_timeout_while(state, LONGEST_SHOW, is_hidden));
    }

    /// The number of clients that are watching.
    pub fn clients(&self) -> usize {
        if process::is_child() { 0 } else { lock(&self.shared.state).clients }
    }

    /// Blocks until `count` clients are watching. Returns at once in the child of a fork, or if there is no
    /// server.
    pub fn wait_for_clients(&self, count: usize) {
        while !self.wait_for_clients_for(count, Duration::from_secs(3600)) {}
    }

    /// Likewise, for at most `longest`. Returns whether there is nothing more to wait for.
    pub fn wait_for_clients_for(&self, count: usize, longest: Duration) -> bool {
        self.wait(longest, |state| state.clients >= count)
    }

    /// Blocks until no client is watching, for at most `longest`. Returns whether there is nothing more to
    /// wait for.
    pub fn wait_for_no_clients(&self, longest: Duration) -> bool {
        self.wait(longest, |state| state.clients == 0)
    }

    /// The server's addresses. Blocks until it listens.
    pub fn places(&self) -> Places {
        self.wait(Duration::from_secs(60), |state| state.places.is_some());
        if process::is_child() {
            return Places::default();
        }
        lock(&self.shared.state).places.clone().unwrap_or_default()
    }

    fn wait(&self, longest: Duration, done: impl Fn(&State) -> bool) -> bool {
        if process::is_child() {
            return true;
        }
        let is_done = |state: &mut State| state.ended || done(state);
        let state = lock(&self.shared.state);
        let waited =
            self.shared.changed.wait_timeout_while(state, longest, |state| !is_done(state));
        waited.map_or(true, |(_, timeout)| !timeout.timed_out())
    }

    /// The number of ticks so far.
    pub fn ticks(&self) -> u64 {
        self.shared.ticks.load(Ordering::Relaxed)
    }

    /// Ends the server: tells its clients and removes its socket. Waits at most half a second. Not necessary
    /// in a program that exits normally.
    pub fn end(&self, why: &str) {
        if !process::is_child() {
            self.shared.end(why);
        }
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.debug_struct("Server").field("settings", &self.shared.settings).finish_non_exhaustive()
    }
}

impl Shared {
    fn new(settings: Settings, bell: Option<Bell>) -> Shared {
        Shared {
            settings,
            registry: Registry::default(),
            log: Log::new(),
            hooks: control::Hooks::default(),
            evaluator: Mutex::default(),
            runtime: Mutex::default(),
            markers: Mutex::default(),
            state: Mutex::default(),
            changed: Condvar::new(),
            bell,
            is_robbed: AtomicBool::new(false),
            ticks: AtomicU64::new(0),
        }
    }

    /// Logs a message about the server itself.
    pub fn say(&self, what: &str) {
        self.log.format(format_args!("bactrian: {what}"));
    }

    /// Wakes the server's thread.
    pub fn ring(&self) {
        if process::is_child() || self.is_robbed.load(Ordering::Acquire) {
            return;
        }
        if let Some(bell) = &self.bell {
            bell.ring();
        }
    }

    /// Calls the evaluator.
    fn evaluate(&self, asked: &[ObserverId]) {
        let evaluator = lock(&self.evaluator).clone();
        if let Some(evaluator) = evaluator {
            evaluator(asked);
        }
    }

    pub fn add_marker(&self, text: &str) {
        let mut markers = lock(&self.markers);
        if markers.len() < MOST_MARKERS {
            markers.push(cut(text, LONGEST_MARKER));
        }
    }

    fn set_ended(&self) {
        lock(&self.state).ended = true;
        self.changed.notify_all();
    }

    fn end(&self, why: &str) {
        let deadline = Instant::now() + LONGEST_GOODBYE;
        let mut state = lock(&self.state);
        if state.end.is_none() {
            state.end = Some(why.to_owned());
        }
        // A closure of the program that we call may be the caller.
        if state.thread == Some(rustix::thread::gettid()) {
            return;
        }
        self.ring();
        while !state.ended {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            match self.changed.wait_timeout(state, left) {
                Ok((again, _)) => state = again,
                Err(_) => return,
            }
        }
    }
}
