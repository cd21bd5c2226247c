//! The values that each primitive shows.

use std::collections::HashMap;

use bactrian_fixtures::{BOTH, Compiler, Variant};
use bactrian_live::{Node, ObserverKind, Table, Unit, Value};

use crate::programs::program;
use crate::watch::{Running, Watch};

fn text(text: &str) -> Value {
    Value::Text(text.into())
}

fn node(label: &str, children: &[u32]) -> Node {
    Node { label: label.into(), children: children.to_vec() }
}

fn failure<'a>(watch: &'a Watch, name: &str) -> Option<&'a str> {
    match watch.value(name) {
        Some(Value::Failed(why)) => Some(why),
        _ => None,
    }
}

/// What a program reports about itself: one or several words, then numbers.
fn numbers(lines: &[String]) -> HashMap<String, Vec<u64>> {
    let parsed = lines.iter().map(|line| {
        let (name, numbers) = line.split_once(' ').expect("a name");
        (
            name.to_owned(),
            numbers.split(' ').map(|number| number.parse().expect("a number")).collect(),
        )
    });
    parsed.collect()
}

fn check_everything(compiler: Compiler, variant: Variant) {
    let mut running = Running::start(&program("observe_all", compiler, variant));
    let known = numbers(&running.lines_until("ready"));
    let mut watch = running.watch();

    for (name, count) in [
        ("point", 1234),
        ("labelled", 7),
        ("calls", 1),
        ("calls of two", 1),
        ("recursive", 6),
        ("recursive of two", 5),
        ("counter", 42),
    ] {
        watch.expect(name, &Value::Count(count));
    }
    watch.expect("killed", &Value::Killed);
    let labels =
        [("method", "GET"), ("code", "200")].map(|(key, value)| (key.to_owned(), value.to_owned()));
    assert_eq!(watch.declaration("labelled").expect("declared").labels, labels);
    assert_eq!(watch.declaration("counter").expect("declared").unit, Unit::Bytes);

    let elapsed = |watch: &Watch, name: &str| match watch.value(name) {
        Some(Value::Elapsed { nanos, runs, running }) => (*nanos, *runs, *running),
        other => panic!("{name} is {other:?}"),
    };
    let (nanos, runs, is_running) = elapsed(&watch, "time");
    assert!(nanos > 0 && runs == 3 && !is_running, "{nanos} {runs}");
    assert_eq!(elapsed(&watch, "timed").1, 5);
    let before = elapsed(&watch, "running");
    assert!(before.2);
    watch.until("a stopwatch runs", |watch| elapsed(watch, "running").0 > before.0);

    for (name, value) in [
        ("int ref", Value::Int(42)),
        ("float ref", Value::Float(1.5)),
        ("bool ref", Value::Bool(true)),
        ("string ref", text("after it")),
        ("int", Value::Int(84)),
        ("float", Value::Float(3.0)),
        ("bool", Value::Bool(false)),
        ("string", text("café \u{fffd}")),
        ("constant", Value::Int(-1)),
        ("constant string", text("never another")),
        ("kills itself", Value::Killed),
        ("dead ref", Value::Collected),
        ("dead function", Value::Collected),
        ("live function", Value::Int(5)),
        ("dead table", Value::Collected),
    ] {
        watch.expect(name, &value);
    }
    watch.until("a failure", |watch| failure(watch, "fails") == Some("Failure(\"on purpose\")"));
    watch.until("a recovery", |watch| matches!(watch.value("recovers"), Some(Value::Int(3..))));
    assert_eq!(watch.declaration("float").expect("declared").unit, Unit::Percent);

    let [buckets, bindings, empty, longest] = known["table"][..] else { panic!("{known:?}") };
    watch.expect("table", &Value::Table(Table { buckets, bindings, empty, longest }));
    for name in ["not a table", "number", "almost a table"] {
        watch.until(name, |watch| {
            failure(watch, name).is_some_and(|why| why.contains("not a hash table"))
        });
    }

    let tree = |nodes: Vec<Node>| Value::Tree(bactrian_live::Tree { nodes });
    watch.expect(
        "tree",
        &tree(vec![node("root", &[1, 2, 1]), node("shared", &[2]), node("leaf", &[])]),
    );
    watch.expect("graph", &tree(vec![node("first", &[1, 0]), node("second", &[0])]));
    watch.until("too many nodes", |watch| {
        failure(watch, "too large").is_some_and(|why| why.contains("65000"))
    });

    for (name, count) in [
        ("list", 1),
        ("tails", 3),
        ("floats", 5000),
        // In native code the first one takes no memory of its own, but it counts.
        ("strings", 3000),
        ("wide", 1),
        ("left", 1),
        ("closures", 100),
        ("cycle", 1),
        ("mixed", 3),
    ] {
        watch.expect(name, &Value::Tag { count: Some(count), bytes: Some(known[name][0]) });
    }
    watch.expect("twice", &Value::Tag { count: Some(1), bytes: None });
    watch.expect("dying", &Value::Tag { count: Some(100), bytes: None });
    watch.expect("killed tag", &Value::Killed);

    watch.expect("gauge", &Value::Float(2.5));
    let Some(Value::Histogram(histogram)) = watch.value("histogram") else {
        panic!("no histogram")
    };
    assert_eq!((histogram.count(), histogram.min(), histogram.max()), (1000, 1, 1000));
    let Some(Value::Span { open, durations }) = watch.value("span") else { panic!("no span") };
    assert_eq!((*open, durations.count()), (1, 2));

    for name in ["runtime.heap", "runtime.live"] {
        assert!(
            matches!(watch.value(name), Some(Value::Int(1_000_000..))),
            "{:?}",
            watch.value(name)
        );
        assert_eq!(watch.declaration(name).map(|known| known.kind), Some(ObserverKind::Gauge));
    }
    for name in ["runtime.allocated", "runtime.minor_collections", "runtime.major_collections"] {
        assert!(matches!(watch.value(name), Some(Value::Count(1..))), "{:?}", watch.value(name));
    }

    let lines = [
        "plain",
        "1 two 3 4.00 true ff% @ 6",
        "box\n  inside",
        "printed by 7",
        "by %t",
        "    1|2    |00003",
        "a line",
    ];
    assert_eq!(watch.log, lines);
    running.tell("");
    watch.until("a marker", |watch| watch.markers == ["look here"]);

    let (_, is_success) = running.end();
    assert!(is_success);
    watch.until("the end", |watch| watch.end.is_some());
}

#[test]
fn all_primitives_show_correct_values() {
    for compiler in BOTH {
        check_everything(compiler, Variant::Plain);
    }
}

#[test]
fn all_primitives_work_in_bytecode() {
    check_everything(Compiler::OCaml4, Variant::Bytecode);
    for compiler in BOTH {
        check_everything(compiler, Variant::Custom);
    }
}
