//! The protocol of Ocamlviz 1.01 (2009): what its clients understand, and what programs linked with it send.
//!
//! The protocol has no greeting, no version and no channel back: a program sends [`Message`]s to whoever
//! connects, each in a frame of length and body. [`Translator`] converts them to [`Event`]s. The rules that
//! keep the original clients from freezing were found by experiments with them; [`put`] enforces those that
//! concern single messages.
//!
//! [`Event`]: crate::Event

mod put;
mod take;
mod translate;

pub use put::{MAX_FRAME, TooLong, put};
pub use take::take;
pub use translate::Translator;

/// The id of an observer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Uid(pub u16);

impl Uid {
    /// Size of the heap, in bytes.
    pub const HEAP: Uid = Uid(0);
    /// Live bytes of the heap.
    pub const LIVE: Uid = Uid(1);
    /// Processor time in user mode, in seconds: the protocol's only clock.
    pub const CLOCK: Uid = Uid(2);
    /// The log.
    pub const LOG: Uid = Uid(3);
    /// The first id that a program's own observers can have.
    pub const FIRST: Uid = Uid(5);
}

/// The kind of an observer, with its number on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
#[allow(missing_docs, reason = "they are called as in Ocamlviz")]
pub enum VizKind {
    Point = 0,
    Time = 1,
    ValueInt = 2,
    ValueFloat = 3,
    ValueBool = 4,
    ValueString = 5,
    TagCount = 6,
    TagSize = 7,
    Special = 8,
    Tree = 9,
    Hash = 10,
    Log = 11,
}

/// The value of an observer.
#[derive(Clone, Debug, PartialEq)]
pub enum VizValue {
    /// An OCaml `int`.
    Int(i64),
    /// An OCaml `float`.
    Float(f64),
    /// An OCaml `string`.
    String(String),
    /// An OCaml `bool`.
    Bool(bool),
    /// An OCaml `int64`.
    Int64(i64),
    /// The observed value was collected.
    Collected,
    /// The program removed the observer.
    Killed,
    /// Labels and children of nodes. Children come before their parents; the root is last.
    Tree(Vec<(String, Vec<u16>)>),
    /// Buckets, bindings, empty buckets, bindings in the longest bucket.
    Hashtable([i64; 4]),
    /// Seconds and text of log lines, the newest first.
    Log(Vec<(f64, String)>),
}

/// A message from a program.
#[derive(Clone, Debug, PartialEq)]
pub enum Message {
    /// Announces an observer.
    Declare(Uid, VizKind, String),
    /// A value of an observer.
    Send(Uid, VizValue),
    /// These observers belong together.
    Bind(Vec<Uid>),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{Frame, Frames};

    fn every_message() -> Vec<Message> {
        let send = |value| Message::Send(Uid(300), value);
        vec![
            Message::Declare(Uid(5), VizKind::Hash, "t\u{e9}".into()),
            Message::Bind(vec![Uid(5), Uid(6)]),
            send(VizValue::Int(i64::MIN)),
            send(VizValue::Float(0.1)),
            send(VizValue::String(String::new())),
            send(VizValue::Bool(true)),
            send(VizValue::Int64(-1)),
            send(VizValue::Collected),
            send(VizValue::Killed),
            send(VizValue::Tree(vec![("leaf".into(), vec![]), ("root".into(), vec![0, 0])])),
            send(VizValue::Hashtable([16, 3, 13, 1])),
            send(VizValue::Log(vec![(1.5, "b".into()), (0.5, "a".into())])),
        ]
    }

    #[test]
    fn messages_round_trip() {
        let mut bytes = Vec::new();
        every_message().iter().for_each(|message| put(&mut bytes, message).expect("short"));
        let mut frames = Frames::default();
        frames.push(&bytes);
        for message in every_message() {
            let frame = frames.next().expect("sound").expect("whole");
            assert_eq!(take(&frame), Ok(message));
        }
        assert!(frames.is_empty());
    }

    #[test]
    fn encoding_matches_the_original() {
        let mut bytes = Vec::new();
        put(&mut bytes, &Message::Bind(vec![Uid(15), Uid(16)])).expect("short");
        assert_eq!(bytes, [7, 0, 0, 0, 2, 2, 0, 15, 0, 16, 0]);
        bytes.clear();
        put(&mut bytes, &Message::Send(Uid(12), VizValue::Bool(true))).expect("short");
        assert_eq!(bytes, [5, 0, 0, 0, 1, 12, 0, 4, 1]);
    }

    #[test]
    fn messages_of_32_bit_programs_are_decoded() {
        let frame = Frame { kind: 1, body: vec![7, 0, 0, 0xFB, 0xFF, 0xFF, 0xFF] };
        assert_eq!(take(&frame), Ok(Message::Send(Uid(7), VizValue::Int(-5))));
    }

    #[test]
    fn messages_that_would_freeze_a_client_are_rejected() {
        let mut bytes = vec![1, 2, 3];
        let text = "x".repeat(MAX_FRAME);
        let long = Message::Send(Uid(5), VizValue::String(text));
        assert_eq!(put(&mut bytes, &long), Err(TooLong));
        let wide = VizValue::Tree(vec![(String::new(), Vec::new()); 70_000]);
        assert_eq!(put(&mut bytes, &Message::Send(Uid(5), wide)), Err(TooLong));
        assert_eq!(bytes, [1, 2, 3], "and nothing of it");
    }

    #[test]
    fn cut_messages_are_malformed() {
        for message in every_message() {
            let mut bytes = Vec::new();
            put(&mut bytes, &message).expect("short");
            for length in 5..bytes.len() {
                let frame = Frame { kind: bytes[4], body: bytes[5..length].to_vec() };
                assert!(take(&frame).is_err(), "{message:?} cut to {length}");
            }
        }
    }
}
