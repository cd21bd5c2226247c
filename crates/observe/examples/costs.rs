//! Measures the overhead of being observed and prints a table. Run it with `--release` on a quiet machine.
//!
//! ```text
//! cargo run --release -p bactrian-observe --example costs
//! ```
//!
//! The clients run in another process: this program again, with the arguments `clients`, the socket and a
//! count.

use std::fs;
use std::hint::black_box;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use bactrian_live::wire::{self, Greeting};
use bactrian_live::{ObserverKind, Value};
use bactrian_observe::settings::{Live, Settings};
use bactrian_observe::{
    Counter, Gauge, Handle, Histogram, Origin, Point, Server, Span, Time, log, server,
};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().collect();
    match arguments.get(1).map(String::as_str) {
        Some("clients") => {
            return watch(&arguments[2], arguments[3].parse()?, arguments[4] == "read");
        }
        Some(_) => return Err("this takes no arguments".into()),
        None => {}
    }
    let mut out = std::io::stdout().lock();
    writeln!(out, "| one call of | ns |\n|---|---|")?;
    for (what, nanos) in calls() {
        writeln!(out, "| {what} | {nanos:.1} |")?;
    }
    writeln!(out, "\n| clients | observers | CPU of the server, % of one core |\n|---|---|---|")?;
    for clients in [1, 100, 1000] {
        let percent = ticking(clients)?;
        writeln!(out, "| {clients} | 100 | {percent:.2} |")?;
    }
    writeln!(out, "\n| 1000 clients that do not read | KiB of memory each |\n|---|---|")?;
    for (what, text) in [("100 counters", 0), ("and 60 kB of text that changes", 60_000)] {
        writeln!(out, "| {what} | {:.1} |", stalled(text)?)?;
    }
    Ok(())
}

/// Nanoseconds per call, without the cost of the empty loop.
fn cost(mut call: impl FnMut(u64)) -> f64 {
    // Few calls per measurement, so that some measurements are undisturbed.
    const TIMES: u64 = 20_000;
    let time = |call: &mut dyn FnMut()| {
        let best = (0..300).map(|_| {
            let start = Instant::now();
            call();
            start.elapsed()
        });
        best.min().unwrap_or_default().as_secs_f64() * 1e9 / TIMES as f64
    };
    let empty = time(&mut || (0..TIMES).for_each(|number| drop_number(black_box(number))));
    time(&mut || (0..TIMES).for_each(|number| call(black_box(number)))) - empty
}

fn drop_number(_: u64) {}

fn calls() -> Vec<(&'static str, f64)> {
    let point = Point::new("point");
    let counter = Counter::new("counter");
    let gauge = Gauge::new("gauge");
    let histogram = Histogram::new("histogram");
    let (time, span) = (Time::new("time"), Span::new("span"));
    vec![
        ("Point::hit", cost(|_| point.hit())),
        ("Counter::add", cost(|number| counter.add(number))),
        ("Gauge::set", cost(|number| gauge.set(number as f64))),
        ("Histogram::record", cost(|number| histogram.record(number))),
        ("Time::start and its end", cost(|_| drop(time.start()))),
        ("Span::begin and its end", cost(|_| drop(span.begin()))),
        ("log of a text", cost(|_| server().log(b"something has happened"))),
        ("log! with a number", cost(|number| log!("round {number} is done"))),
    ]
}

/// A server with a hundred observers.
fn observed(folder: &str) -> (Server, Vec<Handle>, String) {
    let socket = std::env::temp_dir().join(format!("{folder}-{}.sock", std::process::id()));
    let settings =
        Settings { live: Live::Path(socket.clone()), ocamlviz: None, ..Settings::default() };
    let server = Server::start(settings);
    let declare =
        |number| server.declare(ObserverKind::Counter, format!("counter {number}"), Origin::Cell);
    let handles = (0..100).map(declare).collect();
    server.places();
    (server, handles, socket.to_string_lossy().into_owned())
}

fn clients(socket: &str, count: usize, how: &str) -> Result<Child> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["clients", socket, &count.to_string(), how]).stdin(Stdio::piped());
    Ok(command.spawn()?)
}

fn count_all(handles: &[Handle]) {
    handles.iter().filter_map(Handle::count_cell).for_each(|cell| cell.add(1));
}

/// Processor time of the server's thread, in percent, while every value changes at every tick.
fn ticking(count: usize) -> Result<f64> {
    let (server, handles, socket) = observed("costs");
    let mut watching = clients(&socket, count, "read")?;
    server.wait_for_clients(count);
    let (before, start) = (server_cpu(), Instant::now());
    while start.elapsed() < Duration::from_secs(5) {
        count_all(&handles);
        thread::sleep(Duration::from_millis(20));
    }
    let percent = (server_cpu() - before) as f64 / start.elapsed().as_nanos() as f64 * 100.0;
    drop(watching.stdin.take());
    server.end("measured");
    watching.wait()?;
    Ok(percent)
}

/// KiB of memory per client that does not read.
fn stalled(text: usize) -> Result<f64> {
    const CLIENTS: usize = 1000;
    let (server, handles, socket) = observed("costs");
    let long = server.declare(ObserverKind::Text, "text", Origin::Published);
    let before = memory();
    let mut stalled = clients(&socket, CLIENTS, "stall")?;
    server.wait_for_clients(CLIENTS);
    for tick in 0..100 {
        count_all(&handles);
        if text > 0 {
            long.publish(Value::Text(format!("{tick}{}", "x".repeat(text))));
        }
        thread::sleep(Duration::from_millis(100));
    }
    let grown = memory().saturating_sub(before);
    drop(stalled.stdin.take());
    server.end("measured");
    stalled.wait()?;
    Ok(grown as f64 / 1024.0 / CLIENTS as f64)
}

/// Processor time of all server threads, in nanoseconds.
fn server_cpu() -> u64 {
    let tasks = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let of = |task: fs::DirEntry| {
        let name = fs::read_to_string(task.path().join("comm")).ok()?;
        let statistics = fs::read_to_string(task.path().join("schedstat")).ok()?;
        let nanos: u64 = statistics.split(' ').next()?.parse().ok()?;
        (name.trim() == "bactrian-live").then_some(nanos)
    };
    tasks.filter_map(of).sum()
}

fn memory() -> usize {
    let pages = fs::read_to_string("/proc/self/statm").ok();
    let pages = pages.and_then(|text| text.split(' ').nth(1)?.parse::<usize>().ok());
    pages.unwrap_or_default() * 4096
}

/// Opens `count` connections, and reads from them if `reads` is set, until standard input ends.
fn watch(socket: &str, count: usize, reads: bool) -> Result<()> {
    let mut greeting = Vec::new();
    wire::put_greeting(&mut greeting, &Greeting::new(b""));
    let mut streams = Vec::new();
    for _ in 0..count {
        let mut stream = UnixStream::connect(socket)?;
        stream.write_all(&greeting)?;
        stream.set_nonblocking(true)?;
        streams.push(stream);
    }
    thread::spawn(move || {
        let mut bytes = vec![0; 1 << 20];
        loop {
            for stream in &mut streams {
                while reads && stream.read(&mut bytes).is_ok_and(|count| count > 0) {}
            }
            thread::sleep(Duration::from_millis(50));
        }
    });
    std::io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}
