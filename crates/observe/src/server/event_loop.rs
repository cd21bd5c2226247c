//! The server's thread: waits, takes clients in, ticks, sends.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use bactrian_live::wire::{self, Frame};
use bactrian_live::{Event, LogLine};
use rustix::event::{Timespec, epoll};
use rustix::io::Errno;
use rustix::net::{SocketFlags, accept_with, sockopt};
use rustix::process::{Resource, getrlimit, getuid};

use super::Shared;
use super::client::{Client, Fate, Piece, Protocol};
use super::listen::{self, Listener, Speaks};
use super::old::Old;
use super::sampler::Sampler;
use super::{control, own};
use crate::descriptors::{self, Owned};
use crate::process;
use crate::registry::lock;

/// Numbers by which `epoll` names what happened: the bell, listening sockets, and then clients, never the same twice.
const BELL: u64 = 0;
const FIRST_LISTENER: u64 = 1;
const FIRST_CLIENT: u64 = 16;

/// So many things that happened are looked at before the next tick may come.
const EVENTS_AT_ONCE: usize = 256;
/// So many clients are taken in before anyone else has a turn.
const ACCEPTED_AT_ONCE: usize = 128;
/// How long a client may take to greet.
const LONGEST_GREETING: Duration = Duration::from_secs(10);
/// So many descriptors are left to the program.
const LEFT_TO_PROGRAM: u64 = 128;
/// When descriptors or memory have run out, nobody is taken in for so long.
const REST: Duration = Duration::from_millis(500);

/// Serves until the program ends.
pub(crate) fn run(shared: &Arc<Shared>) {
    lock(&shared.state).thread = Some(rustix::thread::gettid());
    let (listeners, places) = listen::all(shared);
    lock(&shared.state).places = Some(places);
    shared.changed.notify_all();
    match EventLoop::new(shared, listeners) {
        Ok(mut it) => match it.serve() {
            Ending::Orderly(why) => it.say_goodbye(why),
            Ending::Robbed => it.abandon(),
        },
        Err(error) => shared.say(&format!("cannot show the program to anyone: {error}")),
    }
    if process::is_child() {
        return;
    }
    lock(&shared.state).clients = 0;
    shared.set_ended();
}

/// Why the loop ended.
enum Ending {
    /// The program ends, or wants no server any more; and what it says.
    Orderly(String),
    /// Someone has closed descriptors of ours.
    Robbed,
}

struct EventLoop<'a> {
    shared: &'a Arc<Shared>,
    epoll: Owned,
    listeners: Vec<Listener>,
    clients: HashMap<u64, Client>,
    next_client: u64,
    /// Who has to greet until when, the first first. Some may have done so, or have gone.
    strangers: VecDeque<(u64, Instant)>,
    sampler: Sampler,
    old: Old,
    /// The bytes of everything there is, until the next tick.
    everything: Everything,
    next_tick: Instant,
    /// Until then nobody is taken in.
    rests_until: Option<Instant>,
    /// Someone has come, has been let in, or has gone since they were counted.
    has_changed: bool,
    /// Numbers that found no place in the old protocol were spoken of.
    has_complained: bool,
    buffer: Vec<u8>,
}

