//! The server: one thread of its own that shows clients what the program lets be observed.
//!
//! # How it works
//!
//! The thread waits in `epoll` for its listening sockets, its clients, and a bell by which the program can wake it. As
//! long as nobody watches it waits without a time limit, so that a program that nobody watches is not disturbed at all.
//! With a client there is a tick every period ([`event_loop`]): new observers are declared, those that are due are read
//! ([`sampler`]), and what is to be sent is put into bytes once for each of the two protocols ([`own`], [`old`]); all
//! clients ([`audience`]) share those bytes, and what they say themselves is doubted ([`hearing`]). Closures of the
//! program are called on another thread ([`closures`]), because one that never returns must not silence the others.
//!
//! A client has a queue of such pieces, limited in bytes ([`client`]). Who does not read gets whole ticks left out, and
//! when the queue is empty again everything there is, as if it had just come, with the number of ticks it missed. So a
//! frame is never cut, and a slow client costs what its queue may hold at most.
//!
//! Nothing here may end or hang the program: what goes wrong is said in the log.

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

use bactrian_live::{Kind, ObserverId, Value};
use bell::Bell;

use crate::log::Log;
use crate::name::{Name, cut};
use crate::process;
use crate::registry::{Closure, Handle, Origin, Registry, Source, lock};
use crate::settings::{Live, Settings};

pub use control::Reply;

/// How long the end of the program may wait for the server to say goodbye.
const LONGEST_GOODBYE: Duration = Duration::from_millis(500);
/// How long the program may wait until everything is shown: what it wants to be seen, not what it needs.
const LONGEST_SHOW: Duration = Duration::from_millis(500);
/// So many markers wait for the next tick.
const MOST_MARKERS: usize = 100;
/// A marker's text is cut to this.
const LONGEST_MARKER: usize = 1000;

/// What shows a program to its clients.
pub struct Server {
    shared: Arc<Shared>,
}

/// What the program's threads and the server's have in common.
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
    /// Wakes the server's thread.
    bell: Option<Bell>,
    /// The program has closed descriptors of ours.
    is_robbed: AtomicBool,
    ticks: AtomicU64,
}

type Evaluator = dyn Fn(&[ObserverId]) + Send + Sync;

#[derive(Debug, Default)]
struct State {
    clients: usize,
    /// Where the server listens, once it does.
    places: Option<Places>,
    /// Why it is to end.
    end: Option<String>,
    /// It has ended, or never began.
    ended: bool,
    /// The server's thread.
    thread: Option<rustix::process::Pid>,
    /// How often the program wanted everything to be shown, and which of these wishes have been met.
    wanted: u64,
    shown: u64,
}

/// Where a server can be reached.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places {
    /// The Unix socket of our own protocol.
    pub socket: Option<PathBuf>,
    /// The address of our own protocol on the network.
    pub network: Option<SocketAddr>,
    /// The address of Ocamlviz's protocol.
    pub ocamlviz: Option<SocketAddr>,
}

/// The program's server, as the environment wants it. It starts when this is called first.
pub fn server() -> &'static Server {
    static SERVER: OnceLock<Server> = OnceLock::new();
    static NONE: OnceLock<Server> = OnceLock::new();
    if let Some(server) = SERVER.get() {
        return server;
    }
    if process::is_child() {
        // Another thread may have been about to start it when the process forked; it will never come back.
        return NONE
            .get_or_init(|| Server { shared: Arc::new(Shared::new(Settings::default(), None)) });
    }
    process::prepare();
    SERVER.get_or_init(|| Server::start(Settings::from_environment()))
}

impl Server {
    /// Starts a server. Whatever goes wrong is said in its log.
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

    /// Something is observed from now on.
    pub fn declare(&self, kind: Kind, name: impl Into<Name>, origin: Origin) -> Handle {
        self.shared.registry.add(kind, name.into(), origin.source(kind))
    }

    /// Observes what `read` says. It is called by the server's thread at a tick, so it must be quick and must not panic:
    /// for libraries of other languages, whose programs count in memory of their own.
    pub fn declare_read<F>(&self, kind: Kind, name: impl Into<Name>, read: F) -> Handle
    where
        F: Fn() -> Value + Send + Sync + 'static,
    {
        self.shared.registry.add(kind, name.into(), Source::Read(Box::new(read)))
    }

    /// The observer of this kind, name and labels, if it is alive.
    pub fn find(&self, kind: Kind, name: &Name) -> Option<Handle> {
        self.shared.registry.find(kind, name)
    }

