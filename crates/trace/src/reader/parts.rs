//! A trace in parts that can be read in parallel.
//!
//! Only stacks and names are coded relative to what came before. Without them, the packets of one domain can be
//! read from any packet on, provided that headers give its first time and id and nothing is damaged.

use std::ops::{ControlFlow, Range};

use crate::frames::Frames;
use crate::index::{Index, Packet};
use crate::losses::Losses;
use crate::model::Event;

use super::stream::Stream;

/// A trace that can be read in parts, without stacks.
#[derive(Debug)]
pub struct Parts<'a> {
    bytes: &'a [u8],
    index: &'a Index,
    /// The state of the stream before a packet in the middle.
    stream: Stream,
}

impl<'a> Parts<'a> {
    /// None if there are several domains, damage, or ids or times out of order.
    pub fn of(bytes: &'a [u8], index: &'a Index) -> Option<Parts<'a>> {
        let mut streams = Stream::all(bytes, index);
        let mut stream = streams.pop().filter(|_| streams.is_empty())?;
        let packets = index.packets();
        let is_in_order = |pair: &[Packet]| {
            pair[0].ids.end == pair[1].ids.start && pair[0].time_end <= pair[1].time_begin
        };
        let is_whole = |packet: &Packet| {
            !packet.cut && !packet.after_gap && packet.time_begin <= packet.time_end
        };
        let is_sound = index.losses().is_clean()
            && packets.iter().all(is_whole)
            && packets.windows(2).all(is_in_order)
            && packets.first().is_some_and(|packet| packet.ids.start == 0)
            && stream.forget_names();
        is_sound.then_some(Parts { bytes, index, stream })
    }

    /// The number of packets.
    pub fn packets(&self) -> usize {
        self.index.packets().len()
    }

    /// The id of the first object in a range of packets.
    pub fn first_id(&self, packets: &Range<usize>) -> u64 {
        self.index.packets().get(packets.start).map_or(0, |packet| packet.ids.start)
    }

    /// Passes the events of a range of packets to `visit`. All parts together have the events of the trace,
    /// provided that no part reports losses and times never go backwards from one part to the next.
    #[inline(always)]
    pub fn read(&self, packets: Range<usize>, mut visit: impl FnMut(Event<'_>)) -> Losses {
        let mut stream = self.stream.clone();
        let domain = stream.domain;
        stream.go_on(packets.map(|packet| packet as u32).collect());
        let mut frames = Frames::default();
        let _ = stream.read(self.bytes, self.index, &mut frames, false, |head, _, _| {
            visit(head.event(domain, &[]));
            ControlFlow::Continue(())
        });
        stream.losses
    }
}