#[derive(Default)]
struct Everything {
    own: Option<Piece>,
    own_history: Option<Piece>,
    /// With the newest lines of the log.
    old_first: Option<Piece>,
    /// Without, for who has seen them.
    old_again: Option<Piece>,
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
            epoll,
            listeners,
            clients: HashMap::new(),
            next_client: FIRST_CLIENT,
            strangers: VecDeque::new(),
            sampler: Sampler::new(shared.settings.period),
            old: Old::new(),
            everything: Everything::default(),
            next_tick: Instant::now(),
            rests_until: None,
            has_changed: false,
            has_complained: false,
            buffer: Vec::new(),
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
            match epoll::wait(self.epoll.get(), buffer, timeout.as_ref()) {
                Ok(_) | Err(Errno::INTR) => {}
                // A program that closes all descriptors it does not know has closed this one too. Whatever has our
                // numbers now is not ours. In the child of a fork we have done so ourselves.
                Err(_) => return Ending::Robbed,
            }
            if process::is_child() {
                return Ending::Robbed;
            }
            for event in &events {
                self.handle(event.data.u64(), event.flags);
            }
            self.send_strangers_away();
            self.wake_up();
            self.count_clients();
            if let Some(why) = lock(&self.shared.state).end.clone() {
                return Ending::Orderly(why);
            }
            if self.is_watched() {
                let wanted = self.shared.tick_wanted.swap(false, Ordering::AcqRel);
                if wanted || Instant::now() >= self.next_tick {
                    self.tick();
                }
                self.bring_up_to_date();
            }
            self.send_answers();
            self.count_clients();
        }
    }

    /// How long to wait; without anybody who watches there is no limit.
    fn timeout(&self) -> Option<Duration> {
        let now = Instant::now();
        let tick = self.is_watched().then(|| self.next_tick.saturating_duration_since(now));
        let stranger = self.strangers.front();
        let stranger = stranger.map(|(_, until)| until.saturating_duration_since(now));
        let rest = self.rests_until.map(|until| until.saturating_duration_since(now));
        tick.into_iter().chain(rest).chain(stranger).min()
    }

    fn is_watched(&self) -> bool {
        self.clients.values().any(Client::is_watching)
    }

    fn handle(&mut self, number: u64, flags: epoll::EventFlags) {
        if number == BELL {
            if let Some(bell) = &self.shared.bell {
                bell.quiet();
            }
        } else if number < FIRST_CLIENT {
            self.accept((number - FIRST_LISTENER) as usize);
        } else {
            self.handle_client(number, flags);
        }
    }

    fn accept(&mut self, listener: usize) {
        for _ in 0..ACCEPTED_AT_ONCE {
            let socket = &self.listeners[listener].socket;
            let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
            match Owned::open(|| Ok(accept_with(socket.get(), flags)?)) {
                Ok(socket) => self.welcome(listener, socket),
                Err(error) => match Errno::from_io_error(&error) {
                    Some(Errno::AGAIN) => return,
                    // It is gone already, or the network was at fault.
                    Some(Errno::INTR | Errno::CONNABORTED | Errno::PROTO) => {}
                    // Descriptors or memory have run out. The socket would say at once again that someone waits.
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
        // For those of the network; others refuse it.
        let _ = sockopt::set_tcp_nodelay(socket.get(), true);
        let _ = sockopt::set_socket_keepalive(socket.get(), true);
        let key = self.next_client;
        let protocol = match speaks {
            Speaks::Own { token } => {
                self.strangers.push_back((key, Instant::now() + LONGEST_GREETING));
                Protocol::Stranger { frames: Client::frames(), token: token.clone() }
            }
            Speaks::Old => Protocol::Old,
        };
        let data = epoll::EventData::new_u64(key);
        if epoll::add(self.epoll.get(), socket.get(), data, interest(false, false)).is_err() {
            return;
        }
        self.next_client += 1;
        self.has_changed = true;
        self.clients.insert(key, Client::new(socket, protocol));
    }

    /// Takes nobody in for a while.
    fn rest(&mut self) {
        self.rests_until = Some(Instant::now() + REST);
        for listener in &self.listeners {
            // Those that cannot be switched off are heard again, which is only a waste.
            let _ = epoll::delete(self.epoll.get(), listener.socket.get());
        }
    }

    fn wake_up(&mut self) {
        if self.rests_until.is_some_and(|until| Instant::now() >= until) {
            self.rests_until = None;
            for (number, listener) in (FIRST_LISTENER..).zip(&self.listeners) {
                let data = epoll::EventData::new_u64(number);
                if epoll::add(self.epoll.get(), listener.socket.get(), data, epoll::EventFlags::IN)
                    .is_err()
                {
                    self.rests_until = Some(Instant::now() + REST);
                }
            }
        }
    }

    fn handle_client(&mut self, key: u64, flags: epoll::EventFlags) {
        // It may have gone while others were looked at.
        let Some(mut client) = self.clients.remove(&key) else { return };
        let mut fate = Fate::Stays;
        if flags.intersects(epoll::EventFlags::ERR | epoll::EventFlags::HUP) {
            fate = Fate::Gone;
        }
        if fate == Fate::Stays && flags.contains(epoll::EventFlags::IN) {
            fate = self.hear(key, &mut client);
        }
        if fate == Fate::Stays && flags.contains(epoll::EventFlags::OUT) {
            fate = client.flush();
        }
        if fate == Fate::Stays {
            fate = self.adjust_interest(key, &mut client);
        }
        self.put_back(key, client, fate);
    }

    fn put_back(&mut self, key: u64, client: Client, fate: Fate) {
        self.has_changed |= fate == Fate::Gone;
        if fate == Fate::Stays {
            self.clients.insert(key, client);
        } else if client.is_robbed {
            client.socket.forget();
        } else {
            // While anyone else has the same connection open, closing it does not remove it.
            let _ = epoll::delete(self.epoll.get(), client.socket.get());
            client.hang_up();
        }
    }

    /// Has `epoll` tell what is still of interest.
    fn adjust_interest(&self, key: u64, client: &mut Client) -> Fate {
        let waits = !client.has_nothing_to_send();
        let data = epoll::EventData::new_u64(key);
        if waits == client.waits_for_room && !client.is_half_closed {
            return Fate::Stays;
        }
        client.waits_for_room = waits;
        match epoll::modify(
            self.epoll.get(),
            client.socket.get(),
            data,
            interest(waits, client.is_half_closed),
        ) {
            Ok(()) => Fate::Stays,
            Err(_) => Fate::Gone,
        }
    }

    /// Reads what a client says, and does it.
    fn hear(&mut self, key: u64, client: &mut Client) -> Fate {
        let mut buffer = std::mem::take(&mut self.buffer);
        let read = client.read(&mut buffer);
        let fate = match read {
            Ok(Some(count)) => self.listen_to(key, client, &buffer[..count]),
            // Who has said all that it had to say may go on listening, unless it has not even greeted.
            Ok(None) if client.is_half_closed && !client.is_watching() => Fate::Gone,
            Ok(None) => Fate::Stays,
            Err(_) => Fate::Gone,
        };
        self.buffer = buffer;
        fate
    }

    fn listen_to(&mut self, key: u64, client: &mut Client, bytes: &[u8]) -> Fate {
        let mut heard = Vec::new();
        match &mut client.protocol {
            // Its clients say nothing; who does is not one of them.
            Protocol::Old => return Fate::Gone,
            Protocol::Stranger { frames, .. } | Protocol::Own { frames } => {
                frames.push(bytes);
                loop {
                    match frames.next() {
                        Ok(Some(frame)) => heard.push(frame),
                        Ok(None) => break,
                        Err(_) => return Fate::Gone,
                    }
                }
            }
        }
        for frame in &heard {
            if self.obey(key, client, frame) == Fate::Gone {
                return Fate::Gone;
            }
        }
        client.flush()
    }

    fn obey(&mut self, key: u64, client: &mut Client, frame: &Frame) -> Fate {
        if client.is_leaving {
            return Fate::Stays;
        }
        if let Protocol::Stranger { token, .. } = &client.protocol {
            let Ok(greeting) = wire::take_greeting(frame) else { return Fate::Gone };
            let (reply, is_let_in) = own::answer(&greeting, token.as_deref());
            let mut bytes = Vec::new();
            wire::put_reply(&mut bytes, &reply);
            client.push_answer(bytes);
            client.greeted(is_let_in);
            self.has_changed = true;
            return Fate::Stays;
        }
        match wire::take_control(frame) {
            Ok(Some(wish)) => {
                control::obey(self.shared, &self.sampler, key, wish.request, wish.action)
            }
            // Something of a later version.
            Ok(None) => {}
            Err(_) => return Fate::Gone,
        }
        Fate::Stays
    }

    /// Those who did not greet in time.
    fn send_strangers_away(&mut self) {
        let now = Instant::now();
        while let Some((key, until)) = self.strangers.front().copied() {
            let is_stranger =
                |client: &Client| matches!(client.protocol, Protocol::Stranger { .. });
            let is_waited_for = self.clients.get(&key).is_some_and(is_stranger);
            if is_waited_for && now < until {
                return;
            }
            self.strangers.pop_front();
            if let Some(client) = self.clients.remove(&key) {
                let fate = if is_waited_for { Fate::Gone } else { Fate::Stays };
                self.put_back(key, client, fate);
            }
        }
    }

    fn tick(&mut self) {
        self.sampler.tick(self.shared, false);
        // After the sampling, which may have found a shorter period. Ticks that were missed are not made up for.
        self.next_tick = Instant::now() + self.sampler.period();
        self.shared.ticks.fetch_add(1, Ordering::Relaxed);
        self.tell();
    }

    /// Tells everybody what is new.
    fn tell(&mut self) {
        self.everything = Everything::default();
        self.old.number(&self.sampler);
        if self.old.without_number > 0 && !self.has_complained {
            self.has_complained = true;
            self.shared.say("more observers than Ocamlviz has numbers for: the newest are shown by Bactrian only");
        }
        let new = self.shared.log.take_new();
        let markers = std::mem::take(&mut *lock(&self.shared.markers));
        let mut own: Option<Piece> = None;
        let mut old: Option<Piece> = None;
        let keys: Vec<u64> = self.clients.keys().copied().collect();
        for key in keys {
            let Some(mut client) = self.clients.remove(&key) else { continue };
            client.dropped.lines += new.lost;
            client.has_missed |= new.lost > 0;
            let piece = if client.is_own() {
                own.get_or_insert_with(|| own::news(&self.sampler, &new.lines, &markers).into())
            } else if client.is_old() {
                old.get_or_insert_with(|| {
                    let lines = with_losses(&new.lines, new.lost, self.sampler.stamp.at);
                    self.old.news(&self.sampler, &lines, &markers).into()
                })
            } else {
                self.clients.insert(key, client);
                continue;
            };
            if client.is_current && client.has_room(piece.len()) {
                if client.has_missed && client.is_own() {
                    client.has_missed = false;
                    client.push_answer(own::dropped(client.dropped));
                }
                client.push(piece);
            } else {
                if client.has_begun {
                    client.dropped.ticks += 1;
                    client.dropped.lines += new.lines.len() as u64;
                    client.has_missed = true;
                }
                client.is_current = false;
            }
            let mut fate = client.flush();
            if fate == Fate::Stays {
                fate = self.adjust_interest(key, &mut client);
            }
            self.put_back(key, client, fate);
        }
    }

    /// Gives everything there is to those who have just come, and to those who have missed something and read again.
    fn bring_up_to_date(&mut self) {
        let is_behind = |client: &Client| {
            client.is_watching() && !client.is_current && client.has_nothing_to_send()
        };
        let behind = self.clients.iter().filter(|(_, client)| is_behind(client));
        let behind: Vec<u64> = behind.map(|(key, _)| *key).collect();
        if behind.is_empty() {
            return;
        }
        for key in behind {
            let Some(mut client) = self.clients.remove(&key) else { continue };
            if client.is_own() {
                if !client.has_begun {
                    let mut bytes = Vec::new();
                    wire::put_event(&mut bytes, &own::hello(self.shared));
                    client.push(&bytes.into());
                }
                if client.has_missed {
                    client.push_answer(own::dropped(client.dropped));
                }
                let (sampler, everything) = (&self.sampler, &mut self.everything);
                client.push(everything.own.get_or_insert_with(|| own::everything(sampler).into()));
                if !client.has_begun {
                    let history = || {
                        let mut bytes = Vec::new();
                        own::put_lines(&mut bytes, &self.shared.log.history());
                        bytes.into()
                    };
                    client.push(everything.own_history.get_or_insert_with(history));
                }
            } else {
                let old = &self.old;
                let (sampler, everything) = (&self.sampler, &mut self.everything);
                if client.has_begun {
                    let all = || old.everything(sampler, &[]).into();
                    client.push(everything.old_again.get_or_insert_with(all));
                } else {
                    let all = || old.everything(sampler, &self.shared.log.history()).into();
                    client.push(everything.old_first.get_or_insert_with(all));
                }
            }
            client.has_begun = true;
            client.has_missed = false;
            client.is_current = true;
            let mut fate = client.flush();
            if fate == Fate::Stays {
                fate = self.adjust_interest(key, &mut client);
            }
            self.put_back(key, client, fate);
        }
    }

    fn send_answers(&mut self) {
        for answer in self.shared.hooks.take_answers() {
            // Whoever asked may have gone.
            let Some(mut client) = self.clients.remove(&answer.client) else { continue };
            let mut bytes = Vec::new();
            let (request, result) = (answer.request, answer.result);
            wire::put_event(&mut bytes, &Event::Answer { request, result });
            client.push_answer(bytes);
            let mut fate = client.flush();
            if fate == Fate::Stays {
                fate = self.adjust_interest(answer.client, &mut client);
            }
            self.put_back(answer.client, client, fate);
        }
    }

    /// The last values, and that it is over. Nobody is waited for.
    fn say_goodbye(mut self, why: String) {
        self.listeners.iter().for_each(Listener::clean_up);
        if self.is_watched() {
            self.sampler.tick(self.shared, true);
            self.tell();
            self.bring_up_to_date();
        }
        let mut end = Vec::new();
        wire::put_event(&mut end, &Event::End(why));
        let end: Piece = end.into();
        for (_, mut client) in self.clients.drain() {
            if client.is_own() {
                client.push(&end);
            }
            client.flush();
            // Not hung up, which could throw away what is on its way; closing is enough, since the process ends.
        }
    }

    /// Goes without touching any descriptor.
    fn abandon(self) {
        self.shared.is_robbed.store(true, Ordering::Release);
        if !process::is_child() {
            self.listeners.iter().for_each(Listener::clean_up);
        }
        self.epoll.forget();
        self.clients.into_values().for_each(|client| client.socket.forget());
        self.listeners.into_iter().for_each(|listener| listener.socket.forget());
    }

    fn count_clients(&mut self) {
        if !std::mem::take(&mut self.has_changed) {
            return;
        }
        let watching = self.clients.values().filter(|client| client.is_watching()).count();
        let mut state = lock(&self.shared.state);
        if state.clients != watching {
            state.clients = watching;
            self.shared.changed.notify_all();
        }
    }
}

/// Lines, and how many are missing before them.
fn with_losses(lines: &[LogLine], lost: u64, at: u64) -> Vec<LogLine> {
    let missing =
        (lost > 0).then(|| LogLine { at, text: format!("({lost} lines were lost here)") });
    missing.into_iter().chain(lines.iter().cloned()).collect()
}

fn interest(waits_for_room: bool, is_half_closed: bool) -> epoll::EventFlags {
    let mut flags = epoll::EventFlags::empty();
    flags.set(epoll::EventFlags::OUT, waits_for_room);
    // It would say for ever that there is an end to be read.
    flags.set(epoll::EventFlags::IN, !is_half_closed);
    flags
}

/// On a Unix socket only this user's programs are let in, and those of root. On the network the token decides.
fn is_trusted(socket: &Owned, speaks: &Speaks) -> bool {
    if *speaks != (Speaks::Own { token: None }) {
        return true;
    }
    sockopt::socket_peercred(socket.get())
        .is_ok_and(|peer| peer.uid == getuid() || peer.uid.is_root())
}
