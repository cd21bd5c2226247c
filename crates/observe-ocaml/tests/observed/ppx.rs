//! The ppx: its output, what the rewritten program shows, and what it rejects.

use std::fs;
use std::path::Path;
use std::process::Command;

use bactrian_fixtures::{Compiler, Variant, ppx, repository, run};
use bactrian_live::{ObserverKind, Table, Value};

use crate::programs::program;
use crate::watch::Running;

#[test]
fn ppx_output_matches_the_golden_file() {
    let made =
        run(Command::new(ppx()).arg("observe_ppx.ml").current_dir(repository().join("programs")));
    let golden =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/observed/golden/observe_ppx.ml.expected");
    if std::env::var_os("BLESS").is_some() {
        fs::write(&golden, &made).expect("room");
    }
    let expected = fs::read_to_string(&golden).expect("BLESS=1 writes it");
    assert_eq!(made, expected, "BLESS=1 writes it anew");
}

#[test]
fn annotated_items_are_observed() {
    let mut running = Running::start(&program("observe_ppx", Compiler::OCaml4, Variant::Plain));
    running.lines_until("ready");
    let mut watch = running.watch();
    for (name, value) in [
        ("Observe_ppx.requests", Value::Int(3)),
        ("the ratio", Value::Float(0.5)),
        ("Observe_ppx.is_on", Value::Bool(true)),
        ("Observe_ppx.title", Value::Text("after".into())),
        ("Observe_ppx.computed", Value::Int(3)),
        ("strings that were joined", Value::Count(1)),
        ("Observe_ppx.odd", Value::Count(3)),
        ("Observe_ppx.all", Value::Count(1)),
        ("Observe_ppx.Deep.called", Value::Count(1)),
        (
            "Observe_ppx.cache",
            Value::Table(Table { buckets: 32, bindings: 1, empty: 31, longest: 1 }),
        ),
    ] {
        watch.expect(name, &value);
    }
    let of = |watch: &crate::watch::Watch, name: &str, kind: ObserverKind| {
        let full = format!("Observe_ppx.{name}");
        let known =
            watch.declarations.values().find(|known| known.name == full && known.kind == kind);
        known.and_then(|known| watch.of(known.id)).cloned()
    };
    for (name, count) in
        [("double", 2), ("sum", 1_000_001), ("listed", 2), ("raises", 1), ("Inner.next", 1)]
    {
        watch
            .until(name, |watch| of(watch, name, ObserverKind::Point) == Some(Value::Count(count)));
    }
    // A recursive function counts once per call from outside, and an exception stops the clock.
    for (name, calls) in
        [("double", 2), ("sum", 1), ("labelled", 2), ("raises", 1), ("Inner.next", 1)]
    {
        watch.until(name, |watch| {
            let time = of(watch, name, ObserverKind::Time);
            matches!(time, Some(Value::Elapsed { runs, running: false, .. }) if runs == calls)
        });
    }
    for name in ["none", "plain", "Inner.plain", "first", "not_observed", "Make.not_observed"] {
        assert!(watch.declaration(&format!("Observe_ppx.{name}")).is_none(), "{name}");
    }
    assert!(running.end().1);
}

#[test]
fn unobservable_items_are_rejected_with_their_location() {
    let folder = tempfile::tempdir().expect("a folder");
    for (source, place, reason) in [
        ("let (a, b) = (1, 2) [@@observe]", "characters 20-31", "bound to a single variable"),
        (
            "let x = 5 [@@observe]",
            "characters 10-21",
            "neither a function, nor a reference, nor Hashtbl.create",
        ),
        ("let r = ref [] [@@observe]", "characters 15-26", "the type of this reference is unknown"),
        (
            "let r = ref 1 [@@observe float]",
            "characters 14-31",
            "a reference to a value of type int",
        ),
        ("let f x = x [@@observe int]", "characters 12-27", "only calls and time"),
        (
            "let f x = x [@@observe fast]",
            "characters 23-27",
            "expected a quoted name or one of calls, time",
        ),
        ("let f x = x [@@observe: int]", "characters 12-28", "a comma-separated list"),
        ("[@@@observe \"x\"]", "characters 0-16", "a name is for a single value"),
        ("module M = struct let x = 5 [@@observe] end", "characters 28-39", "cannot be observed"),
    ] {
        let file = folder.path().join("refused.ml");
        fs::write(&file, source).expect("room");
        let output = Command::new(ppx()).arg(&file).output().expect("it starts");
        let said = String::from_utf8_lossy(&output.stderr).replace('\n', " ");
        assert!(
            !output.status.success() && said.contains(place) && said.contains(reason),
            "{source}: {said}"
        );
    }
}
