//! `bactrian record PID`: records a trace of a running program.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use bactrian_analysis::units::show_time;
use bactrian_capture::Trouble;
use bactrian_capture::attach::{Cause, LateRecording, RecordingState, Refusal};
use bactrian_trace::Micros;

use super::record::Args;
use super::recorded::Recorded;
use super::trace_files::{make_version_2, replace, unused_name};
use super::view;
use crate::failure::{Failure, Status};
use crate::output::Console;

/// The least time that a program has to reach a moment at which its sampler can be started.
const PATIENCE: Duration = Duration::from_secs(3);
const NAP: Duration = Duration::from_millis(2);

/// Records a process until it ends, the requested time is over, or an interrupt.
pub fn run(pid: u32, args: &Args, console: &mut Console) -> Result<Status, Failure> {
    let record = &args.record;
    let others = [
        (record.snapshots.snapshots.is_some(), "--snapshots"),
        (record.snapshots.no_trace, "--no-trace"),
        (args.final_gc, "--final-gc"),
        (record.children.is_some(), "--children"),
        (record.signal.is_some(), "--signal"),
        (record.after > 0.0, "--after"),
    ];
    if let Some((_, option)) = others.iter().find(|(is_given, _)| *is_given) {
        let what = format!(
            "{option} only works for programs that record starts: process {pid} \
            is already running"
        );
        return Err(Failure::Usage(what));
    }
    let name = name_of(pid);
    let output = match &args.output {
        Some(path) => std::path::absolute(path)?,
        None => std::path::absolute(unused_name(&name)?)?,
    };
    let record = &record.of_running();
    let settings = record.settings(&output, None)?;
    let duration = record.duration.map(Duration::from_secs_f64);
    replace(&output)?;
    // The agent is told when to stop.
    let settings = bactrian_capture::Settings { duration: None, ..settings };
    let mut recording = LateRecording::begin(pid, &settings).map_err(refused)?;
    if !args.quiet {
        let until = match duration {
            Some(_) => "",
            None => "; Ctrl-C ends it",
        };
        console.note(&format!("recording process {pid}{until}"))?;
    }
    let standing = wait(&mut recording, duration);
    let first = recording.pause;
    let ended = recording.end();
    let (standing, second) = (standing.map_err(refused)?, ended.map_err(refused)?);
    if let RecordingState::Trouble(trouble) = standing {
        // It is empty.
        let _ = std::fs::remove_file(&output);
        return Err(Failure::NotSupported(words(trouble, pid)));
    }
    let traces: Vec<_> = output.is_file().then(|| output.clone()).into_iter().collect();
    for trace in &traces {
        if let Err(failure) = make_version_2(trace, console)
            && !args.quiet
        {
            console.complain(&format!(
                "the trace could not be converted to version 2, and stays \
                in version 3: {failure}"
            ));
        }
    }
    if !args.quiet {
        if standing == RecordingState::Waiting {
            let what = format!("process {pid} was idle all the time, and allocated nothing");
            console.warn(&what)?;
        } else {
            let recorded = Recorded { traces: &traces, args: record, is_wrapper: false };
            recorded.tell(&name, console)?;
        }
        let time = |pause: Duration| show_time(Micros(pause.as_micros() as u64));
        let (first, second) = (time(first), time(second));
        console.note(&format!(
            "the program was paused for {first} at the start, and for {second} at \
                the end"
        ))?;
    }
    if args.view && !traces.is_empty() {
        view::open(traces, console)?;
    }
    Ok(Status::Done)
}

/// Waits for the end of the recording and returns the last state. Without a requested time, it is ended by a
/// signal.
fn wait(
    recording: &mut LateRecording,
    duration: Option<Duration>,
) -> Result<RecordingState, Refusal> {
    let asked = Instant::now();
    // The time starts with the first sampler. A program that is blocked does not start one.
    let mut begun = None;
    loop {
        let standing = recording.look()?;
        if matches!(standing, RecordingState::Trouble(_) | RecordingState::Gone) {
            return Ok(standing);
        }
        if matches!(standing, RecordingState::Sampling(_)) {
            begun.get_or_insert_with(Instant::now);
        }
        let is_over = duration.is_some_and(|duration| match begun {
            Some(begun) => begun.elapsed() >= duration,
            None => asked.elapsed() >= duration.max(PATIENCE),
        });
        if is_over || recording.is_asked_to_stop() {
            return Ok(standing);
        }
        thread::sleep(NAP);
    }
}

fn words(trouble: Trouble, pid: u32) -> String {
    match trouble {
        Trouble::ProgramSamples => format!(
            "process {pid} uses Gc.Memprof itself, and the runtime has only one sampler, which \
             the program keeps"
        ),
        Trouble::Trace => format!(
            "process {pid} could not open the shared memory for its events: does it see the same \
             /dev/shm?"
        ),
        Trouble::Runtime => {
            format!("the agent did not find the OCaml runtime inside process {pid}")
        }
        Trouble::Settings => "the agent rejected its settings: please report this bug".to_owned(),
    }
}

/// The error for a process that cannot be recorded.
pub fn refused(refusal: Refusal) -> Failure {
    match refusal.cause {
        Cause::Interrupted(_) => Failure::NotSupported("interrupted".to_owned()),
        Cause::Gone => Failure::Input(refusal.into()),
        _ => Failure::NotSupported(refusal.to_string()),
    }
}

/// The name of a process's program, for the name of its trace.
fn name_of(pid: u32) -> std::ffi::OsString {
    let program = std::fs::read_link(format!("/proc/{pid}/exe")).ok();
    let name = program.as_deref().and_then(Path::file_name);
    name.map_or_else(|| format!("pid{pid}").into(), std::ffi::OsStr::to_owned)
}
