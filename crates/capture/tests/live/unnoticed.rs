//! Programs do not notice that they are watched: same output, same end.

use std::ffi::OsString;
use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use bactrian_capture::inherited::inherited;
use bactrian_capture::launch::Streams;
use bactrian_capture::live::{LaunchOptions, Watch};

use bactrian_fixtures::{Compiler, Variant, program};

use crate::TOO_LONG;

/// Programs of the recorder's own tests, each with the arguments of its runs.
pub const PROGRAMS: &[(&str, &[&str])] = &[
    ("exceptions", &[""]),
    ("deep_recursion", &[""]),
    ("threads", &[""]),
    ("fork_exec", &["", "crowd 8"]),
    ("signals", &["", "die"]),
    ("finalisers", &[""]),
    ("compaction", &[""]),
    ("own_memprof", &[""]),
    ("memprof_stop", &[""]),
    (
        "exits",
        &["end", "exit", "uncaught", "at-once", "kill", "abort", "crash", "handler", "thread"],
    ),
    ("environment", &["variables", "process"]),
];
pub const OF_OCAML_5: &[(&str, &[&str])] = &[("domains", &[""]), ("effects", &[""])];

/// What others see of a run.
#[derive(Debug, PartialEq, Eq)]
pub struct Seen {
    output: String,
    error: String,
    end: String,
}

pub fn seen(folder: &Path, status: ExitStatus) -> Seen {
    let read = |name: &str| {
        String::from_utf8_lossy(&fs::read(folder.join(name)).expect("its output")).into_owned()
    };
    Seen { output: read("output"), error: read("error"), end: status.to_string() }
}

pub fn streams(folder: &Path) -> [File; 2] {
    ["output", "error"].map(|name| File::create(folder.join(name)).expect("room"))
}

/// A command that starts the program like a watched one: ignoring the signals that our starter has made us
/// ignore, as `nohup` and background jobs of shells do. Other children do not inherit that, because we handle
/// signals meanwhile.
fn command(program: &Path) -> Command {
    let mask = inherited().ignored_signals;
    let is_ignored = |signal: &u32| mask >> (signal - 1) & 1 != 0;
    // Two signals are libc's own, which nobody else can ignore.
    let ignored: Vec<u32> = (1..32).chain(34..=64).filter(is_ignored).collect();
    if ignored.is_empty() {
        return Command::new(program);
    }
    // A shell would change environment variables.
    let ignored = ignored.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
    let mut env = Command::new("env");
    env.arg(format!("--ignore-signal={ignored}")).arg(program);
    env
}

pub fn plain(program: &Path, arguments: &[&str]) -> Seen {
    let folder = tempfile::tempdir().expect("a folder");
    let [output, error] = streams(folder.path());
    let mut command = command(program);
    command.args(arguments).stdin(Stdio::null()).stdout(output).stderr(error);
    let status = command.status().expect("it starts");
    seen(folder.path(), status)
}

fn watched(program: &Path, arguments: &[&str]) -> Seen {
    let folder = tempfile::tempdir().expect("a folder");
    let [output, error] = streams(folder.path());
    let mut watch = Watch::launch(LaunchOptions {
        program: program.to_owned(),
        name: program.into(),
        arguments: arguments.iter().map(OsString::from).collect(),
        streams: Streams {
            input: Some(Stdio::null()),
            output: Some(output.into()),
            error: Some(error.into()),
        },
        rate: 1e-3,
        trace: None,
        sampling: true,
    })
    .expect("it starts");
    let start = Instant::now();
    loop {
        if let Some(end) = watch.poll().ended {
            return seen(folder.path(), end.status.expect("our child"));
        }
        assert!(start.elapsed() < 2 * TOO_LONG, "{}: it does not end", program.display());
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn check(name: &str, runs: &[&str], compiler: Compiler) {
    let program = program(name, compiler, Variant::Plain);
    for words in runs {
        let arguments: Vec<_> = words.split_whitespace().collect();
        let plain = plain(&program, &arguments);
        let watched = watched(&program, &arguments);
        assert_eq!(plain, watched, "{name} {words} {compiler:?}");
    }
}

#[test]
fn programs_of_ocaml_4_do_not_notice() {
    PROGRAMS.iter().for_each(|(name, runs)| check(name, runs, Compiler::OCaml4));
}

#[test]
fn programs_of_ocaml_5_do_not_notice() {
    let all = PROGRAMS.iter().chain(OF_OCAML_5);
    all.for_each(|(name, runs)| check(name, runs, Compiler::OCaml5));
}
