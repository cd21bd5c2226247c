//! The OCaml client library reads the same as the Rust client.

use std::fmt::Write;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;

use bactrian_fixtures::{BOTH, Compiler, Recipe, Variant, ocaml_library, own_folder};
use bactrian_live::recording::{MAGIC, Player};
use bactrian_live::wire::put_event;
use bactrian_live::{
    Declaration, Dropped, Event, Histogram, LogLine, Node, ObserverId, ObserverKind, Program, Site,
    Stamp, Table, Tree, Unit, Value,
};

use crate::programs::program;
use crate::watch::Running;

/// A program that uses the client library, but neither the observer library nor any C code.
fn client(compiler: Compiler) -> PathBuf {
    let (library, variant) = (ocaml_library(compiler), Variant::Plain);
    let (unix, name) = (variant.library("unix"), "observe_client");
    let arguments = format!(
        "-g -I +unix -I {} {unix} bactrian_client.cmxa {name}.ml -o {name}",
        library.display()
    );
    let recipe = Recipe::new(format!("{name}-{compiler:?}")).source(&format!("{name}.ml"));
    recipe.step(variant.tool(compiler), &arguments).build().join(name)
}

/// The client's output; it searches for programs in `folder`.
fn lines(client: &Path, folder: &Path, arguments: &[&str]) -> Vec<String> {
    let mut command = Command::new(client);
    let output = command.args(arguments).env("XDG_RUNTIME_DIR", folder).output().expect("it runs");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).expect("ASCII").lines().map(str::to_owned).collect()
}

/// Saturates at OCaml's largest integer.
fn whole(number: u64) -> u64 {
    number.min((1 << 62) - 1)
}

fn plain(text: &str) -> String {
    text.chars().filter(|c| c.is_ascii() && !c.is_ascii_control()).collect()
}

fn float(number: f64) -> String {
    format!("{:x}", if number.is_nan() { 0 } else { number.to_bits() })
}

fn joined(parts: impl Iterator<Item = String>) -> String {
    parts.collect::<Vec<_>>().join(",")
}

fn histogram(it: &Histogram) -> String {
    let [count, sum, min, max] = [it.count(), it.sum(), it.min(), it.max()].map(whole);
    let [half, most] = [50.0, 99.0].map(|percent| whole(it.percentile(percent)));
    let buckets = it.counts().count();
    format!("count {count} sum {sum} from {min} to {max} half {half} most {most} in {buckets}")
}

fn value(value: &Value) -> String {
    let optional = |number: &Option<u64>| number.map_or("-".to_owned(), |n| whole(n).to_string());
    match value {
        Value::Count(number) => format!("count {}", whole(*number)),
        Value::Elapsed { nanos, runs, running } => {
            format!("elapsed {} {} {running}", whole(*nanos), whole(*runs))
        }
        Value::Int(number) => format!("int {}", (*number).clamp(-(1 << 62), (1 << 62) - 1)),
        Value::Float(number) => format!("float {}", float(*number)),
        Value::Bool(truth) => format!("bool {truth}"),
        Value::Text(text) => format!("text {}", plain(text)),
        Value::Tag { count, bytes } => format!("alive {} {}", optional(count), optional(bytes)),
        Value::Tree(tree) => {
            let node = |node: &Node| {
                let children = joined(node.children.iter().map(u32::to_string));
                format!("{}({children})", plain(&node.label))
            };
            format!("nodes {}", joined(tree.nodes.iter().map(node)))
        }
        Value::Table(table) => {
            let Table { buckets, bindings, empty, longest } = *table;
            let [a, b, c, d] = [buckets, bindings, empty, longest].map(whole);
            format!("filled {a} {b} {c} {d}")
        }
        Value::Histogram(it) => format!("distribution {}", histogram(it)),
        Value::Span { open, durations } => {
            format!("spans {} {}", whole(*open), histogram(durations))
        }
        Value::Sites(sites) => {
            let site = |site: &Site| {
                let (rate, live) = (float(site.rate), float(site.live));
                format!("{} {rate} {live} {}", plain(&site.name), whole(site.samples))
            };
            format!("places {}", joined(sites.iter().map(site)))
        }
        Value::Failed(why) => format!("failed {}", plain(why)),
        Value::Collected => "collected".to_owned(),
        Value::Killed => "killed".to_owned(),
    }
}

