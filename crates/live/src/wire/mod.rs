//! Our own protocol: frames of a length, a type and a payload. `docs/protocol/live.md` specifies them.
//!
//! The client speaks first, with a [`Greeting`]. The program answers with a [`Reply`], then sends [`Event`]s
//! and receives [`Control`]s. Unknown frame types and value marks are skipped, as are bytes after the known
//! part of a payload: so later versions can extend the protocol.
//!
//! [`Event`]: crate::Event [`Control`]: crate::Control

mod frames;
mod put;
mod take;

pub use frames::{Frame, Frames, MAX_FRAME, MAX_REQUEST};
pub use put::{put_control, put_event, put_greeting, put_reply};
pub use take::{take_control, take_event, take_greeting, take_reply};

use std::fmt;

/// The version that is written, and the only one that is read.
pub const VERSION: u32 = 1;

/// The first bytes of every conversation.
pub const MAGIC: &[u8; 8] = b"bactrian";

/// The first message of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Greeting {
    /// The lowest version that the client understands.
    pub lowest: u32,
    /// The highest version that the client understands.
    pub highest: u32,
    /// The token by which a program recognises clients that it trusts; empty where the socket's location is
    /// protection enough.
    pub token: Vec<u8>,
}

impl Greeting {
    /// The greeting of this crate's version.
    pub fn new(token: &[u8]) -> Greeting {
        Greeting { lowest: VERSION, highest: VERSION, token: token.to_vec() }
    }
}

/// The first message of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// The client is accepted, and this version is spoken.
    Welcome(u32),
    /// The client is refused, with the reason.
    Refused(String),
    /// This port speaks the Ocamlviz protocol with clients that do not greet. Our protocol is spoken on a
    /// Unix socket of the same machine.
    Elsewhere {
        /// The socket's path; empty if there is none.
        socket: String,
        /// The run of the program there: the same path may exist on another machine, too.
        run: String,
    },
}

/// Bytes that do not follow the protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed {
    /// The number of valid bytes of the stream before them.
    pub offset: u64,
    /// What is wrong.
    pub reason: &'static str,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (at byte {})", self.reason, self.offset)
    }
}

impl std::error::Error for Malformed {}

/// Types of frames.
mod frame_type {
    pub const GREETING: u8 = 0;
    pub const WELCOME: u8 = 1;
    pub const REFUSED: u8 = 2;
    pub const HELLO: u8 = 3;
    pub const DECLARE: u8 = 4;
    pub const TICK: u8 = 5;
    pub const UPDATE: u8 = 6;
    pub const LOG: u8 = 7;
    pub const MARKER: u8 = 8;
    pub const DROPPED: u8 = 9;
    pub const ANSWER: u8 = 10;
    pub const END: u8 = 11;
    pub const ELSEWHERE: u8 = 12;
    pub const CONTROL: u8 = 64;
}

/// Kinds of observers, by their number on the wire.
const KINDS: [crate::ObserverKind; 14] = {
    use crate::ObserverKind::*;
    [Point, Time, Int, Float, Bool, Text, Tag, Tree, Table, Counter, Gauge, Histogram, Span, Sites]
};

/// Units, by their number on the wire.
const UNITS: [crate::Unit; 4] = {
    use crate::Unit::*;
    [None, Bytes, Nanos, Percent]
};

/// Marks that say which variant a value is.
mod mark {
    pub const COUNT: u8 = 0;
    pub const ELAPSED: u8 = 1;
    pub const INT: u8 = 2;
    pub const FLOAT: u8 = 3;
    pub const BOOL: u8 = 4;
    pub const TEXT: u8 = 5;
    pub const TAG: u8 = 6;
    pub const TREE: u8 = 7;
    pub const TABLE: u8 = 8;
    pub const HISTOGRAM: u8 = 9;
    pub const SPAN: u8 = 10;
    pub const SITES: u8 = 11;
    pub const FAILED: u8 = 12;
    pub const COLLECTED: u8 = 13;
    pub const KILLED: u8 = 14;
}

