//! The server's thread: waits, accepts clients, ticks, sends.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use rustix::event::{Timespec, epoll};
use rustix::io::Errno;
use rustix::net::{SocketFlags, accept_with, sockopt};
use rustix::process::{Resource, getrlimit, getuid};

use super::Shared;
use super::audience::{Audience, FIRST_CLIENT};
use super::client::{Client, Protocol};
use super::listen::{self, Listener, Speaks};
use super::sampler::{Sampler, Tick};
use crate::clock;
use crate::descriptors::{self, Owned};
use crate::process;
use crate::registry::lock;

/// Epoll keys: the bell, listening sockets, then clients.
const BELL: u64 = 0;
const FIRST_LISTENER: u64 = 1;

/// The most events handled before the next tick may come.
const EVENTS_AT_ONCE: usize = 256;
/// The most connections accepted before anything else gets a turn.
const ACCEPTED_AT_ONCE: usize = 128;
/// The number of descriptors that are left to the program.
const LEFT_TO_PROGRAM: u64 = 128;
/// How long no connection is accepted after descriptors or memory have run out.
const REST: Duration = Duration::from_millis(500);

/// Serves until the program ends.
pub(crate) fn run(shared: &Arc<Shared>) {
    lock(&shared.state).thread = Some(rustix::thread::gettid());
    // These read files, so they are called before any descriptor of ours exists. Later, a program that closes
    // all descriptors could close such a file while it is open; we would then close whatever got its number.
    let _ = (clock::now(), process::run());
    let (listeners, places) = listen::all(shared);
    lock(&shared.state).places = Some(places);
    shared.changed.notify_all();
    match EventLoop::new(shared, listeners) {
        Ok(mut it) => match it.serve() {
            Ending::Orderly(why) => it.say_goodbye(why),
            Ending::Robbed => it.abandon(),
        },
        Err(error) => {
            shared.say(&format!("cannot start the server of the observed program: {error}"))
        }
    }
    if process::is_child() {
        return;
    }
    lock(&shared.state).clients = 0;
    shared.set_ended();
}

/// Why the loop ended.
enum Ending {
    /// The program ends, or no longer wants a server; with the message for clients.
    Orderly(String),
    /// The program has closed descriptors of ours.
    Robbed,
}

struct EventLoop<'a> {
    shared: &'a Arc<Shared>,
    audience: Audience<'a>,
    listeners: Vec<Listener>,
    sampler: Sampler,
    next_tick: Instant,
    /// Until then no connection is accepted.
    rests_until: Option<Instant>,
}