fn event(event: &Event) -> String {
    match event {
        Event::Hello(Program { name, pid, started, run, runtime, controls }) => {
            let (name, runtime, run) = (plain(name), plain(runtime), plain(run));
            format!("hello {name} {pid} {} {runtime} {controls} {run}", whole(*started))
        }
        Event::Declare(Declaration { id, kind, name, labels, unit, period_ms }) => {
            let kind = format!("{kind:?}").to_lowercase();
            let unit = match unit {
                Unit::None => "plain",
                Unit::Bytes => "bytes",
                Unit::Nanos => "nanoseconds",
                Unit::Percent => "percent",
            };
            let labels = joined(
                labels.iter().map(|(key, value)| format!("{}={}", plain(key), plain(value))),
            );
            format!("declare {} {kind} {} {labels} {unit} {period_ms}", id.0, plain(name))
        }
        Event::Tick(Stamp { at, cpu }) => format!("tick {} {}", whole(*at), whole(*cpu)),
        Event::Update(id, it) => format!("update {} {}", id.0, value(it)),
        Event::Log(LogLine { at, text }) => format!("log {} {}", whole(*at), plain(text)),
        Event::Marker(text) => format!("marker {}", plain(text)),
        Event::Dropped(Dropped { ticks, lines }) => {
            format!("dropped {} {}", whole(*ticks), whole(*lines))
        }
        Event::Answer { request, result } => match result {
            Ok(text) => format!("answer {request} done {}", plain(text)),
            Err(why) => format!("answer {request} not done {}", plain(why)),
        },
        Event::End(why) => format!("end {}", plain(why)),
    }
}

/// What the Rust client reads from a file.
fn expected(bytes: &[u8]) -> String {
    let mut lines = "file\n".to_owned();
    let Ok(mut player) = Player::new(bytes) else { return lines + "no recording\n" };
    let mut is_damaged = false;
    for it in player.by_ref() {
        match it {
            Ok(it) => writeln!(lines, "{}", event(&it)).expect("room"),
            Err(_) => is_damaged = true,
        }
    }
    let last = match (is_damaged, player.is_cut()) {
        (true, _) => "malformed",
        (false, true) => "cut",
        (false, false) => "over",
    };
    lines + last + "\n"
}

/// Every kind of event, with extreme numbers.
fn everything() -> Vec<Event> {
    let mut histogram = Histogram::default();
    [0, 7, 16, 1_000, 123_456_789, u64::MAX].iter().for_each(|n| histogram.record(*n));
    let nodes = [("root é", vec![1, 2]), ("", vec![0]), ("leaf", vec![])];
    let nodes = nodes.map(|(label, children)| Node { label: label.to_owned(), children });
    let site = Site { name: "Main.f".to_owned(), rate: 0.5, live: f64::INFINITY, samples: 9 };
    let values = [
        Value::Count(0),
        Value::Count(u64::MAX),
        Value::Count((1 << 62) - 1),
        Value::Elapsed { nanos: 1 << 61, runs: 1 << 62, running: true },
        Value::Int(i64::MIN),
        Value::Int(i64::MAX),
        Value::Int(-(1 << 62)),
        Value::Int((1 << 62) - 1),
        Value::Int(-1),
        Value::Float(f64::NAN),
        Value::Float(-0.0),
        Value::Bool(false),
        Value::Text("grüße\n\u{1b}".to_owned()),
        Value::Tag { count: Some(3), bytes: None },
        Value::Tag { count: None, bytes: Some(300) },
        Value::Tree(Tree { nodes: nodes.to_vec() }),
        Value::Table(Table { buckets: 16, bindings: 20, empty: 3, longest: 4 }),
        Value::Histogram(histogram.clone()),
        Value::Histogram(Histogram::default()),
        Value::Span { open: 2, durations: histogram },
        Value::Sites(vec![site]),
        Value::Failed("why".to_owned()),
        Value::Collected,
        Value::Killed,
    ];
    let kinds = [
        ObserverKind::Point,
        ObserverKind::Time,
        ObserverKind::Int,
        ObserverKind::Float,
        ObserverKind::Bool,
        ObserverKind::Text,
        ObserverKind::Tag,
        ObserverKind::Tree,
        ObserverKind::Table,
        ObserverKind::Counter,
        ObserverKind::Gauge,
        ObserverKind::Histogram,
        ObserverKind::Span,
        ObserverKind::Sites,
    ];
    let units = [Unit::None, Unit::Bytes, Unit::Nanos, Unit::Percent];
    let declared = kinds.iter().zip(units.iter().cycle()).zip(1..).map(|((kind, unit), id)| {
        Event::Declare(Declaration {
            id: ObserverId(id),
            kind: *kind,
            name: format!("observer {id}"),
            labels: vec![("a".to_owned(), "b".to_owned()); id as usize % 3],
            unit: *unit,
            period_ms: 100 * id,
        })
    });
    let program = Program {
        name: "server".to_owned(),
        pid: u32::MAX,
        started: 1 << 50,
        run: "boot 1".to_owned(),
        runtime: "OCaml 5.3.0".to_owned(),
        controls: true,
    };
    let mut events = vec![Event::Hello(program)];
    events.extend(declared);
    events.push(Event::Tick(Stamp { at: u64::MAX, cpu: 7 }));
    events.extend(values.into_iter().zip(1..).map(|(it, id)| Event::Update(ObserverId(id), it)));
    events.extend([
        Event::Log(LogLine { at: 5, text: "a line".to_owned() }),
        Event::Marker("here".to_owned()),
        Event::Dropped(Dropped { ticks: 1, lines: 2 }),
        Event::Answer { request: 3, result: Ok("done".to_owned()) },
        Event::Answer { request: 4, result: Err("no".to_owned()) },
        Event::End("over".to_owned()),
    ]);
    events
}

