//! All clients, and what is sent to them.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bactrian_live::wire;
use bactrian_live::{Event, LogLine};
use rustix::event::epoll;

use super::client::{Client, Fate, Piece, Protocol};
use super::listen::Speaks;
use super::old::Old;
use super::sampler::Sampler;
use super::{Shared, own};
use crate::descriptors::Owned;
use crate::registry::lock;

/// The first epoll key of a client. Keys are never reused.
pub(crate) const FIRST_CLIENT: u64 = 16;

/// How long a client may take to greet.
const LONGEST_GREETING: Duration = Duration::from_secs(10);
/// A client on the Ocamlviz port that is silent for this long is taken for one of Ocamlviz's. Our own clients
/// greet at once.
const SILENCE: Duration = Duration::from_millis(50);
/// The most clients that have not greeted yet; beyond that the oldest is disconnected.
const MOST_STRANGERS: usize = 1000;

pub(crate) struct Audience<'a> {
    pub(super) shared: &'a Arc<Shared>,
    pub(super) epoll: Owned,
    clients: HashMap<u64, Client>,
    next_client: u64,
    /// Greeting deadlines, the earliest first. Some of these clients may have greeted or gone since.
    strangers: BTreeSet<(Instant, u64)>,
    old: Old,
    /// The encoded full state, valid until the next tick.
    everything: Everything,
    /// A client has connected, been accepted or gone since the last count.
    pub(super) has_changed: bool,
    /// Whether the log already mentions observers for which the old protocol had no number left.
    has_complained: bool,
    /// The program has closed descriptors of ours, and may be closing the others at this moment: none is used
    /// any more.
    pub is_robbed: bool,
    /// For reading from clients.
    pub(super) buffer: Vec<u8>,
}

#[derive(Default)]
struct Everything {
    own: Option<Piece>,
    own_history: Option<Piece>,
    /// Including the newest log lines.
    old_first: Option<Piece>,
    /// Without log lines, for clients that have seen them.
    old_again: Option<Piece>,
}

impl<'a> Audience<'a> {
    pub fn new(shared: &'a Arc<Shared>, epoll: Owned) -> Audience<'a> {
        Audience {
            shared,
            epoll,
            clients: HashMap::new(),
            next_client: FIRST_CLIENT,
            strangers: BTreeSet::new(),
            old: Old::new(),
            everything: Everything::default(),
            has_changed: false,
            has_complained: false,
            is_robbed: false,
            buffer: Vec::new(),
        }
    }

    /// Adds a client.
    pub fn add(&mut self, socket: Owned, protocol: Protocol) {
        let key = self.next_client;
        let data = epoll::EventData::new_u64(key);
        if epoll::add(self.epoll.get(), socket.get(), data, interest(false, false)).is_err() {
            return;
        }
        self.next_client += 1;
        self.has_changed = true;
        if let Protocol::Stranger { at, .. } = &protocol {
            let patience = if *at == Speaks::Old { SILENCE } else { LONGEST_GREETING };
            self.strangers.insert((Instant::now() + patience, key));
            // A client that has greeted since is only removed from the list here.
            if self.strangers.len() > MOST_STRANGERS {
                self.decide_on_first_stranger();
            }
        }
        self.clients.insert(key, Client::new(socket, protocol));
    }

    /// Whether any client is watching.
    pub fn is_watching(&self) -> bool {
        self.clients.values().any(Client::is_watching)
    }

    /// The earliest greeting deadline.
    pub fn deadline(&self) -> Option<Instant> {
        self.strangers.first().map(|(until, _)| *until)
    }

    /// Handles an epoll event of a client.
    pub fn handle(&mut self, key: u64, flags: epoll::EventFlags, sampler: &Sampler) {
        // It may have gone while others were handled.
        let Some(mut client) = self.clients.remove(&key) else { return };
        let mut fate = Fate::Stays;
        // Also reads from a client that has gone since, because its last request counts.
        if flags.contains(epoll::EventFlags::IN) {
            fate = self.hear(key, &mut client, sampler);
        }
        if flags.intersects(epoll::EventFlags::ERR | epoll::EventFlags::HUP) {
            fate = Fate::Gone;
        }
        match fate {
            Fate::Stays => self.send(key, client),
            Fate::Gone => self.put_back(key, client, fate),
        }
    }

    /// Sends queued data, as far as possible.
    fn send(&mut self, key: u64, mut client: Client) {
        let mut fate = client.flush();
        if fate == Fate::Stays {
            fate = self.adjust_interest(key, &mut client);
        }
        self.put_back(key, client, fate);
    }

    fn put_back(&mut self, key: u64, client: Client, fate: Fate) {
        self.has_changed |= fate == Fate::Gone;
        self.is_robbed |= client.socket.is_robbed();
        if fate == Fate::Stays {
            self.clients.insert(key, client);
        } else if self.is_robbed {
            client.socket.forget();
        } else {
            // Closing does not remove it from the epoll set while another process has the same open file
            // description.
            let _ = epoll::delete(self.epoll.get(), client.socket.get());
            client.hang_up();
        }
    }

    /// Updates the events that epoll reports for this client.
    fn adjust_interest(&mut self, key: u64, client: &mut Client) -> Fate {
        let waits = !client.has_nothing_to_send();
        let data = epoll::EventData::new_u64(key);
        if waits == client.waits_for_room && !client.is_half_closed {
            return Fate::Stays;
        }
        client.waits_for_room = waits;
        let flags = interest(waits, client.is_half_closed);
        match epoll::modify(self.epoll.get(), client.socket.get(), data, flags) {
            Ok(()) => Fate::Stays,
            Err(error) => {
                self.is_robbed |= error != rustix::io::Errno::NOMEM;
                Fate::Gone
            }
        }
    }

    /// Decides on clients that did not greet in time.
    pub fn decide_on_strangers(&mut self) {
        let now = Instant::now();
        while let Some((until, key)) = self.strangers.first() {
            if self.clients.get(key).is_some_and(Client::is_stranger) && now < *until {
                return;
            }
            self.decide_on_first_stranger();
        }
    }

    /// Stops waiting for the client with the earliest deadline. If it has not greeted, it is either an
    /// Ocamlviz client or none of ours.
    fn decide_on_first_stranger(&mut self) {
        let Some((_, key)) = self.strangers.pop_first() else { return };
        let Some(client) = self.clients.get_mut(&key).filter(|client| client.is_stranger()) else {
            return;
        };
        if client.is_silent_stranger() {
            client.says_nothing();
            self.has_changed = true;
        } else if let Some(client) = self.clients.remove(&key) {
            self.put_back(key, client, Fate::Gone);
        }
    }

    /// Queues what is new for all clients.
    pub fn tell(&mut self, sampler: &Sampler) {
        self.everything = Everything::default();
        self.old.number(sampler);
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
                own.get_or_insert_with(|| own::news(sampler, &new.lines, &markers).into())
            } else if client.is_old() {
                old.get_or_insert_with(|| {
                    let lines = with_losses(&new.lines, new.lost, sampler.stamp.at);
                    self.old.news(sampler, &lines, &markers).into()
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
            self.send(key, client);
        }
    }

    /// Queues the full state for clients that are new, and for those that missed ticks and have read their
    /// queue empty.
    pub fn bring_up_to_date(&mut self, sampler: &Sampler) {
        let is_behind = |client: &Client| {
            client.is_watching() && !client.is_current && client.has_nothing_to_send()
        };
        let behind = self.clients.iter().filter(|(_, client)| is_behind(client));
        let behind: Vec<u64> = behind.map(|(key, _)| *key).collect();
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
                let everything = &mut self.everything;
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
                let everything = &mut self.everything;
                if client.has_begun {
                    let all = || old.everything(sampler, &[]).into();
                    client.push(everything.old_again.get_or_insert_with(all));
                } else {
                    let all = || old.everything(sampler, &self.shared.log.history()).into();
                    client.push(everything.old_first.get_or_insert_with(all));
                }
            }
            self.has_changed |= !client.has_begun;
            client.has_begun = true;
            client.has_missed = false;
            client.is_current = true;
            self.send(key, client);
        }
    }

