//! A trace in parts that are read at the same time.
//!
//! Only stacks and names are coded against what came before. Whoever wants neither can read the packets of one domain from any of
//! them on, if headers say when they begin and with which ids, and nothing is damaged.

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
    /// As it is before a packet in the middle.
    stream: Stream,
}

impl<'a> Parts<'a> {
    /// None if there are several domains, damage, ids or times out of order.
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

    /// How many packets there are.
    pub fn packets(&self) -> usize {
        self.index.packets().len()
    }

    /// The number that the first object of these packets has.
    pub fn first_id(&self, packets: &Range<usize>) -> u64 {
        self.index.packets().get(packets.start).map_or(0, |packet| packet.ids.start)
    }

    /// Hands the events of some packets to `visit`. All parts together have the events of the trace if none of them says that
    /// something was lost, and times never go backwards from one to the next.
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
