//! Measures how long a frame takes with much data; not a test (docs/performance.md says how to run it).

use std::time::{Duration, Instant};

use bactrian_live::{
    Declaration, Event, LogLine, ObserverId, ObserverKind, Stamp, Table, Unit, Value,
};

use super::{SECOND, User};

/// Four thousand tables that grow for five minutes, and 200,000 log lines.
fn much() -> User {
    let mut events = Vec::new();
    for id in 1..=4000 {
        let (id, name, labels) = (ObserverId(id), format!("table {id}"), Vec::new());
        let (kind, unit, period_ms) = (ObserverKind::Table, Unit::None, 5_000);
        events.push(Event::Declare(Declaration { id, kind, name, labels, unit, period_ms }));
    }
    for round in 0..60_u64 {
        events.push(Event::Tick(Stamp { at: round * 5 * SECOND, cpu: 0 }));
        for id in 1..=4000 {
            let bindings = round * 1000 + u64::from(id);
            let table = Table { buckets: 1 << 17, bindings, empty: 100, longest: 3 };
            events.push(Event::Update(ObserverId(id), Value::Table(table)));
        }
    }
    for line in 0..200_000_u64 {
        let text = format!("request {line} of somebody for something took {} us", line % 977);
        events.push(Event::Log(LogLine { at: 299 * SECOND, text }));
    }
    User::of(events, 200, 50)
}

/// The longest and the mean duration of frames a tenth of a second apart.
fn frames(user: &mut User, count: u32) -> (Duration, Duration) {
    let mut longest = Duration::ZERO;
    let begin = Instant::now();
    for _ in 0..count {
        let frame = Instant::now();
        user.state.advance(&user.database, SECOND / 10);
        user.state.settle(&user.database);
        user.buffer();
        longest = longest.max(frame.elapsed());
    }
    (longest, begin.elapsed() / count)
}

#[test]
#[ignore = "a measurement"]
fn pictures_of_much() {
    let mut user = much();
    for (what, keys) in [("warnings", "1"), ("log filtered by what is nowhere", "4/nowhere<enter>")]
    {
        user.types(keys);
        let (longest, mean) = frames(&mut user, 200);
        eprintln!("{what}: longest {longest:?}, mean {mean:?}");
    }
}
