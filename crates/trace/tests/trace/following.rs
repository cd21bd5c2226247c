//! Traces that are read while they are written.

use bactrian_trace::{Follower, Losses};
use proptest::prelude::*;

use crate::events::{Seen, read};
use crate::samples::fixture;
use crate::scripts::{self, write};

/// Follows a trace that arrives in pieces of `piece` bytes.
fn follow(bytes: &[u8], piece: usize) -> Option<(Vec<Seen>, Losses)> {
    let mut follower = Follower::new();
    let mut events = Vec::new();
    for piece in bytes.chunks(piece) {
        follower.push(piece, |event, frames| events.push(Seen::new(&event, frames))).ok()?;
    }
    Some((events, follower.losses()))
}

/// In an order that does not depend on how packets arrived.
fn by_domain(mut events: Vec<Seen>) -> Vec<Seen> {
    events.sort_by_key(|seen| seen.domain);
    events
}

proptest! {
    #[test]
    fn follower_gives_the_same_events_for_any_piece_size(
        (version, steps) in scripts::programs(),
        flush_every in 1..60usize,
        piece in prop_oneof![1..50usize, 50..10_000usize],
    ) {
        let written = write(version, &steps, flush_every);
        let (events, losses) = follow(&written.bytes, piece).expect("a readable trace");
        prop_assert!(losses.is_clean(), "{losses:?}");
        prop_assert_eq!(by_domain(events), by_domain(written.events));
    }

    #[test]
    fn names_are_those_of_the_whole_trace((version, steps) in scripts::programs()) {
        let written = write(version, &steps, 7);
        let mut follower = Follower::new();
        for piece in written.bytes.chunks(100) {
            follower.push(piece, |_, _| ()).expect("a readable trace");
        }
        let whole = read(&written.bytes);
        for frame in whole.frames.ids().skip(1) {
            let followed = follower.frames().find(whole.frames.code(frame)).expect("it was met");
            let text = |frames: &bactrian_trace::Frames, frame| {
                let names = frames.names();
                let locations = frames.locations(frame).iter();
                let texts = locations.map(|l| (names.text(l.function).into_owned(), l.line));
                texts.collect::<Vec<_>>()
            };
            prop_assert_eq!(text(follower.frames(), followed), text(&whole.frames, frame));
        }
    }
}

#[test]
fn follower_waits_for_whole_packets() {
    let written = scripts::small(3);
    let mut follower = Follower::new();
    let mut events = 0;
    for byte in &written.bytes[..written.bytes.len() - 1] {
        follower.push(std::slice::from_ref(byte), |_, _| events += 1).expect("a readable trace");
    }
    assert!(events < written.events.len());
    let last = written.bytes.last().expect("it has bytes");
    follower.push(std::slice::from_ref(last), |_, _| events += 1).expect("a readable trace");
    assert_eq!(events, written.events.len());
    assert_eq!(follower.info().map(|info| info.pid), Some(7));
}

#[test]
fn follower_loses_as_much_to_damage_as_the_reader() {
    let sound = fixture("every_word_v2.ctf");
    let all = read(&sound).events.len();
    for at in (0..sound.len()).step_by(101) {
        let mut bytes = sound.to_vec();
        bytes[at] ^= 0xFF;
        for piece in [1000, 100_000] {
            let Some((events, losses)) = follow(&bytes, piece) else { continue };
            assert!(events.len() <= all + 100, "byte {at}");
            assert!(events.len() == all || !losses.is_clean(), "byte {at}");
        }
    }
    // Bytes that are no trace are rejected, whatever follows.
    assert!(follow(&[7; 1000], 10).is_none());
    let mut garbage = sound.to_vec();
    garbage.resize(sound.len() + 10_000, 0xC1);
    let (events, losses) = follow(&garbage, 333).expect("a readable trace");
    assert_eq!(events.len(), all);
    assert!(losses.bytes_unread > 9_000);
}
