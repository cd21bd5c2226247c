//! The buffer in which a packet of events is made.

use alloc::boxed::Box;

use crate::packet::MAX_PACKET;
use crate::wire::Put;

const ROOM: usize = MAX_PACKET + SPARE;

/// Bytes behind the packet, so that short events are written and copied at a fixed length.
pub(super) const SPARE: usize = 32;

/// A packet of events with room for the largest.
#[derive(Clone, Debug)]
pub(super) struct PacketBuffer {
    /// All of the room; what is behind `length` means nothing.
    bytes: Box<[u8; ROOM]>,
    length: usize,
    /// The length of a packet without events: its header's.
    empty: usize,
}

impl PacketBuffer {
    /// A packet without events, with zeros instead of a header of this length.
    pub fn new(header: usize) -> PacketBuffer {
        PacketBuffer { bytes: Box::new([0; ROOM]), length: header, empty: header }
    }

    #[inline]
    pub fn len(&self) -> usize {
        self.length
    }

    /// The length without events.
    #[inline]
    pub fn empty(&self) -> usize {
        self.empty
    }

    /// Whether there is no event.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.length == self.empty
    }

    /// Removes all events.
    pub fn clear(&mut self) {
        self.length = self.empty;
    }

    #[inline]
    pub fn as_slice(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        &mut self.bytes[..self.length]
    }

    /// Changes bytes of the packet.
    #[inline]
    pub fn patch<const LENGTH: usize>(&mut self, at: usize, bytes: [u8; LENGTH]) {
        if at <= ROOM - LENGTH {
            self.bytes[at..at + LENGTH].copy_from_slice(&bytes);
        }
    }

    /// The bytes from `start` on; those behind the packet's end mean nothing.
    #[inline]
    pub fn spare_from(&self, start: usize) -> Option<&[u8; SPARE]> {
        (start <= ROOM - SPARE).then(|| self.bytes[start..].first_chunk())?
    }

    /// The room behind the packet, if there is that much. What is written there belongs to the packet after
    /// [`PacketBuffer::extend`].
    #[inline]
    pub fn room_mut<const LENGTH: usize>(&mut self) -> Option<&mut [u8; LENGTH]> {
        (self.length <= ROOM - LENGTH).then(|| self.bytes[self.length..].first_chunk_mut())?
    }

    /// Makes the packet longer.
    #[inline]
    pub fn extend(&mut self, by: usize) {
        self.length += by;
    }

    /// Appends the low `length` bytes of a number, at most 8.
    #[inline]
    pub fn put_low(&mut self, number: u64, length: usize) {
        if let Some(room) = self.room_mut() {
            *room = number.to_le_bytes();
            self.length += length;
        }
    }
}

impl Put for PacketBuffer {
    #[inline]
    fn put(&mut self, bytes: &[u8]) {
        self.bytes[self.length..][..bytes.len()].copy_from_slice(bytes);
        self.length += bytes.len();
    }
}