    /// Queues answers to clients' requests.
    pub fn send_answers(&mut self) {
        for answer in self.shared.hooks.take_answers() {
            // The requesting client may have gone.
            let Some(mut client) = self.clients.remove(&answer.client) else { continue };
            let mut bytes = Vec::new();
            let (request, result) = (answer.request, answer.result);
            wire::put_event(&mut bytes, &Event::Answer { request, result });
            client.push_answer(bytes);
            self.send(answer.client, client);
        }
    }

    /// Sends the end to all clients, without waiting.
    pub fn say_goodbye(self, why: String) {
        let mut end = Vec::new();
        wire::put_event(&mut end, &Event::End(why));
        let end: Piece = end.into();
        for mut client in self.clients.into_values() {
            if client.is_own() {
                client.push(&end);
            }
            client.flush();
            // A shutdown could discard data in flight; closing, which happens as the process ends, does not.
        }
    }

    /// Drops all clients without touching any descriptor.
    pub fn abandon(self) {
        self.epoll.forget();
        self.clients.into_values().for_each(|client| client.socket.forget());
    }

    /// Updates the number of clients that the program sees.
    pub fn count(&mut self) {
        if !std::mem::take(&mut self.has_changed) {
            return;
        }
        // A program may wait for a client and then set a marker, so only clients that will receive this
        // marker are counted.
        let watches = |client: &&Client| client.is_watching() && client.has_begun;
        let watching = self.clients.values().filter(watches).count();
        let mut state = lock(&self.shared.state);
        if state.clients != watching {
            state.clients = watching;
            self.shared.changed.notify_all();
        }
    }
}

/// Log lines, preceded by a line that says how many were lost, if any were.
fn with_losses(lines: &[LogLine], lost: u64, at: u64) -> Vec<LogLine> {
    let missing =
        (lost > 0).then(|| LogLine { at, text: format!("({lost} lines were lost here)") });
    missing.into_iter().chain(lines.iter().cloned()).collect()
}

fn interest(waits_for_room: bool, is_half_closed: bool) -> epoll::EventFlags {
    let mut flags = epoll::EventFlags::empty();
    flags.set(epoll::EventFlags::OUT, waits_for_room);
    // After the client's half-close, epoll would report readability forever.
    flags.set(epoll::EventFlags::IN, !is_half_closed);
    flags
}
