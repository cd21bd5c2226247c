//! The promises of the live protocols, checked on arbitrary bytes.

use bactrian_live::ocamlviz::{self, Translator};
use bactrian_live::recording::{MAGIC, Player};
use bactrian_live::wire::{self, Frame, Frames};
use bactrian_live::{Database, Limits};

/// Reads `bytes` as a recording, as a client's requests and as a program's replies.
pub fn check_wire(bytes: &[u8]) {
    let recording = [MAGIC, bytes].concat();
    let mut database = Database::new(Limits { memory: 1 << 16, ..Limits::default() });
    for event in Player::new(&recording[..]).expect("it begins as one").flatten() {
        let mut written = Vec::new();
        wire::put_event(&mut written, &event);
        let again =
            wire::take_event(&only(&written)).expect("what we write is sound").expect("and known");
        // NaN is not equal to itself.
        assert_eq!(format!("{again:?}"), format!("{event:?}"));
        database.add(event);
    }
    assert!(database.first() <= database.last());
    for series in database.series() {
        for (time, value) in series.values() {
            assert!(time <= database.last());
            value.numbers();
        }
    }
    for frame in frames(bytes, wire::MAX_REQUEST) {
        let _ = wire::take_greeting(&frame);
        let _ = wire::take_reply(&frame);
        if let Ok(Some(control)) = wire::take_control(&frame) {
            let mut written = Vec::new();
            wire::put_control(&mut written, &control);
            assert_eq!(wire::take_control(&only(&written)), Ok(Some(control)));
        }
    }
}

/// Reads `bytes` as the output of a program linked with Ocamlviz.
pub fn check_ocamlviz(bytes: &[u8]) {
    let mut database = Database::new(Limits::default());
    let (mut translator, events) = Translator::new("fuzz");
    events.into_iter().for_each(|event| database.add(event));
    for (now, frame) in frames(bytes, wire::MAX_FRAME).into_iter().enumerate() {
        let Ok(message) = ocamlviz::take(&frame) else { continue };
        let mut written = Vec::new();
        if ocamlviz::put(&mut written, &message).is_ok() {
            assert!(written.len() <= ocamlviz::MAX_FRAME);
            let again = ocamlviz::take(&only(&written)).expect("what we write is sound");
            assert_eq!(format!("{again:?}"), format!("{message:?}"));
        }
        let now = now as u64 * 10_000_000;
        translator.translate(message, now).into_iter().for_each(|event| database.add(event));
    }
    assert!(
        database.weight() <= 64 * bytes.len() + 4096,
        "{} of {}",
        database.weight(),
        bytes.len()
    );
}

fn frames(bytes: &[u8], longest: usize) -> Vec<Frame> {
    let mut frames = Frames::up_to(longest);
    frames.push(bytes);
    std::iter::from_fn(|| frames.next().ok().flatten()).collect()
}

fn only(bytes: &[u8]) -> Frame {
    let mut frames = Frames::up_to(usize::MAX);
    frames.push(bytes);
    frames.next().expect("sound").expect("whole")
}
