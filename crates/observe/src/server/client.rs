//! One client: its socket and its send queue.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

use bactrian_live::Dropped;
use bactrian_live::wire::{Frames, MAX_REQUEST};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, Shutdown, recv, send, shutdown};

use super::listen::Speaks;
use crate::descriptors::Owned;

/// A client with this many queued bytes gets no tick. An empty queue accepts a piece of any size; pieces are
/// shared by all clients.
pub(crate) const LONGEST_QUEUE: usize = 1 << 20;
/// The size of a read.
const READ_AT_ONCE: usize = 16 << 10;
/// A client that has sent this much without a greeting is not one of ours.
pub(crate) const LONGEST_GREETING: usize = 4 << 10;
/// By how much small answers, such as those to controls, may exceed the queue's limit.
const ROOM_FOR_ANSWERS: usize = 64 << 10;

/// Bytes shared by all clients.
pub(crate) type Piece = Arc<[u8]>;

#[derive(Debug)]
pub(crate) struct Client {
    pub socket: Owned,
    pub protocol: Protocol,
    queue: VecDeque<Piece>,
    /// How many bytes of the first piece were sent.
    sent: usize,
    /// The total number of queued bytes.
    queued: usize,
    /// It has everything up to the last tick. Otherwise it gets the full state as soon as its queue is empty.
    pub is_current: bool,
    pub dropped: Dropped,
    /// It has missed something since it was last told what it missed.
    pub has_missed: bool,
    /// Whether epoll reports when more can be sent.
    pub waits_for_room: bool,
    /// The client has closed its half of the connection.
    pub is_half_closed: bool,
    /// To be closed when its queue is empty.
    pub is_leaving: bool,
    /// It has received the full state at least once.
    pub has_begun: bool,
}

/// The client's protocol, and its state.
#[derive(Debug)]
pub(crate) enum Protocol {
    /// It has not greeted yet. On a socket of our protocol it must, with the token if there is one. On the
    /// Ocamlviz port, a client that does not greet soon is taken for one of Ocamlviz's.
    Stranger { frames: Frames, heard: usize, at: Speaks },
    /// Our own protocol.
    Own { frames: Frames },
    /// The Ocamlviz protocol, in which clients send nothing. If it greets after all, it is one of ours that
    /// was scheduled too late.
    Old { frames: Frames, heard: usize },
}

/// What became of a client after sending or reading.
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

    /// It has greeted, and is either accepted or to be disconnected.
    pub fn greeted(&mut self, is_let_in: bool) {
        if let Protocol::Stranger { frames, .. } | Protocol::Old { frames, .. } = &mut self.protocol
        {
            self.protocol = Protocol::Own { frames: std::mem::take(frames) };
        }
        self.is_leaving = !is_let_in;
    }

    /// It was silent on the Ocamlviz port: from now on it is served in that protocol.
    pub fn says_nothing(&mut self) {
        if let Protocol::Stranger { frames, heard, at: Speaks::Old } = &mut self.protocol {
            self.protocol = Protocol::Old { frames: std::mem::take(frames), heard: *heard };
        }
    }

    /// Whether it may still turn out to be an Ocamlviz client.
    pub fn is_silent_stranger(&self) -> bool {
        matches!(self.protocol, Protocol::Stranger { at: Speaks::Old, .. })
    }

    /// A frame decoder for what clients send.
    pub fn frames() -> Frames {
        Frames::up_to(MAX_REQUEST)
    }

    /// Whether it has not greeted yet.
    pub fn is_stranger(&self) -> bool {
        matches!(self.protocol, Protocol::Stranger { .. })
    }

    /// Whether it was accepted and is staying.
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

    /// Whether a tick of this size fits into the queue.
    pub fn has_room(&self, bytes: usize) -> bool {
        self.queue.is_empty() || self.queued + bytes <= LONGEST_QUEUE
    }

    /// Queues a piece, whatever its size; see [`Client::has_room`].
    pub fn push(&mut self, piece: &Piece) {
        if !piece.is_empty() {
            self.queued += piece.len();
            self.queue.push_back(Arc::clone(piece));
        }
    }

    /// Queues an answer. A client that sends requests without reading gets no more answers.
    pub fn push_answer(&mut self, bytes: Vec<u8>) {
        if self.queued + bytes.len() <= LONGEST_QUEUE + ROOM_FOR_ANSWERS {
            self.push(&bytes.into());
        }
    }

    /// Sends as much as the kernel accepts.
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
        // Frees the space of a queue that was long.
        self.queue.shrink_to(64);
        if self.is_leaving { Fate::Gone } else { Fate::Stays }
    }

    /// Reads once from the client. None if it has closed its half, or has nothing to say at the moment.
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

    /// Shuts the connection down for the peer too, even if a child that was not created by `fork` still holds
    /// the descriptor.
    pub fn hang_up(self) {
        // Fails if the peer closed first.
        let _ = shutdown(self.socket.get(), Shutdown::Both);
    }
}