#[test]
fn ocaml_client_reads_recordings_like_the_rust_client() {
    let mut whole = MAGIC.to_vec();
    everything().iter().for_each(|event| put_event(&mut whole, event));
    let mut files = vec![whole.clone(), Vec::new(), b"something else".to_vec()];
    // Cut at various places, and with any single byte changed.
    files.extend((0..whole.len()).step_by(3).map(|end| whole[..end].to_vec()));
    for (round, place) in (0..whole.len()).enumerate() {
        let mut damaged = whole.clone();
        damaged[place] ^= [0x01, 0x80, 0xff, 0x40][round % 4];
        files.push(damaged);
    }
    let folder = own_folder("observe_client");
    let paths = files.iter().enumerate().map(|(number, bytes)| {
        let path = folder.join(format!("{number}.live"));
        std::fs::write(&path, bytes).expect("room");
        path.display().to_string()
    });
    let paths: Vec<String> = paths.collect();
    let arguments: Vec<&str> =
        ["recordings"].into_iter().chain(paths.iter().map(String::as_str)).collect();
    let expected: String = files.iter().map(|bytes| expected(bytes)).collect();
    assert!(expected.contains("malformed") && expected.contains("cut\n"));
    for compiler in BOTH {
        let found = lines(&client(compiler), &folder, &arguments);
        // Both report where the damage is, in different words.
        let found = found.iter().map(|line| match line.starts_with("malformed ") {
            true => "malformed",
            false => line,
        });
        let different = found.zip(expected.lines()).enumerate().find(|(_, (a, b))| a != b);
        assert_eq!(different, None, "{compiler:?}");
        assert_eq!(lines(&client(compiler), &folder, &arguments).len(), expected.lines().count());
    }
}

/// A program with an observer of every kind, once it listens.
fn observed(compiler: Compiler, folder: &Path, change: impl FnOnce(&mut Command)) -> Running {
    let observed = program("observe_all", compiler, Variant::Plain);
    let mut running = Running::start_with(&observed, |command| {
        command.env_remove("BACTRIAN_LIVE").env("XDG_RUNTIME_DIR", folder);
        change(command);
    });
    running.lines_until("ready");
    running
}

#[test]
fn ocaml_client_receives_events_and_sends_requests() {
    for compiler in BOTH {
        let folder = own_folder("live_client_process");
        let running = observed(compiler, &folder, |_| ());
        let pid = running.child.id().to_string();
        let found = lines(&client(compiler), &folder, &["process", &pid]);
        assert_eq!(found.first().map(String::as_str), Some("listens: true"), "{found:?}");
        assert!(found.contains(&"point: count 1234".to_owned()), "{found:?}");
        assert_eq!(found.last().map(String::as_str), Some("at true, process true"), "{found:?}");
    }
}

#[test]
fn refused_client_gets_the_reason() {
    let client = client(Compiler::OCaml4);
    let folder = own_folder("live_client_port");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("its address").port().to_string();
    drop(listener);
    let _running = observed(Compiler::OCaml4, &folder, |command| {
        command.env("BACTRIAN_LIVE", format!("127.0.0.1:{port}"));
        command.env("BACTRIAN_LIVE_TOKEN", "secret");
    });
    let found = lines(&client, &folder, &["port", &port, "guessed"]);
    assert!(found[0].starts_with("refused: "), "{found:?}");
    let found = lines(&client, &folder, &["port", &port, "secret"]);
    assert_eq!(found.last().map(String::as_str), Some("at true, process true"), "{found:?}");
}
