//! `record` is killed (SIGKILL) at any moment: the program does not notice, and its trace is complete.
//!
//! The quick set has fewer moments, spread as wide.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use bactrian_fixtures::{BOTH, Compiler, Variant, program, whole_table};

use crate::runs::{Place, Run, Seen, finish, text};
use crate::traces::{in_folder, info, is_clean, state};

/// How often it is killed in each way; `BACTRIAN_TEST_KILLS` overrides this.
fn kills(few: u32) -> u32 {
    let told = std::env::var("BACTRIAN_TEST_KILLS").ok().and_then(|number| number.parse().ok());
    told.unwrap_or(if whole_table() { 200 } else { few })
}

/// Counts of outcomes.
#[derive(Debug, Default)]
struct Counts {
    /// The program was not started yet.
    not_started: u32,
    /// It was not being recorded yet.
    not_recorded: u32,
    /// Its trace has all allocations.
    whole: u32,
    /// `record` had exited.
    late: u32,
}

/// A program under `record`, followed by its exit status.
fn observed(executable: &Path, options: &[&str], trace: &Path) -> Run {
    let script = "\"$@\"; echo \"status $?\"";
    let mut shell = Run::new("sh", &["-c", script, "sh"]);
    shell.arguments.push(executable.into());
    shell.arguments.extend(["allocates", "nothing"].map(Into::into));
    shell.observed(&[options, &["--children", "follow"]].concat(), trace)
}

/// The traces and snapshots of a run.
fn files(place: &Place, extension: &str) -> Vec<PathBuf> {
    let mut files = in_folder(&place.traces());
    files.retain(|file| file.extension().is_some_and(|it| it == extension));
    files
}

/// The number of allocations in a trace.
fn allocations(trace: &Path) -> Result<u64, String> {
    let info = info(trace, &[])?;
    is_clean(&info)?;
    if state(&info) != "ended" {
        return Err(format!("the recording is {}", state(&info)));
    }
    Ok(info["result"]["sampled_allocations"].as_u64().unwrap_or(0))
}

/// Checks what remains of a run whose recorder was killed.
fn check(
    seen: &Seen,
    plain: &Seen,
    all: u64,
    place: &Place,
    counts: &mut Counts,
) -> Result<(), String> {
    if seen.stdout.is_empty() {
        counts.not_started += 1;
        return Ok(());
    }
    if seen.stdout != plain.stdout {
        return Err("the output is not that of the program".to_owned());
    }
    for snapshot in files(place, "heap") {
        info(&snapshot, &[])?;
    }
    let mut traces = files(place, "ctf");
    // The recorder was killed right after creating the file; the program has created another.
    traces.retain(|trace| is_begun(trace));
    match traces.as_slice() {
        [] => counts.not_recorded += 1,
        [trace] if allocations(trace)? == all => counts.whole += 1,
        [trace] => return Err(format!("{} of {all} allocations", allocations(trace)?)),
        more => return Err(format!("{} traces", more.len())),
    }
    Ok(())
}

fn is_begun(trace: &Path) -> bool {
    trace.metadata().is_ok_and(|file| file.len() > 0)
}

/// Kills recorders of a program.
fn kill_recorders(compiler: Compiler, options: &[&str], few: u32) {
    let executable = program("conditions", compiler, Variant::Plain);
    let undisturbed = Place::new();
    let plain = undisturbed.run(&observed(&executable, options, &undisturbed.trace("trace.ctf")));
    // The program's run time plus half of it, during which snapshots are awaited.
    let other = Place::new();
    let start = Instant::now();
    other.run(&observed(&executable, &["--exact"], &other.trace("trace.ctf")));
    let length = start.elapsed().mul_f64(1.5);
    assert!(plain.stdout.ends_with(b"status 3\n"), "{plain:?}");
    let all = allocations(&undisturbed.trace("trace.ctf")).expect("a whole trace");
    let mut counts = Counts::default();
    let mut wrong = Vec::new();
    for round in 0..kills(few) {
        // Evenly distributed over the time, in mixed order.
        let part = (f64::from(round) * 0.618_033_988_749_895).fract();
        let place = Place::new();
        let mut child = place.start(&observed(&executable, options, &place.trace("trace.ctf")));
        thread::sleep(length.mul_f64(part));
        counts.late += u32::from(child.try_wait().expect("our child").is_some());
        // It may have exited just now.
        let _ = child.kill();
        // Its output ends with the program.
        let seen = finish(child, &place.work());
        if let Err(what) = check(&seen, &plain, all, &place, &mut counts) {
            wrong.push(format!("at {part:.3} of {length:?}: {what}"));
        }
    }
    let what = format!("{compiler:?} {options:?}: {counts:?} of {} within {length:?}", kills(few));
    eprintln!("{what}, {} wrong", wrong.len());
    assert!(wrong.is_empty(), "{what}\n{}", wrong.join("\n"));
}

#[test]
fn program_and_trace_survive_the_kill_of_their_recorder() {
    for compiler in BOTH {
        kill_recorders(compiler, &["--exact"], 10);
    }
}

#[test]
fn program_and_snapshots_survive_the_kill_of_their_recorder() {
    for compiler in BOTH {
        kill_recorders(compiler, &["--rate", "1", "--snapshots", "major,exit"], 5);
    }
}

#[test]
fn leftovers_of_killed_recorders_are_removed_by_the_next() {
    let executable = program("running", Compiler::OCaml4, Variant::Plain);
    let place = Place::new();
    let temporary = place.work().join("temporary");
    fs::create_dir_all(&temporary).expect("room");
    let left = || fs::read_dir(&temporary).expect("a folder").count();
    let record = |arguments: &[&str], trace: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bactrian"));
        command.args(["record", "--snapshots", "exit", "--no-trace", "-o"]);
        command.arg(place.trace(trace)).arg("--").args(arguments).env("TMPDIR", &temporary);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().expect("bactrian starts")
    };
    let mut killed = record(&[text(&executable), "idle"], "killed.ctf");
    let mut ready = [0; 6];
    let mut output = killed.stdout.take().expect("a pipe");
    output.read_exact(&mut ready).expect("it says that it is ready");
    killed.kill().expect("our child");
    // It is gone when the system says so. (Waiting for it would close the program's input.)
    while killed.try_wait().expect("our child").is_none() {
        thread::sleep(Duration::from_millis(1));
    }
    // Its ledger remains, because the program still runs.
    assert_eq!(left(), 1);
    let next = record(&["/bin/true"], "next.ctf").wait_with_output().expect("our child");
    assert!(next.status.success(), "{next:?}");
    assert_eq!(left(), 0);
    // The program does not notice, and prints nothing unusual.
    drop(killed.stdin.take());
    let mut said = String::new();
    output.read_to_string(&mut said).expect("its output");
    let mut complaints = String::new();
    killed.stderr.take().expect("a pipe").read_to_string(&mut complaints).expect("its errors");
    killed.wait().expect("our child");
    assert_eq!((said.as_str(), complaints.as_str()), ("done, 0 wrong\n", ""));
}
