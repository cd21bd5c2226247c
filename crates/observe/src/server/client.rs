//! One client: its socket, and what waits to be sent to it.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

use bactrian_live::Dropped;
use bactrian_live::wire::{Frames, MAX_REQUEST};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, Shutdown, recv, send, shutdown};

use super::listen::Speaks;
use crate::descriptors::Owned;

/// Whoever has so many bytes waiting gets no tick. An empty queue takes any one piece, which all clients share.
pub(crate) const LONGEST_QUEUE: usize = 1 << 20;
/// So much is read from a client at a time.
const READ_AT_ONCE: usize = 16 << 10;
/// Who has said so much and not greeted is not one of our clients.
pub(crate) const LONGEST_GREETING: usize = 4 << 10;
/// Small answers, such as those to controls, may go over the limit by this much.
const ROOM_FOR_ANSWERS: usize = 64 << 10;

/// Bytes that are the same for all clients.
pub(crate) type Piece = Arc<[u8]>;

#[derive(Debug)]
pub(crate) struct Client {
    pub socket: Owned,
    pub protocol: Protocol,
    queue: VecDeque<Piece>,
    /// How many bytes of the first piece are sent.
    sent: usize,
    /// How many bytes wait.
    queued: usize,
    /// It knows everything up to the last tick. If not, it gets everything there is as soon as its queue is empty.
    pub is_current: bool,
    pub dropped: Dropped,
    /// It has missed something since it was told the last time.
    pub has_missed: bool,
    /// The kernel will say when more can be sent.
    pub waits_for_room: bool,
    /// It has closed its half of the connection.
    pub is_half_closed: bool,
    /// It is to be closed when its queue is empty.
    pub is_leaving: bool,
    /// It was told what there is, once at least.
    pub has_begun: bool,
}

/// Which protocol a client speaks, and where it is in it.
#[derive(Debug)]
pub(crate) enum Protocol {
    /// It has not greeted yet. Where ours is spoken it has to, and to know the token if there is one; where Ocamlviz's is, those
    /// who do not greet soon are taken for clients of that one.
    Stranger { frames: Frames, heard: usize, at: Speaks },
    /// Our own.
    Own { frames: Frames },
    /// That of Ocamlviz, in which clients say nothing. If it greets after all it is one of ours, which had no processor in time.
    Old { frames: Frames, heard: usize },
}

/// What became of sending or reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Stays,
    Gone,
}

impl Client {
    pub fn new(socket: Owned, protocol: Protocol) -> Client {
        Client {
            socket,
            protocol,
            queue: VecDeque::new(),
            sent: 0,
            queued: 0,
            is_current: false,
            dropped: Dropped::default(),
            has_missed: false,
            waits_for_room: false,
            is_half_closed: false,
            is_leaving: false,
            has_begun: false,
        }
    }

    /// It has greeted, and is let in or is to go.
    pub fn greeted(&mut self, is_let_in: bool) {
        if let Protocol::Stranger { frames, .. } | Protocol::Old { frames, .. } = &mut self.protocol
        {
            self.protocol = Protocol::Own { frames: std::mem::take(frames) };
        }
        self.is_leaving = !is_let_in;
    }

    /// It has come to where Ocamlviz's protocol is spoken, and has said nothing: it is told what there is in that one.
    pub fn says_nothing(&mut self) {
        if let Protocol::Stranger { frames, heard, at: Speaks::Old } = &mut self.protocol {
            self.protocol = Protocol::Old { frames: std::mem::take(frames), heard: *heard };
        }
    }

    /// Whether it may still turn out to be one of Ocamlviz's.
    pub fn is_silent_stranger(&self) -> bool {
        matches!(self.protocol, Protocol::Stranger { at: Speaks::Old, .. })
    }

    /// Frames for what a client says.
    pub fn frames() -> Frames {
        Frames::up_to(MAX_REQUEST)
    }

    /// Whether it has not greeted yet.
    pub fn is_stranger(&self) -> bool {
        matches!(self.protocol, Protocol::Stranger { .. })
    }

    /// Whether it is one that watches.
    pub fn is_watching(&self) -> bool {
        !self.is_stranger() && !self.is_leaving
    }

    pub fn is_own(&self) -> bool {
        matches!(self.protocol, Protocol::Own { .. }) && !self.is_leaving
    }

    pub fn is_old(&self) -> bool {
        matches!(self.protocol, Protocol::Old { .. })
    }

    pub fn has_nothing_to_send(&self) -> bool {
        self.queue.is_empty()
    }

    /// Whether a tick of this size finds room.
    pub fn has_room(&self, bytes: usize) -> bool {
        self.queue.is_empty() || self.queued + bytes <= LONGEST_QUEUE
    }

    /// Puts a piece into the queue, whatever its size: see [`Client::has_room`].
    pub fn push(&mut self, piece: &Piece) {
        if !piece.is_empty() {
            self.queued += piece.len();
            self.queue.push_back(Arc::clone(piece));
        }
    }

    /// Puts an answer into the queue. A client that asks and does not read is told nothing more.
    pub fn push_answer(&mut self, bytes: Vec<u8>) {
        if self.queued + bytes.len() <= LONGEST_QUEUE + ROOM_FOR_ANSWERS {
            self.push(&bytes.into());
        }
    }

    /// Sends what the kernel takes.
    pub fn flush(&mut self) -> Fate {
        if !self.queue.is_empty() && self.socket.is_robbed() {
            return Fate::Gone;
        }
        while let Some(piece) = self.queue.front() {
            let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
            match send(self.socket.get(), &piece[self.sent..], flags) {
                Ok(count) => {
                    self.sent += count;
                    self.queued -= count;
                    if self.sent == piece.len() {
                        self.queue.pop_front();
                        self.sent = 0;
                    }
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Fate::Stays,
                Err(_) => return Fate::Gone,
            }
        }
        // Space of a queue that was long once.
        self.queue.shrink_to(64);
        if self.is_leaving { Fate::Gone } else { Fate::Stays }
    }

    /// Reads what a client says, once. None: it will say no more, or has nothing to say now.
    ///
    /// # Errors
    /// If the connection is broken.
    pub fn read(&mut self, buffer: &mut Vec<u8>) -> io::Result<Option<usize>> {
        if self.socket.is_robbed() {
            return Err(Errno::BADF.into());
        }
        buffer.resize(READ_AT_ONCE, 0);
        match recv(self.socket.get(), buffer.as_mut_slice(), RecvFlags::DONTWAIT) {
            Ok((0, _)) => {
                self.is_half_closed = true;
                Ok(None)
            }
            Ok((_, count)) => Ok(Some(count)),
            Err(Errno::AGAIN | Errno::INTR) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Ends the connection for the other side too, even if a child of the program that was not made by `fork` has the
    /// same descriptor.
    pub fn hang_up(self) {
        // Refused if the other side was quicker.
        let _ = shutdown(self.socket.get(), Shutdown::Both);
    }
}