    /// Observes what a closure says. It is called on a thread of the server, as often as the observer is due and
    /// somebody watches. A panic is shown as this observer's failure.
    pub fn watch<F>(&self, kind: Kind, name: impl Into<Name>, closure: F) -> Handle
    where
        F: FnMut() -> Value + Send + 'static,
    {
        let call = Closure { closure: Box::new(closure), failures: 0 };
        let source = Source::Closure { call: Mutex::new(call), fresh: Mutex::new(None) };
        self.shared.registry.add(kind, name.into(), source)
    }

    /// Sets who asks the program for values of [`Origin::Asked`]. It is called on the server's thread at each tick, with
    /// those that are due and not asked yet, and must return soon; each answer comes by [`Handle::publish`], whenever
    /// it comes. If there are none it is called too, so that it may ask again for what was asked long ago.
    pub fn set_evaluator(&self, evaluator: impl Fn(&[ObserverId]) + Send + Sync + 'static) {
        if !process::is_child() {
            *lock(&self.shared.evaluator) = Some(Arc::new(evaluator));
        }
    }

    /// Says what language the program is written in, with its version, for people.
    pub fn set_runtime(&self, runtime: &str) {
        if !process::is_child() {
            *lock(&self.shared.runtime) = cut(runtime, LONGEST_MARKER);
        }
    }

    /// Sets who takes snapshots when a client asks for one.
    pub fn on_snapshot(&self, hook: impl Fn(&str, Reply) + Send + Sync + 'static) {
        if !process::is_child() {
            self.shared.hooks.set_snapshot(hook);
        }
    }

    /// Sets who starts and stops sampling when a client asks for it.
    pub fn on_sampling(&self, hook: impl Fn(bool, Reply) + Send + Sync + 'static) {
        if !process::is_child() {
            self.shared.hooks.set_sampling(hook);
        }
    }

    /// Adds a line to the log.
    pub fn log(&self, line: &[u8]) {
        self.shared.log.add(line);
    }

    /// Adds a line to the log, from its parts; [`crate::log!`] calls this.
    pub fn log_format(&self, line: fmt::Arguments<'_>) {
        self.shared.log.format(line);
    }

    /// Asks whoever watches to stop here and look: they are shown all values as they are here.
    pub fn marker(&self, text: &str) {
        self.add_marker(text);
        self.show_now();
    }

    /// Asks them to stop with the next tick, for who then has everything shown in another way than [`Server::marker`].
    pub fn add_marker(&self, text: &str) {
        if !process::is_child() {
            self.shared.add_marker(text);
        }
    }

    /// Shows whoever watches all values as they are now: when this comes back they have been put down, and may change. What the
    /// program has to be asked for is shown as it said it last.
    pub fn show_now(&self) {
        if process::is_child() {
            return;
        }
        let shared = &self.shared;
        let mut state = lock(&shared.state);
        // A closure of the program, called by us, may want it.
        if state.clients == 0 || state.ended || state.thread == Some(rustix::thread::gettid()) {
            return;
        }
        state.wanted += 1;
        let wish = state.wanted;
        shared.ring();
        let is_hidden = |state: &mut State| state.shown < wish && !state.ended && state.clients > 0;
        drop(shared.changed.wait_timeout_while(state, LONGEST_SHOW, is_hidden));
    }

    /// How many clients watch.
    pub fn clients(&self) -> usize {
        if process::is_child() { 0 } else { lock(&self.shared.state).clients }
    }

    /// Waits until so many clients watch. Does not wait in the child of a fork, or if there is no server.
    pub fn wait_for_clients(&self, count: usize) {
        while !self.wait_for_clients_for(count, Duration::from_secs(3600)) {}
    }

    /// The same, but no longer than this. Says whether there is nothing more to wait for.
    pub fn wait_for_clients_for(&self, count: usize, longest: Duration) -> bool {
        self.wait(longest, |state| state.clients >= count)
    }

    /// Waits until no client watches, but no longer than this. Says whether there is nothing more to wait for.
    pub fn wait_for_no_clients(&self, longest: Duration) -> bool {
        self.wait(longest, |state| state.clients == 0)
    }

    /// Where the server can be reached, as soon as it listens.
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

    /// How many ticks there were.
    pub fn ticks(&self) -> u64 {
        self.shared.ticks.load(Ordering::Relaxed)
    }

    /// Ends the server: clients are told, its socket is taken away. Waits for that half a second at most. A program
    /// that ends in an orderly way need not call this.
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

    /// Says something about the server itself.
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

    /// Has the program asked for values.
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
        // A closure of the program, called by us, may be what ends it.
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
