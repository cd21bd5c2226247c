//! The tracer may be killed (SIGKILL) at any moment. The program must not notice.

use std::fs;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use bactrian_agent_abi::Settings;
use bactrian_capture::attach::{Cause, LateRecording, Options, freeze};
use bactrian_fixtures::{Compiler, Variant, whole_table};

use crate::programs;
use crate::running::Running;

/// The variable that tells [`freezes_what_it_is_told_to`] which process to freeze.
const TOLD: &str = "BACTRIAN_TEST_FREEZES";
/// How long the remains of a killed process may take to disappear.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long the copy is held.
const HELD: Duration = Duration::from_millis(3);

/// How often the tracer is killed for each program; `BACTRIAN_TEST_KILLS` overrides it.
fn kills() -> u32 {
    let told = std::env::var("BACTRIAN_TEST_KILLS").ok().and_then(|number| number.parse().ok());
    told.unwrap_or(if whole_table() { 200 } else { 20 })
}

/// The process that is killed: this executable again, running only this test.
#[test]
fn freezes_what_it_is_told_to() {
    let Some(pid) = std::env::var(TOLD).ok().and_then(|pid| pid.parse().ok()) else { return };
    let frozen = freeze(pid, Options::default()).expect("it can be frozen");
    sleep(HELD);
    drop(frozen);
}

fn freezer(pid: u32) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("a path"));
    command.args(["--exact", "killed::freezes_what_it_is_told_to"]).env(TOLD, pid.to_string());
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// A field of a process's status file.
fn status(pid: u32, name: &str) -> String {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    line.unwrap_or_default().trim().to_owned()
}

/// Starts a tracer and waits until it traces the program; also returns the time when it began, if it did
/// before it ended.
fn begin(pid: u32) -> (std::process::Child, Option<Instant>) {
    let mut child = freezer(pid).spawn().expect("it starts");
    let until = Instant::now() + PATIENCE;
    while Instant::now() < until {
        if status(pid, "TracerPid") != "0" {
            return (child, Some(Instant::now()));
        }
        if child.try_wait().expect("a child").is_some() {
            return (child, None);
        }
    }
    (child, None)
}

/// Waits until a condition holds.
fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < end, "{what}");
        sleep(Duration::from_millis(1));
    }
}

/// The number of live copies of a program, whoever their parent is. They have its arguments, which no other
/// program has.
fn copies(pid: u32) -> usize {
    let arguments = |pid: u32| fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let own = arguments(pid);
    let numbers = fs::read_dir("/proc").expect("/proc").flatten();
    let numbers = numbers.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers.filter(|&other| other != pid && arguments(other) == own).count()
}

/// Kills tracers of a program, and lets the program run to its end.
fn check(name: &str, source: &str, compiler: Compiler, expected: (&str, i32)) {
    let mut running = Running::start(name, source, compiler, Variant::Plain);
    let pid = running.pid();
    let mask = status(pid, "SigBlk");
    let code = running.code();
    // How long it takes to freeze the program and release it.
    let mut widths: Vec<_> = (0..3)
        .map(|_| {
            let (mut child, began) = begin(pid);
            assert!(child.wait().expect("a child").success(), "{name} {compiler:?}");
            began.map_or(Duration::ZERO, |began| began.elapsed())
        })
        .collect();
    widths.sort_unstable();
    let width = widths[1];
    let (mut killed, mut late) = (0, 0);
    for round in 0..kills() {
        let (mut child, began) = begin(pid);
        // Evenly distributed over that time, in no particular order.
        let part = (f64::from(round) * 0.618_033_988_749_895).fract();
        if let Some(began) = began {
            let moment = began + width.mul_f64(part);
            while Instant::now() < moment {}
        }
        child.kill().expect("a child");
        match child.wait().expect("a child").success() {
            true => late += 1,
            false => killed += 1,
        }
        let what =
            format!("{name} {compiler:?}, killed for the {killed}th time, at {part} of {width:?}");
        until(&format!("nobody traces it: {what}"), || status(pid, "TracerPid") == "0");
        running.is_there();
        until(&format!("its code is as it was: {what}"), || running.code() == code);
        until(&format!("its mask is as it was: {what}"), || status(pid, "SigBlk") == mask);
        until(&format!("it runs: {what}"), || !running.state().starts_with(['t', 'T']));
        if !source.contains("fork") {
            until(&format!("no copy lives: {what}"), || copies(pid) == 0);
        }
        until(&format!("no zombie is left: {what}"), || running.zombies() == 0);
        running.is_there();
    }
    let said = running.finish();
    eprintln!(
        "{name} {compiler:?}: {killed} killed within {width:?}, {late} too late, said {said:?}"
    );
    assert_eq!((said.0.as_str(), said.1), expected, "{name} {compiler:?}");
}

#[test]
fn a_program_survives_the_kill_of_its_tracer_while_it_allocates() {
    for compiler in [Compiler::OCaml4, Compiler::OCaml5] {
        check("large", programs::LARGE, compiler, ("true\n", 5));
    }
}

#[test]
fn a_program_survives_the_kill_of_its_tracer_while_it_waits() {
    for compiler in [Compiler::OCaml4, Compiler::OCaml5] {
        check("large_waiting", programs::LARGE_WAITING, compiler, ("true\n", 5));
    }
}

#[test]
fn registers_survive_the_kill_of_the_tracer() {
    for compiler in [Compiler::OCaml4, Compiler::OCaml5] {
        check("registers", programs::REGISTERS, compiler, ("true\n", 0));
    }
}

#[test]
fn threads_signals_children_and_domains_survive_the_kill_of_their_tracer() {
    let threads = (programs::THREADS, ("true true true\n", 0));
    check("killed_threads", threads.0, Compiler::OCaml5, threads.1);
    check("killed_forking", programs::FORKING, Compiler::OCaml4, ("true\n", 0));
    if whole_table() {
        check("killed_threads", threads.0, Compiler::OCaml4, threads.1);
        check("killed_forking", programs::FORKING, Compiler::OCaml5, ("true\n", 0));
        check("killed_computing", programs::COMPUTING, Compiler::OCaml4, ("true\n", 0));
        let domains = ("true\ntrue\ntrue\n", 0);
        check("killed_domains", programs::DOMAINS, Compiler::OCaml5, domains);
    }
}

/// It cannot be stopped for seconds, so only the complete set waits for that.
#[test]
fn a_program_that_cannot_be_stopped_goes_on_when_recording_it_is_given_up() {
    if !whole_table() {
        return;
    }
    let compiler = Compiler::OCaml4;
    let running = Running::start("vforking", programs::VFORKING, compiler, Variant::Plain);
    let pid = running.pid();
    until("it waits for its child", || running.state().starts_with('D'));
    let place = tempfile::tempdir().expect("a folder");
    let trace = place.path().join("trace.ctf").into_os_string().into_encoded_bytes();
    let refusal =
        LateRecording::begin(pid, &Settings::new(trace)).expect_err("it cannot be stopped");
    assert_eq!(refusal.cause, Cause::Busy, "{refusal}");
    // This process lives on, and whom it traced would wait for it for ever.
    assert_eq!(status(pid, "TracerPid"), "0");
    assert_eq!(running.finish(), ("done\n".to_owned(), 0));
}