/// Actions that clients request.
mod action {
    pub const SET_PERIOD: u8 = 0;
    pub const STOP: u8 = 1;
    pub const RESUME: u8 = 2;
    pub const SNAPSHOT: u8 = 3;
    pub const SAMPLING: u8 = 4;
    pub const MARK: u8 = 5;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Action, Control, Declaration, Dropped, Event, Histogram, LogLine, Node, ObserverId,
        ObserverKind, Program, Site, Stamp, Table, Tree, Unit, Value,
    };

    fn every_value() -> Vec<Value> {
        let mut histogram = Histogram::default();
        [0, 3, 17, 1_000_000, u64::MAX].iter().for_each(|number| histogram.record(*number));
        let node = |label: &str, children: &[u32]| Node {
            label: label.into(),
            children: children.to_vec(),
        };
        vec![
            Value::Count(u64::MAX),
            Value::Elapsed { nanos: 5, runs: 2, running: true },
            Value::Int(i64::MIN),
            Value::Float(-0.5),
            Value::Bool(true),
            Value::Text("caf\u{e9}".into()),
            Value::Tag { count: Some(3), bytes: None },
            Value::Tag { count: None, bytes: Some(1 << 40) },
            Value::Tree(Tree { nodes: vec![node("a", &[1, 1, 0]), node("", &[])] }),
            Value::Table(Table { buckets: 16, bindings: 20, empty: 3, longest: 4 }),
            Value::Histogram(Histogram::default()),
            Value::Histogram(histogram.clone()),
            Value::Span { open: 1, durations: histogram },
            Value::Sites(vec![Site { name: "f a.ml:3".into(), rate: 1e6, live: 2.5, samples: 9 }]),
            Value::Failed("Not_found".into()),
            Value::Collected,
            Value::Killed,
        ]
    }

    fn every_event() -> Vec<Event> {
        let declaration = Declaration {
            id: ObserverId(7),
            kind: ObserverKind::Sites,
            name: "n".into(),
            labels: vec![("a".into(), "b".into()), (String::new(), String::new())],
            unit: Unit::Percent,
            period_ms: 250,
        };
        let program = Program {
            name: "server".into(),
            pid: 12,
            started: 1_700_000_000_000_000,
            runtime: "OCaml 5.3.0".into(),
            controls: true,
            run: "boot/1".into(),
        };
        let mut events = vec![
            Event::Hello(program),
            Event::Declare(declaration),
            Event::Tick(Stamp { at: 1 << 50, cpu: 3 }),
            Event::Log(LogLine { at: 9, text: "line".into() }),
            Event::Marker("here".into()),
            Event::Dropped(Dropped { ticks: 1, lines: 2 }),
            Event::Answer { request: 3, result: Ok("done".into()) },
            Event::Answer { request: 4, result: Err("no".into()) },
            Event::End("exit".into()),
        ];
        events.extend(every_value().into_iter().map(|value| Event::Update(ObserverId(300), value)));
        events
    }

    #[test]
    fn events_round_trip_in_pieces_of_any_size() {
        let events = every_event();
        let mut bytes = Vec::new();
        events.iter().for_each(|event| put_event(&mut bytes, event));
        for piece in [1, 2, 7, bytes.len()] {
            let mut frames = Frames::default();
            let mut heard = Vec::new();
            for part in bytes.chunks(piece) {
                frames.push(part);
                while let Some(frame) = frames.next().expect("sound") {
                    heard.push(take_event(&frame).expect("sound").expect("known"));
                }
            }
            assert_eq!(heard, events);
            assert!(frames.is_empty());
        }
    }

    #[test]
    fn requests_round_trip() {
        let id = ObserverId(5);
        for action in [
            Action::SetPeriod(id, 1000),
            Action::Stop(id),
            Action::Resume(id),
            Action::Snapshot("x".into()),
            Action::Sampling(true),
            Action::Mark("m".into()),
        ] {
            let control = Control { request: 8, action };
            let mut bytes = Vec::new();
            put_control(&mut bytes, &control);
            assert_eq!(take_control(&only(&bytes)), Ok(Some(control)));
        }
        let greeting = Greeting::new(b"secret");
        let mut bytes = Vec::new();
        put_greeting(&mut bytes, &greeting);
        assert_eq!(take_greeting(&only(&bytes)), Ok(greeting));
        let elsewhere = Reply::Elsewhere { socket: "/x.sock".into(), run: "7".into() };
        for reply in [Reply::Welcome(1), Reply::Refused("no".into()), elsewhere] {
            let mut bytes = Vec::new();
            put_reply(&mut bytes, &reply);
            assert_eq!(take_reply(&only(&bytes)), Ok(reply));
        }
    }

    fn only(bytes: &[u8]) -> Frame {
        let mut frames = Frames::default();
        frames.push(bytes);
        frames.next().expect("sound").expect("whole")
    }

    #[test]
    fn extensions_of_later_versions_are_skipped() {
        let frame = |kind, body: &[u8]| Frame { kind, body: body.to_vec() };
        assert_eq!(take_event(&frame(200, b"anything")), Ok(None));
        assert_eq!(take_event(&frame(frame_type::UPDATE, &[1, 99, 1, 2, 3])), Ok(None));
        let longer = frame(frame_type::TICK, &[1, 2, 3, 4]);
        assert_eq!(take_event(&longer), Ok(Some(Event::Tick(Stamp { at: 1, cpu: 2 }))));
        assert_eq!(take_control(&frame(frame_type::CONTROL, &[1, 99])), Ok(None));
    }

    #[test]
    fn truncated_payloads_are_malformed() {
        for event in every_event() {
            let mut bytes = Vec::new();
            put_event(&mut bytes, &event);
            let frame = only(&bytes);
            for length in 0..frame.body.len() {
                let cut = Frame { kind: frame.kind, body: frame.body[..length].to_vec() };
                assert!(
                    !matches!(take_event(&cut), Ok(Some(found)) if found == event),
                    "{event:?}"
                );
            }
        }
    }

    #[test]
    fn claimed_numbers_of_elements_are_not_trusted() {
        // Claims a tree of 2^60 nodes in a dozen bytes.
        let body = [&[1, mark::TREE][..], &[0xFF; 8], &[0x0F]].concat();
        let frame = Frame { kind: frame_type::UPDATE, body };
        assert!(take_event(&frame).is_err());
    }

    #[test]
    fn protocol_document_states_this_version() {
        let text = include_str!("../../../../docs/protocol/live.md");
        assert!(
            text.contains(&format!("Version {VERSION}.")),
            "docs/protocol/live.md names another version"
        );
    }
}
