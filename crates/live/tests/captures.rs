//! What real programs linked with Ocamlviz 1.01 sent to real clients, byte by byte.
//!
//! `alarm_*` and `threads_*` are from a program with observers of every kind, as seen by its first client and
//! by later ones. `hash_broken` is from a program that fell silent because of its hash table observer.

use bactrian_live::ocamlviz::{Translator, put, take};
use bactrian_live::wire::Frames;
use bactrian_live::{Database, Event, Limits, Table, Value};

const CAPTURES: [(&str, &[u8]); 4] = [
    ("alarm_first_client", include_bytes!("captures/alarm_first_client.bin")),
    ("alarm_second_client", include_bytes!("captures/alarm_second_client.bin")),
    ("hash_broken", include_bytes!("captures/hash_broken.bin")),
    ("threads_second_client", include_bytes!("captures/threads_second_client.bin")),
];

fn capture(name: &str) -> &'static [u8] {
    CAPTURES.iter().find(|(it, _)| *it == name).expect("a capture").1
}

/// The database after playing a capture, as if frames came one millisecond apart.
fn played(bytes: &[u8]) -> Database {
    let mut database = Database::new(Limits::default());
    let (mut translator, events) = Translator::new("capture");
    events.into_iter().for_each(|event| database.add(event));
    let mut frames = Frames::default();
    frames.push(bytes);
    let mut now = 0;
    while let Some(frame) = frames.next().expect("sound") {
        now += 1_000_000;
        let message = take(&frame).expect("sound");
        translator.translate(message, now).into_iter().for_each(|event| database.add(event));
    }
    database
}

#[test]
fn captures_decode_completely_and_reencode_identically() {
    for (name, bytes) in CAPTURES {
        let mut frames = Frames::default();
        frames.push(bytes);
        let mut again = Vec::new();
        let mut count = 0;
        while let Some(frame) = frames.next().expect("sound") {
            put(&mut again, &take(&frame).expect("sound")).expect("short enough");
            count += 1;
        }
        assert!(frames.is_empty(), "{name} has bytes left over");
        assert!(count > 2, "{name} has {count} messages");
        assert_eq!(again, bytes, "{name}");
    }
}

#[test]
fn first_and_later_clients_see_the_whole_program() {
    for name in ["alarm_first_client", "alarm_second_client", "threads_second_client"] {
        let database = played(capture(name));
        let latest = |observer: &str| {
            let series =
                database.named(observer).unwrap_or_else(|| panic!("{name} has no {observer}"));
            series.latest().cloned().unwrap_or_else(|| panic!("{name} has no value of {observer}"))
        };
        assert_eq!(latest("minus_one"), Value::Int(-1));
        assert_eq!(latest("max_int"), Value::Int((1 << 62) - 1));
        assert_eq!(latest("min_int"), Value::Int(-(1 << 62)));
        assert_eq!(latest("yes"), Value::Bool(true));
        assert_eq!(latest("str\u{e9}"), Value::Text("h\u{e9}llo".into()));
        assert_eq!(latest("killme"), Value::Killed);
        assert_eq!(latest("weak"), Value::Collected);
        assert!(matches!(latest("p"), Value::Count(count) if count > 300_000));
        assert!(matches!(latest("t"), Value::Elapsed { nanos, .. } if nanos > 100_000_000));
        assert!(
            matches!(latest("foo"), Value::Tag { count: Some(count), bytes: Some(bytes) } if bytes == 32 * count),
            "both halves of a tag are one: {:?}",
            latest("foo")
        );
        let Value::Tree(tree) = latest("tree") else { panic!("no tree") };
        let labels: Vec<&str> = tree.nodes.iter().map(|node| node.label.as_str()).collect();
        assert_eq!(labels, ["root", "b", "a", "shared", "leaf"]);
        assert_eq!(tree.nodes[1].children, [3, 3], "shared twice");
        assert!(matches!(latest("runtime.heap"), Value::Int(bytes) if bytes > 100_000));
        let mut lines: Vec<&str> = database.log().map(|(_, line)| line).collect();
        let all = lines.len();
        lines.dedup();
        assert_eq!(lines.len(), all, "{name} has lines twice");
        assert!(all > 5);
        assert!(database.cpu_at(database.last()).is_some_and(|cpu| cpu > 200_000_000));
    }
}

#[test]
fn silenced_program_has_sent_its_first_messages() {
    let database = played(capture("hash_broken"));
    assert_eq!(database.series().len(), 0, "what it sent was never declared");
    assert!(database.log().count() > 0);
}

#[test]
fn hash_tables_are_decoded_although_the_original_never_sends_them() {
    use bactrian_live::ocamlviz::{Message, Uid, VizKind, VizValue};
    let (mut translator, _) = Translator::new("x");
    translator.translate(Message::Declare(Uid(5), VizKind::Hash, "h".into()), 0);
    let events =
        translator.translate(Message::Send(Uid(5), VizValue::Hashtable([16, 3, 13, 1])), 1);
    let table = Table { buckets: 16, bindings: 3, empty: 13, longest: 1 };
    assert!(
        matches!(&events[1], Event::Update(_, Value::Table(found)) if *found == table),
        "{events:?}"
    );
}