impl<'a> EventLoop<'a> {
    fn new(shared: &'a Arc<Shared>, listeners: Vec<Listener>) -> io::Result<EventLoop<'a>> {
        match EventLoop::watch(shared, &listeners) {
            Ok(epoll) => Ok(EventLoop::with(shared, epoll, listeners)),
            Err(error) => {
                listeners.iter().for_each(Listener::clean_up);
                Err(error)
            }
        }
    }

    fn watch(shared: &Shared, listeners: &[Listener]) -> io::Result<Owned> {
        let epoll = Owned::open(|| Ok(epoll::create(epoll::CreateFlags::CLOEXEC)?))?;
        if let Some(bell) = &shared.bell {
            let data = epoll::EventData::new_u64(BELL);
            epoll::add(epoll.get(), bell.heard_at(), data, epoll::EventFlags::IN)?;
        }
        for (number, listener) in (FIRST_LISTENER..).zip(listeners) {
            let data = epoll::EventData::new_u64(number);
            epoll::add(epoll.get(), listener.socket.get(), data, epoll::EventFlags::IN)?;
        }
        Ok(epoll)
    }

    fn with(shared: &'a Arc<Shared>, epoll: Owned, listeners: Vec<Listener>) -> EventLoop<'a> {
        EventLoop {
            shared,
            audience: Audience::new(shared, epoll),
            listeners,
            sampler: Sampler::new(shared.settings.period),
            next_tick: Instant::now(),
            rests_until: None,
        }
    }

    fn serve(&mut self) -> Ending {
        let mut events = Vec::with_capacity(EVENTS_AT_ONCE);
        loop {
            let timeout = self.timeout().map(|left| Timespec {
                tv_sec: left.as_secs() as i64,
                tv_nsec: left.subsec_nanos().into(),
            });
            events.clear();
            let buffer = rustix::buffer::spare_capacity(&mut events);
            match epoll::wait(self.audience.epoll.get(), buffer, timeout.as_ref()) {
                Ok(_) | Err(Errno::INTR) => {}
                // A program that closes all descriptors it does not know has closed this one too; whatever
                // has our numbers now is not ours. In the child of a fork we have closed it ourselves.
                Err(_) => return Ending::Robbed,
            }
            if process::is_child() {
                return Ending::Robbed;
            }
            for event in &events {
                self.handle(event.data.u64(), event.flags);
            }
            self.audience.decide_on_strangers();
            self.wake_up();
            self.audience.count();
            if let Some(why) = lock(&self.shared.state).end.clone() {
                return Ending::Orderly(why);
            }
            if self.audience.is_watching() {
                let (wanted, shown) = {
                    let state = lock(&self.shared.state);
                    (state.wanted, state.shown)
                };
                if wanted > shown {
                    self.tick(Tick::Wanted);
                    lock(&self.shared.state).shown = wanted;
                    self.shared.changed.notify_all();
                } else if Instant::now() >= self.next_tick {
                    self.tick(Tick::Due);
                }
                self.audience.bring_up_to_date(&self.sampler);
            }
            self.audience.send_answers();
            self.audience.count();
            if self.audience.is_robbed {
                return Ending::Robbed;
            }
        }
    }

    /// How long to wait; without clients there is no limit.
    fn timeout(&self) -> Option<Duration> {
        let now = Instant::now();
        let tick = self.audience.is_watching().then_some(self.next_tick);
        let first = [tick, self.audience.deadline(), self.rests_until].into_iter().flatten().min();
        first.map(|first| first.saturating_duration_since(now))
    }

    fn handle(&mut self, number: u64, flags: epoll::EventFlags) {
        if number == BELL {
            if let Some(bell) = &self.shared.bell {
                bell.quiet();
            }
        } else if number < FIRST_CLIENT {
            self.accept((number - FIRST_LISTENER) as usize);
        } else {
            self.audience.handle(number, flags, &self.sampler);
        }
    }

    fn accept(&mut self, listener: usize) {
        for _ in 0..ACCEPTED_AT_ONCE {
            let socket = &self.listeners[listener].socket;
            if socket.is_robbed() {
                return;
            }
            let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
            match Owned::open(|| Ok(accept_with(socket.get(), flags)?)) {
                Ok(socket) => self.welcome(listener, socket),
                Err(error) => match Errno::from_io_error(&error) {
                    Some(Errno::AGAIN) => return,
                    // The peer has gone already, or the network failed.
                    Some(Errno::INTR | Errno::CONNABORTED | Errno::PROTO) => {}
                    // Descriptors or memory have run out; the listening socket would stay readable.
                    _ => return self.rest(),
                },
            }
        }
    }

    fn welcome(&mut self, listener: usize, socket: Owned) {
        use std::os::fd::AsRawFd;
        let limit = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        let number = u64::try_from(socket.get().as_raw_fd()).unwrap_or(u64::MAX);
        let is_free =
            number < limit.saturating_sub(LEFT_TO_PROGRAM) && number < descriptors::HIGHEST as u64;
        let speaks = &self.listeners[listener].speaks;
        if !is_free || !is_trusted(&socket, speaks) {
            return;
        }
        // For TCP; Unix sockets refuse it.
        let _ = sockopt::set_tcp_nodelay(socket.get(), true);
        let _ = sockopt::set_socket_keepalive(socket.get(), true);
        let stranger =
            Protocol::Stranger { frames: Client::frames(), heard: 0, at: speaks.clone() };
        self.audience.add(socket, stranger);
    }

    /// Accepts no connection for a while.
    fn rest(&mut self) {
        self.rests_until = Some(Instant::now() + REST);
        for listener in &self.listeners {
            // A listener that cannot be removed only wakes us in vain.
            let _ = epoll::delete(self.audience.epoll.get(), listener.socket.get());
        }
    }

    fn wake_up(&mut self) {
        if self.rests_until.is_some_and(|until| Instant::now() >= until) {
            self.rests_until = None;
            for (number, listener) in (FIRST_LISTENER..).zip(&self.listeners) {
                let data = epoll::EventData::new_u64(number);
                let socket = listener.socket.get();
                match epoll::add(self.audience.epoll.get(), socket, data, epoll::EventFlags::IN) {
                    Ok(()) | Err(Errno::EXIST) => {}
                    Err(_) => self.rests_until = Some(Instant::now() + REST),
                }
            }
        }
    }

    fn tick(&mut self, tick: Tick) {
        self.sampler.tick(self.shared, tick);
        // After sampling, which may have found a shorter period. Missed ticks are not made up for.
        self.next_tick = Instant::now() + self.sampler.period();
        self.shared.ticks.fetch_add(1, Ordering::Relaxed);
        self.audience.tell(&self.sampler);
    }

    /// Sends the last values and the end.
    fn say_goodbye(mut self, why: String) {
        self.listeners.iter().for_each(Listener::clean_up);
        if self.audience.is_watching() {
            self.sampler.tick(self.shared, Tick::Last);
            self.audience.tell(&self.sampler);
            self.audience.bring_up_to_date(&self.sampler);
        }
        self.audience.say_goodbye(why);
    }

    /// Leaves without touching any descriptor.
    fn abandon(self) {
        self.shared.is_robbed.store(true, Ordering::Release);
        if !process::is_child() {
            self.listeners.iter().for_each(Listener::clean_up);
        }
        self.audience.abandon();
        self.listeners.into_iter().for_each(|listener| listener.socket.forget());
    }
}

/// On a Unix socket, only programs of this user and of root are accepted. On the network, the token decides.
fn is_trusted(socket: &Owned, speaks: &Speaks) -> bool {
    if *speaks != (Speaks::Own { token: None }) {
        return true;
    }
    sockopt::socket_peercred(socket.get())
        .is_ok_and(|peer| peer.uid == getuid() || peer.uid.is_root())
}
