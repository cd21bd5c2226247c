//! Two minutes of a server with observers of every kind: the data for the tests of the view.

use bactrian_live::{
    Declaration, Event, Histogram, LogLine, Node, ObserverId, ObserverKind, Program, Site, Stamp,
    Table, Tree, Unit, Value, names,
};

pub const SECOND: u64 = 1_000_000_000;
const STEP: u64 = SECOND / 2;
const SECONDS: u64 = 120;

struct Observer {
    kind: ObserverKind,
    name: &'static str,
    labels: &'static [(&'static str, &'static str)],
    unit: Unit,
    value: fn(u64) -> Option<Value>,
}

const fn observer(
    kind: ObserverKind,
    name: &'static str,
    unit: Unit,
    value: fn(u64) -> Option<Value>,
) -> Observer {
    Observer { kind, name, labels: &[], unit, value }
}

/// A moment in seconds.
fn seconds(at: u64) -> f64 {
    at as f64 / SECOND as f64
}

/// Deterministic noise between 0 and 1.
fn noise(at: u64, salt: u64) -> f64 {
    let mixed = (at / STEP + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(salt);
    let mixed = (mixed ^ (mixed >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    ((mixed ^ (mixed >> 32)) >> 11) as f64 / (1_u64 << 53) as f64
}

fn bytes(megabytes: f64) -> Option<Value> {
    Some(Value::Int((megabytes * 1e6) as i64))
}

fn count(number: f64) -> Option<Value> {
    Some(Value::Count(number as u64))
}

fn distribution(at: u64, per_step: u64, size: fn(u64, u64) -> f64) -> Histogram {
    let mut histogram = Histogram::default();
    for step in 0..at / STEP {
        (0..per_step).for_each(|number| histogram.record(size(step * STEP, number) as u64));
    }
    histogram
}

fn node(label: &str, children: &[u32]) -> Node {
    Node { label: label.into(), children: children.to_vec() }
}

const OBSERVERS: &[Observer] = &[
    observer(ObserverKind::Gauge, names::HEAP, Unit::Bytes, |at| {
        bytes(64.0 + (at / (30 * SECOND)) as f64 * 16.0)
    }),
    observer(ObserverKind::Gauge, names::LIVE, Unit::Bytes, |at| {
        bytes(18.0 + seconds(at) * 0.25 + (seconds(at) % 7.0) * 3.0)
    }),
    observer(ObserverKind::Gauge, names::RSS, Unit::Bytes, |at| {
        bytes(78.0 + (at / (30 * SECOND)) as f64 * 16.0 + noise(at, 1))
    }),
    observer(ObserverKind::Counter, names::ALLOCATED, Unit::Bytes, |at| {
        count(seconds(at) * 212e6 + (seconds(at) / 8.0).sin() * 4e8)
    }),
    observer(ObserverKind::Counter, names::PROMOTED, Unit::Bytes, |at| count(seconds(at) * 8.3e6)),
    observer(ObserverKind::Counter, names::MINOR_COLLECTIONS, Unit::None, |at| {
        count(seconds(at) * 101.0)
    }),
    observer(ObserverKind::Counter, names::MAJOR_COLLECTIONS, Unit::None, |at| {
        count(seconds(at) / 7.0)
    }),
    observer(ObserverKind::Counter, names::COMPACTIONS, Unit::None, |_| count(1.0)),
    observer(ObserverKind::Histogram, names::PAUSES, Unit::Nanos, |at| {
        let pause = |at, number| match number {
            0 if at % (7 * SECOND) == 0 => 14e6 + noise(at, 2) * 6e6,
            number => 2e5 + noise(at, number) * 9e5,
        };
        Some(Value::Histogram(distribution(at, 3, pause)))
    }),
    observer(ObserverKind::Gauge, names::DOMAINS, Unit::None, |_| Some(Value::Int(4))),
    observer(ObserverKind::Counter, names::LOST_EVENTS, Unit::None, |_| count(0.0)),
    observer(ObserverKind::Gauge, names::THREADS, Unit::None, |_| Some(Value::Int(6))),
    observer(ObserverKind::Point, "requests", Unit::None, |at| count(seconds(at) * 1234.0)),
    observer(ObserverKind::Point, "cache.hit", Unit::None, |at| count(seconds(at) * 1001.5)),
    observer(ObserverKind::Point, "cache.miss", Unit::None, |at| count(seconds(at) * 232.5)),
    observer(ObserverKind::Counter, "sent", Unit::Bytes, |at| count(seconds(at) * 3.1e6)),
    observer(ObserverKind::Time, "parse", Unit::Nanos, |at| {
        let runs = at / SECOND * 1234;
        Some(Value::Elapsed { nanos: at / 5, runs, running: false })
    }),
    observer(ObserverKind::Time, "query", Unit::Nanos, |at| {
        let runs = at / SECOND * 232;
        Some(Value::Elapsed { nanos: at / 3, runs, running: true })
    }),
    observer(ObserverKind::Int, "sessions", Unit::None, |at| {
        Some(Value::Int(1500 + (noise(at, 3) * 90.0) as i64))
    }),
    observer(ObserverKind::Float, "load", Unit::None, |at| {
        Some(Value::Float((seconds(at) / 10.0).sin().abs()))
    }),
    observer(ObserverKind::Bool, "ready", Unit::None, |at| Some(Value::Bool(at > 3 * SECOND))),
    observer(ObserverKind::Text, "phase", Unit::None, |at| {
        Some(Value::Text(if at < 60 * SECOND { "warming up" } else { "serving" }.into()))
    }),
    Observer {
        labels: &[("pool", "io")],
        ..observer(ObserverKind::Gauge, "queue", Unit::None, |at| {
            Some(Value::Float((noise(at, 4) * 40.0).floor()))
        })
    },
    Observer {
        labels: &[("pool", "cpu")],
        ..observer(ObserverKind::Gauge, "queue", Unit::None, |at| {
            Some(Value::Float((noise(at, 5) * 9.0).floor()))
        })
    },
    observer(ObserverKind::Int, "depth", Unit::None, |at| match at {
        _ if at < 80 * SECOND => Some(Value::Int(7)),
        _ => Some(Value::Failed("Not_found".into())),
    }),
    observer(ObserverKind::Int, "first client", Unit::None, |at| match at {
        _ if at < 40 * SECOND => Some(Value::Int(1)),
        _ => Some(Value::Collected),
    }),
    observer(ObserverKind::Tag, "connections", Unit::None, |at| {
        let alive = 800 + (noise(at, 6) * 200.0) as u64;
        Some(Value::Tag { count: Some(alive), bytes: Some(alive * 1460) })
    }),
    observer(ObserverKind::Tag, "requests kept", Unit::None, |at| {
        let alive = (seconds(at) * 30.0) as u64 + 1000;
        Some(Value::Tag { count: Some(alive), bytes: Some(alive * 312) })
    }),
    observer(ObserverKind::Table, "cache", Unit::None, |at| {
        let bindings = 30_000 + (seconds(at) * 100.0) as u64;
        Some(Value::Table(Table { buckets: 32_768, bindings, empty: 9000, longest: 9 }))
    }),
    observer(ObserverKind::Table, "by address", Unit::None, |_| {
        Some(Value::Table(Table { buckets: 1024, bindings: 2000, empty: 900, longest: 700 }))
    }),
    observer(ObserverKind::Tree, "routes", Unit::None, |_| {
        let nodes = vec![
            node("/", &[1, 2, 3]),
            node("api", &[4, 5]),
            node("static", &[5]),
            node("admin", &[6, 0]),
            node("users", &[]),
            node("not found", &[]),
            node("metrics", &[]),
        ];
        Some(Value::Tree(Tree { nodes }))
    }),
    observer(ObserverKind::Histogram, "latency", Unit::Nanos, |at| {
        Some(Value::Histogram(distribution(at, 4, |at, number| 8e5 + noise(at, number) * 4e6)))
    }),
    observer(ObserverKind::Span, "transaction", Unit::Nanos, |at| {
        let durations = distribution(at, 2, |at, number| 3e6 + noise(at, number) * 2e7);
        Some(Value::Span { open: at / STEP % 5, durations })
    }),
    observer(ObserverKind::Sites, names::SITES, Unit::Bytes, |at| {
        let site = |name: &str, rate: f64, live: f64, samples| Site {
            name: name.into(),
            rate: rate * 1e6,
            live: live * 1e6,
            samples,
        };
        Some(Value::Sites(vec![
            site("Parser.parse_request parser.ml:120", 88.0 + noise(at, 7) * 9.0, 1.2, 4100),
            site("Cache.add cache.ml:44", 41.0, 17.0 + seconds(at) * 0.25, 1933),
            site("Stdlib.Buffer.resize buffer.ml:85", 30.5, 0.4, 1420),
        ]))
    }),
];

/// All events of the server.
pub fn events() -> Vec<Event> {
    let mut events = vec![Event::Hello(Program {
        name: "/srv/bin/server".into(),
        pid: 4242,
        started: 1_700_000_000_000_000,
        runtime: "OCaml 5.3.0".into(),
        controls: true,
        run: "boot/1".into(),
    })];
    for (number, observer) in (1..).zip(OBSERVERS) {
        let labels = observer.labels.iter().map(|(key, value)| ((*key).into(), (*value).into()));
        events.push(Event::Declare(Declaration {
            id: ObserverId(number),
            kind: observer.kind,
            name: observer.name.into(),
            labels: labels.collect(),
            unit: observer.unit,
            period_ms: 500,
        }));
    }
    for step in 0..=SECONDS * SECOND / STEP {
        let at = step * STEP;
        events.push(Event::Tick(Stamp { at, cpu: at * 3 / 4 }));
        for (number, observer) in (1..).zip(OBSERVERS) {
            if let Some(value) = (observer.value)(at) {
                events.push(Event::Update(ObserverId(number), value));
            }
        }
        if step % 6 == 0 {
            let text = match step % 36 {
                0 => format!(
                    "collected statistics of the last eighteen seconds: {} requests, {} of them from the cache, \
                     none of them refused",
                    18 * 1234,
                    18 * 1001
                ),
                _ => format!("request {} served", step * 617),
            };
            events.push(Event::Log(LogLine { at, text }));
        }
        if at == 60 * SECOND {
            events.push(Event::Marker("warm".into()));
        }
    }
    events
}
