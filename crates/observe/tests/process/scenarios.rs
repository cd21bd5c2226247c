//! The observed programs.

use std::fs;
use std::io::{BufRead, Write};
use std::os::unix::process::CommandExt;
use std::process::{Command, exit};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use bactrian_observe::{Name, Point, Value, log, server};

use crate::{DEADLINE, fork};

/// Not a test: this is what a [`crate::Program`] runs.
#[test]
fn run() {
    let Ok(scenario) = std::env::var("SCENARIO") else { return };
    // Otherwise the harness captures the output, or delays it.
    match scenario.as_str() {
        "idle" => idle(),
        "fork" => forks(),
        "many forks" => many_forks(),
        "exec" => execs(),
        "closes all" => closes_all(),
        _ => exits(&scenario),
    }
}

fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "@{line}").and_then(|()| out.flush()).expect("somebody reads");
}

fn ready() {
    server().places();
    say(&format!("ready {}", std::process::id()));
}

/// The next line of standard input; empty at its end.
fn told() -> String {
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line).expect("text");
    line.trim().to_owned()
}

/// The number of descriptors of this process that are ours: sockets and epoll instances.
fn our_descriptors() -> usize {
    let links = fs::read_dir("/proc/self/fd").expect("proc is there").flatten();
    let links = links.filter_map(|entry| fs::read_link(entry.path()).ok());
    let ours = |link: &std::path::PathBuf| {
        let link = link.to_string_lossy();
        link.starts_with("socket:") || link.contains("[eventpoll]") || link.contains("[eventfd]")
    };
    links.filter(ours).count()
}

fn idle() {
    Point::new("p");
    ready();
    loop {
        match told().as_str() {
            "wait until nobody watches" => {
                while !server().wait_for_no_clients(DEADLINE) {}
                say("nobody");
            }
            _ => return,
        }
    }
}

fn exits(scenario: &str) {
    let point = Point::new("p");
    let goes = std::sync::Arc::new(AtomicBool::new(false));
    let signal = std::sync::Arc::clone(&goes);
    if scenario == "exits from a closure" {
        Value::int(Name::new("ends").period(20), move || {
            if signal.load(Ordering::Relaxed) {
                exit(0);
            }
            0
        });
    } else if scenario == "exits with a hanging closure" {
        Value::int("hangs", || {
            loop {
                thread::park();
            }
        });
    }
    ready();
    told();
    (0..41).for_each(|_| point.hit());
    match scenario {
        "exits from a closure" => {
            goes.store(true, Ordering::Relaxed);
            thread::sleep(DEADLINE);
        }
        "returns from main" => {}
        _ => exit(0),
    }
}

fn forks() {
    let point = Point::new("p");
    ready();
    told();
    let child = fork::fork(|| {
        // None of this may wait for a lock or reach the parent's clients.
        point.hit();
        Point::new("of the child").hit();
        log!("from the child {}", 1);
        server().wait_for_clients(5);
        server().marker("from the child");
        server().end("by the child");
        say(&format!("child {} descriptors, {} clients", our_descriptors(), server().clients()));
        0
    });
    assert!(fork::wait(child));
    say("child has ended");
    // This child lives on for a while.
    fork::fork(|| {
        // So that the reader of our output sees its end.
        fork::close_output();
        thread::sleep(Duration::from_secs(3));
        0
    });
    thread::sleep(Duration::from_millis(300));
}

fn many_forks() {
    ready();
    told();
    let goes_on = AtomicBool::new(true);
    let count = thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while goes_on.load(Ordering::Relaxed) {
                    let point = Point::new("busy");
                    log!("busy {}", point.count());
                    server().clients();
                    point.kill();
                    thread::sleep(Duration::from_micros(200));
                }
            });
        }
        let mut count = 0;
        for _ in 0..100 {
            let child = fork::fork(|| {
                Point::new("of the child").hit();
                log!("from the child {}", 1);
                server().clients();
                i32::from(our_descriptors() > 0)
            });
            count += usize::from(fork::wait(child));
        }
        goes_on.store(false, Ordering::Relaxed);
        count
    });
    say(&format!("children {count} of 100 are well"));
}

fn execs() {
    if std::env::var_os("AGAIN").is_some() {
        say(&format!("descriptors {}", our_descriptors()));
        return idle();
    }
    Point::new("p");
    ready();
    told();
    let mut again = Command::new(std::env::current_exe().expect("it runs"));
    again.args(["--exact", "scenarios::run", "--nocapture"]).env("AGAIN", "1");
    panic!("{}", again.exec());
}

fn closes_all() {
    Point::new("p");
    ready();
    told();
    fork::close_all();
    // These files get the numbers that were ours.
    let folder = tempfile::tempdir().expect("there is room");
    let files = (0..20).map(|number| fs::File::create_new(folder.path().join(number.to_string())));
    let files: Vec<_> = files.collect::<Result<_, _>>().expect("there is room");
    server().show_now();
    log!("still here");
    thread::sleep(Duration::from_millis(300));
    server().show_now();
    let is_intact = |file: &fs::File| file.metadata().is_ok_and(|it| it.is_file() && it.len() == 0);
    say(if files.iter().all(is_intact) { "files intact" } else { "files touched" });
}
