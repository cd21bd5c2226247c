//! A final collection, added afterwards: what a sampler never saw because the program ended before it
//! collected.
//!
//! "Alive at the end" of a trace only means "not yet collected". With knowledge of what was really held at the
//! end, the rest can be declared dead by packets appended to the trace.

use std::collections::HashSet;
use std::ops::ControlFlow;

use crate::index::Index;
use crate::model::{DomainId, Event, Micros, ObjectId};
use crate::packet::{Header, MAX_PACKET, code, put_event_word};
use crate::reader::{Reader, Stacks};
use crate::wire::Put;

/// The maximum size of a collect event in bytes.
const MAX_COLLECT: usize = 4 + 9;

/// Objects that were allocated before a moment and are not collected by the end of the trace.
pub fn uncollected(bytes: &[u8], index: &Index, before: Micros) -> HashSet<ObjectId> {
    let mut alive = HashSet::new();
    Reader::new(bytes, index, Stacks::Skip).for_each(|event, _| {
        match event {
            Event::Alloc(alloc) if alloc.time < before => {
                alive.insert(alloc.id);
            }
            Event::Collect { id, .. } => {
                alive.remove(&id);
            }
            Event::Alloc(_) | Event::Promote { .. } => {}
        }
        ControlFlow::Continue(())
    });
    alive
}

/// Packets that collect these objects at the end of the trace. Append them to the trace, which must be whole.
pub fn collected_at_end(index: &Index, dead: &HashSet<ObjectId>) -> Vec<u8> {
    let info = index.info();
    let of_first = index.packets().iter().filter(|packet| packet.domain == DomainId(0));
    let next_id = of_first.map(|packet| packet.ids.end).next_back().unwrap_or(0);
    let end = info.start.saturating_add(index.duration().0);
    let mut dead: Vec<_> = dead.iter().copied().collect();
    dead.sort_unstable();
    let (mut all, mut events) = (Vec::new(), Vec::new());
    for some in dead.chunks((MAX_PACKET - Header::len(info.version)) / MAX_COLLECT) {
        events.clear();
        for id in some {
            put_event_word(&mut events, code::COLLECT, end);
            events.put_vint(next_id.wrapping_sub(1).wrapping_sub(id.0) as i64);
        }
        let header = Header {
            size: (Header::len(info.version) + events.len()) as u64,
            time_begin: end,
            time_end: end,
            version: info.version,
            pid: info.pid,
            domain: DomainId(0),
            check: None,
            id_begin: next_id,
            id_end: next_id,
        };
        header.emit(&mut all);
        all.extend_from_slice(&events);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Locate, NewAlloc, Source, SourceLocation, TraceInfo, Words, Writer};

    struct Nowhere;
    impl Locate for Nowhere {
        fn locate(&self, _: u64, found: &mut dyn FnMut(&[SourceLocation<'_>])) {
            found(&[]);
        }
    }

    #[test]
    fn held_objects_stay_and_the_rest_is_collected_at_the_end() {
        for version in [2, 3] {
            let info = TraceInfo {
                version,
                sample_rate: 1e-3,
                word_bits: 64,
                executable: b"it".to_vec(),
                host: Vec::new(),
                runtime_params: Vec::new(),
                pid: 7,
                context: Vec::new(),
                start: 1_700_000_000_000_000,
            };
            let mut writer = Writer::new(Vec::new(), info).expect("room");
            let mut ids = Vec::new();
            for number in 0..30_000 {
                let alloc = NewAlloc {
                    time: Micros(number),
                    domain: DomainId(if version == 3 { number as u16 % 2 } else { 0 }),
                    length: Words(2),
                    samples: 1,
                    source: Source::Minor,
                    stack: &[0x1000 + number % 7],
                };
                ids.push(writer.alloc(&alloc, &Nowhere).expect("room"));
            }
            writer.collect(Micros(30_000), DomainId(0), ids[5]).expect("room");
            let mut bytes = writer.finish().expect("room");

            let index = Index::skim(&bytes).expect("a trace");
            let mut dead = uncollected(&bytes, &index, Micros(29_990));
            assert_eq!(dead.len(), 29_989, "all but the last ten and the one that is collected");
            assert!(!dead.contains(&ids[5]) && !dead.contains(&ids[29_990]));
            dead.retain(|id| *id != ids[6]);
            let more = collected_at_end(&index, &dead);
            bytes.extend_from_slice(&more);

            let index = Index::skim(&bytes).expect("a trace");
            assert_eq!(index.duration(), Micros(30_000));
            let mut reader = Reader::new(&bytes, &index, Stacks::Decode);
            let (mut collected, mut last) = (HashSet::new(), Micros(0));
            while let Some(event) = reader.next() {
                if let Event::Collect { id, time, .. } = event {
                    assert!(collected.insert(id) && time >= last);
                    last = time;
                }
            }
            assert!(reader.losses().is_clean(), "{:?}", reader.losses());
            dead.insert(ids[5]);
            assert_eq!((collected, last), (dead, Micros(30_000)));
        }
    }
}
