//! The promises of the trace reader, checked on arbitrary bytes.

use std::collections::HashMap;

use bactrian_trace::{DomainId, Event, Follower, Index, Micros, Reader, Stacks};

/// The shortest event has its code and time in four bytes, and a one-byte vint.
const SHORTEST_EVENT: usize = 5;
/// The shortest encoding of a new frame is its code in eight bytes.
const SHORTEST_FRAME: usize = 8;

/// Reads `bytes` in every possible way and checks what must hold for any input.
pub fn check(bytes: &[u8]) {
    let Ok(index) = Index::skim(bytes) else { return };
    let decoded = read(bytes, &index, Stacks::Decode);
    let skipped = read(bytes, &index, Stacks::Skip);
    // Stacks have exactly the bytes that their events announce, so skipping them changes nothing else.
    assert_eq!(decoded, skipped, "events differ when stacks are skipped");
    for piece in [61, bytes.len().max(1)] {
        follow(bytes, piece);
    }
}

/// Reads `bytes` as a trace that grows in pieces.
fn follow(bytes: &[u8], piece: usize) {
    let mut follower = Follower::new();
    let mut events = 0;
    for part in bytes.chunks(piece) {
        let pushed = follower.push(part, |event, frames| {
            if let Event::Alloc(alloc) = event {
                std::hint::black_box(alloc.stack.last().map(|&frame| frames.code(frame)));
            }
            events += 1;
        });
        if pushed.is_err() {
            break;
        }
    }
    assert!(events <= bytes.len() / SHORTEST_EVENT, "more events than the bytes can hold");
    std::hint::black_box(follower.losses().sentences());
}

/// An event without its stack.
#[derive(Debug, PartialEq)]
struct Seen {
    time: Micros,
    domain: DomainId,
    what: (&'static str, u64),
}

fn read(bytes: &[u8], index: &Index, stacks: Stacks) -> Vec<Seen> {
    let mut reader = Reader::new(bytes, index, stacks);
    let mut seen = Vec::new();
    let mut last_of_domain = HashMap::new();
    let mut last = Micros(0);
    while let Some((event, frames)) = reader.next_with_frames() {
        let time = event.time();
        let (domain, what) = match event {
            Event::Alloc(alloc) => {
                assert!(alloc.common_prefix <= alloc.stack.len(), "a prefix longer than its stack");
                if stacks == Stacks::Skip {
                    assert!(alloc.stack.is_empty(), "a stack that should have been skipped");
                }
                // Every frame of a stack is in the table.
                let innermost = alloc.stack.last().map_or(0, |&frame| frames.code(frame));
                std::hint::black_box(innermost);
                (alloc.domain, ("alloc", alloc.id.0))
            }
            Event::Promote { domain, id, .. } => (domain, ("promote", id.0)),
            Event::Collect { domain, id, .. } => (domain, ("collect", id.0)),
        };
        let before = last_of_domain.insert(domain, time).unwrap_or_default();
        assert!(before <= time, "time goes from {before:?} back to {time:?} in {domain:?}");
        assert!(last <= time, "time goes from {last:?} back to {time:?} between domains");
        last = time;
        seen.push(Seen { time, domain, what });
    }
    assert!(seen.len() <= bytes.len() / SHORTEST_EVENT, "more events than the bytes can hold");
    let frames = reader.frames();
    assert!(frames.len() <= 1 + bytes.len() / SHORTEST_FRAME, "more frames than bytes can name");
    for frame in frames.ids() {
        for location in frames.locations(frame) {
            std::hint::black_box(frames.names().text(location.file));
            std::hint::black_box(frames.names().text(location.function));
        }
    }
    let losses = reader.losses();
    assert!(losses.bytes_unread <= bytes.len() as u64, "more bytes unread than there are");
    assert_eq!(
        losses.is_clean() && losses.stacks_cut_by_recorder == 0,
        losses.sentences().is_empty()
    );
    seen
}
