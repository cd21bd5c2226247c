//! A program that exposes every kind of observer. It runs for the given number of seconds, or until standard
//! input ends. For tests, and to look at with a client:
//!
//! ```text
//! cargo run -p bactrian-observe --example observed -- 60
//! ocamlviz-gui -server localhost
//! ```

use std::collections::HashMap;
use std::io::Read;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use bactrian_observe::{
    Counter, Gauge, Histogram, Name, Point, Span, Table, Tag, Time, Tree, Unit, Value, log, marker,
    server,
};

/// A node of a graph with sharing and a cycle.
struct Part {
    name: &'static str,
    parts: &'static [usize],
}

static GRAPH: [Part; 5] = [
    Part { name: "root", parts: &[1, 2] },
    Part { name: "left", parts: &[3] },
    Part { name: "right", parts: &[3, 3, 0] },
    Part { name: "shared", parts: &[4] },
    Part { name: "leaf", parts: &[] },
];

/// Also called by the tests, in their own process.
pub fn main() {
    let goes_on = Arc::new(AtomicBool::new(true));
    let until = Arc::clone(&goes_on);
    let seconds = std::env::args().nth(1).and_then(|seconds| seconds.parse().ok());
    thread::spawn(move || {
        match seconds {
            Some(seconds) => thread::sleep(Duration::from_secs_f64(seconds)),
            None => drop(std::io::stdin().read_to_end(&mut Vec::new())),
        }
        until.store(false, Ordering::Relaxed);
    });

    let rounds = Point::new("rounds");
    let killed = Point::new("killed");
    let sorting = Time::new("sorting");
    let bytes = Counter::new(Name::new("bytes").label("to", "nowhere").unit(Unit::Bytes));
    let level = Gauge::new("level");
    let sizes = Histogram::new(Name::new("sizes").unit(Unit::Bytes));
    let requests = Span::new("requests");

    let counted = Arc::new(AtomicI64::new(0));
    let shown = Arc::clone(&counted);
    Value::int("counted", move || shown.load(Ordering::Relaxed));
    let shown = Arc::clone(&counted);
    Value::float("half", move || shown.load(Ordering::Relaxed) as f64 / 2.0);
    let shown = Arc::clone(&counted);
    Value::bool("even", move || shown.load(Ordering::Relaxed) % 2 == 0);
    Value::text(Name::new("text").period(200), || "caf\u{e9} au lait".to_owned());
    Value::text("long text", || "long ".repeat(100_000));
    Value::int("broken", || panic!("this observer always fails"));

    let table = Arc::new(Mutex::new(HashMap::new()));
    let shown = Arc::clone(&table);
    Table::new("table", move || {
        let table = shown.lock().unwrap_or_else(PoisonError::into_inner);
        let (bindings, buckets) = (table.len() as u64, table.capacity() as u64);
        bactrian_live::Table { buckets, bindings, empty: buckets - bindings, longest: 1 }
    });
    Tree::new("tree", || {
        let parts = |part: &Part| part.parts.iter().map(|part| &GRAPH[*part]).collect();
        Tree::of(&GRAPH[0], 100, |part| part.name.to_owned(), parts)
    });
    let tag = Tag::with_size("tagged", |block: &Vec<u8>| block.len() as u64);
    let mut blocks = Vec::new();

    killed.hit();
    killed.kill();
    while goes_on.load(Ordering::Relaxed) {
        rounds.hit();
        bytes.add(1000);
        let round = counted.fetch_add(1, Ordering::Relaxed) + 1;
        level.set((round as f64 / 20.0).sin());
        sizes.record((round % 100) as u64);
        let request = requests.begin();
        sorting.time(|| {
            let mut numbers: Vec<i64> = (0..20_000).map(|number| number * 7919 % 20_011).collect();
            numbers.sort_unstable();
        });
        thread::sleep(Duration::from_millis(10));
        drop(request);
        table.lock().unwrap_or_else(PoisonError::into_inner).insert(round, round);
        let block = Arc::new(vec![0; 1024]);
        tag.mark(&block);
        blocks.push(block);
        if blocks.len() > 50 {
            blocks.clear();
        }
        if round % 20 == 0 {
            log!("round {round} is done");
        }
        if round == 100 {
            marker("a hundred rounds");
        }
    }
    log!("{} clients see the end", server().clients());
}
