//! All clients: who they are, and what they are told.

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

/// The first number by which `epoll` names a client. They are never the same twice.
pub(crate) const FIRST_CLIENT: u64 = 16;

/// How long a client may take to greet.
const LONGEST_GREETING: Duration = Duration::from_secs(10);
/// After this time without a word, who came to where Ocamlviz's protocol is spoken is one of its clients. Ours greet at once.
const SILENCE: Duration = Duration::from_millis(50);
/// So many may be about to greet; then the first of them goes.
const MOST_STRANGERS: usize = 1000;

pub(crate) struct Audience<'a> {
    pub(super) shared: &'a Arc<Shared>,
    pub(super) epoll: Owned,
    clients: HashMap<u64, Client>,
    next_client: u64,
    /// Until when strangers have to have greeted, the first first. Some may have done so, or have gone.
    strangers: BTreeSet<(Instant, u64)>,
    old: Old,
    /// The bytes of everything there is, until the next tick.
    everything: Everything,
    /// Someone has come, has been let in, or has gone since they were counted.
    pub(super) has_changed: bool,
    /// Numbers that found no place in the old protocol were spoken of.
    has_complained: bool,
    /// The program has closed descriptors of ours, and may be closing the others in this moment: none is touched any more.
    pub is_robbed: bool,
    /// For what clients say.
    pub(super) buffer: Vec<u8>,
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

    /// Takes somebody in.
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
            // Whoever of them has greeted since is only forgotten here.
            if self.strangers.len() > MOST_STRANGERS {
                self.decide_on_first_stranger();
            }
        }
        self.clients.insert(key, Client::new(socket, protocol));
    }

    /// Whether anybody watches.
    pub fn is_watching(&self) -> bool {
        self.clients.values().any(Client::is_watching)
    }

    /// When somebody has to have greeted.
    pub fn deadline(&self) -> Option<Instant> {
        self.strangers.first().map(|(until, _)| *until)
    }

    /// Something has happened to a client.
    pub fn handle(&mut self, key: u64, flags: epoll::EventFlags, sampler: &Sampler) {
        // It may have gone while others were looked at.
        let Some(mut client) = self.clients.remove(&key) else { return };
        let mut fate = Fate::Stays;
        // Also of who has gone since: its last wish counts.
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

    /// Sends what waits, as far as possible.
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
            // While anyone else has the same connection open, closing it does not remove it.
            let _ = epoll::delete(self.epoll.get(), client.socket.get());
            client.hang_up();
        }
    }

    /// Has `epoll` tell what is still of interest.
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

    /// Those who did not greet in time.
    pub fn decide_on_strangers(&mut self) {
        let now = Instant::now();
        while let Some((until, key)) = self.strangers.first() {
            if self.clients.get(key).is_some_and(Client::is_stranger) && now < *until {
                return;
            }
            self.decide_on_first_stranger();
        }
    }

    /// Waits no longer for the one whose time is over first. If it is still a stranger, it is one of Ocamlviz's clients or none.
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

    /// Tells everybody what is new.
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

    /// Gives everything there is to those who have just come, and to those who have missed something and read again.
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

    /// Tells clients what became of their wishes.
    pub fn send_answers(&mut self) {
        for answer in self.shared.hooks.take_answers() {
            // Whoever asked may have gone.
            let Some(mut client) = self.clients.remove(&answer.client) else { continue };
            let mut bytes = Vec::new();
            let (request, result) = (answer.request, answer.result);
            wire::put_event(&mut bytes, &Event::Answer { request, result });
            client.push_answer(bytes);
            self.send(answer.client, client);
        }
    }

    /// Tells everybody that it is over. Nobody is waited for.
    pub fn say_goodbye(self, why: String) {
        let mut end = Vec::new();
        wire::put_event(&mut end, &Event::End(why));
        let end: Piece = end.into();
        for mut client in self.clients.into_values() {
            if client.is_own() {
                client.push(&end);
            }
            client.flush();
            // Not hung up, which could throw away what is on its way; closing is enough, since the process ends.
        }
    }

    /// Goes without touching any descriptor.
    pub fn abandon(self) {
        self.epoll.forget();
        self.clients.into_values().for_each(|client| client.socket.forget());
    }

    /// Lets the program know how many watch.
    pub fn count(&mut self) {
        if !std::mem::take(&mut self.has_changed) {
            return;
        }
        // A program may wait for a client and then set a marker. Only clients that will be sent that marker are counted.
        let watches = |client: &&Client| client.is_watching() && client.has_begun;
        let watching = self.clients.values().filter(watches).count();
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
