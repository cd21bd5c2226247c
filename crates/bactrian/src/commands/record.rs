//! `bactrian record`: records a trace of an unmodified program.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::Context;
use bactrian_capture::doctor::{self, Cause, Refusal};
use bactrian_capture::find_program;
use bactrian_capture::launch::{Launch, end_like};
use bactrian_capture::ledger::Ledger;
use bactrian_capture::seccomp;

use crate::commands::agent::{ChildrenArg, RecordArgs};
use crate::commands::final_gc;
use crate::commands::record_running;
use crate::commands::recorded::{Recorded, has_samples};
use crate::commands::snapshots::{self, existing, prefix};
use crate::commands::trace_files::{make_version_2, replace, unused_name};
use crate::commands::view;
use crate::failure::{Failure, Status};
use crate::output::{Console, shortened, write_file};
use crate::types::Linked;

/// Record what an OCaml program allocates, without recompiling or relinking it.
///
/// Writes a memtrace trace that all other commands read, heap snapshots, or both. A program that is started here uses your
/// standard input, output and error, and its exit status is returned. A process that is already running is recorded until
/// it exits, until the time of --for is over, or until Ctrl-C; it is paused for a moment at both ends.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  bactrian record -- ./server --port 8080            into server.ctf
  bactrian record --rate 1e-4 -o out.ctf -- ocamlopt.opt -c big.ml
  bactrian record --exact -- ./small                 every allocation; the program becomes slow
  bactrian record --final-gc -- ./small              live at the end means reachable
  bactrian record --view --snapshots exit -- ./small    opens the page when the program has ended
  bactrian record -- make check                      every OCaml program that make starts
  bactrian record --signal USR2 -- ./server          kill -USR2 starts and stops recording
  bactrian record --after 60 --for 10 -- ./server    ten seconds, a minute after the start
  bactrian record 1234                               a running process, until Ctrl-C
  bactrian record --for 30 -o slow.ctf 1234          thirty seconds of it
  bactrian record --snapshots peak,exit -- ./server  also server.1.heap, server.2.heap, ..
  bactrian record --snapshots signal --no-trace -- ./server    kill -USR2 takes a snapshot
  bactrian record --snapshots major=10 --snapshot-limits disk=2G -o run.ctf -- ./server

To record a program that a service manager starts: bactrian agent --help")]
pub struct Args {
    #[command(flatten)]
    pub record: RecordArgs,
    /// Where to write the trace; traces of child processes have the process id before the extension. Snapshots
    /// are named after it: run.ctf has run.1.heap, run.2.heap; older snapshots with these names are removed
    /// [default: the program's name with .ctf, in the current directory]
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Count blocks that are unreachable when the program ends as collected, even if the collector has not reached
    /// them: they are found by a snapshot at exit, and the program runs no extra collection. At the end, `live` then
    /// means "reachable", not "not yet collected"
    #[arg(long, conflicts_with_all = ["no_trace", "duration"])]
    pub final_gc: bool,
    /// Open everything in a browser when the program has ended, as `bactrian view --open` does; Ctrl-C ends that
    #[arg(long)]
    pub view: bool,
    /// Print no summary at the end
    #[arg(long, short)]
    pub quiet: bool,
    /// The program and its arguments, or the id of a running process. A program that is not OCaml, such as a shell, is
    /// started too: the OCaml programs that it starts are recorded
    #[arg(
        value_name = "PROGRAM|PID",
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    command: Vec<OsString>,
}

pub fn run(args: &Args, console: &mut Console) -> Result<Status, Failure> {
    let Some((name, arguments)) = args.command.split_first() else {
        return Err(Failure::Usage("name a program to record".to_owned()));
    };
    if args.output.as_deref() == Some(Path::new("-")) {
        let what = "standard output belongs to the program: name a file for the trace, such as -o \
             trace.ctf";
        return Err(Failure::Usage(what.to_owned()));
    }
    if let Some(pid) = process(name) {
        return match arguments {
            [] => record_running::run(pid, args, console),
            _ => Err(options_behind_process(pid, arguments)),
        };
    }
    let program = find_program(name).map_err(anyhow::Error::from)?;
    // Snapshots need no sampler.
    let judge = match args.record.snapshots.no_trace {
        true => doctor::enterable,
        false => doctor::recordable,
    };
    let is_wrapper = match judge(&program) {
        Ok(_) => false,
        // A shell, a script, `timeout`: it may start an OCaml program.
        Err(refusal) if refusal.cause == Cause::NotOcaml => match args.record.children {
            Some(ChildrenArg::Ignore) => return Err(refused(refusal)),
            Some(ChildrenArg::Follow) | None => true,
        },
        // The user asked for children, so the program itself need not be recordable.
        Err(_) if args.record.children == Some(ChildrenArg::Follow) => true,
        Err(refusal) => return Err(refused(refusal)),
    };
    let asked = &args.record.snapshots;
    let wants = if args.final_gc { &asked.with_exit() } else { asked };
    if wants.snapshots.is_some() && std::env::current_exe().is_err() {
        console.complain(
            "no snapshots are taken: /proc is not mounted, which is needed to read \
            copies of the program",
        );
        let record = RecordArgs { snapshots: wants.without(), ..args.record.clone() };
        let (output, command) = (args.output.clone(), args.command.clone());
        let args = Args { record, output, command, final_gc: false, ..*args };
        return run(&args, console);
    }
    let record = RecordArgs { snapshots: wants.clone(), ..args.record.clone() };
    let ledger = wants.snapshots.map(|_| Ledger::new()).transpose();
    let mut ledger = ledger.context("cannot write a temporary file")?;
    let output = match &args.output {
        Some(path) => std::path::absolute(path)?,
        None => std::path::absolute(unused_name(name)?)?,
    };
    let mut settings = record.settings(&output, ledger.as_ref().map(Ledger::path))?;
    if !wants.no_trace {
        replace(&output)?;
    }
    if wants.snapshots.is_some() {
        snapshots::replace(&prefix(&output))?;
    }
    if let Some(snapshots) = &mut settings.snapshots {
        match seccomp::may_copy(Path::new(OsStr::from_bytes(&snapshots.walker))) {
            Ok(filters) => snapshots.filters = filters,
            Err(why) => {
                // Printed even with --quiet: a requested feature is missing.
                console.complain(&format!("no snapshots are taken: {why}"));
                (settings.snapshots, ledger) = (None, None);
            }
        }
    }
    let started = SystemTime::now();
    let types = program.clone();
    let launch = Launch { program, name: name.clone(), arguments: arguments.to_vec(), settings };
    let status = match launch.run() {
        // Because of a limit (`ulimit -u`) or lack of memory. Without us the program would not have needed
        // another process.
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::OutOfMemory) => {
            drop(ledger);
            console.complain(&format!(
                "cannot start a process beside the program ({error}): it records itself, without \
                 snapshots"
            ));
            let error = anyhow::Error::from(launch.become_program());
            return Err(error.context(format!("cannot start {}", name.display())).into());
        }
        started => started.with_context(|| format!("cannot start {}", name.display()))?,
    };
    // Whatever fails from here on, the exit status is the program's.
    let mut account = ledger.map(|ledger| snapshots::wait(&ledger, args.quiet, console));
    let traces = if wants.no_trace { Vec::new() } else { traces_of(&output, started) };
    for trace in &traces {
        if let Err(failure) = make_version_2(trace, console)
            && !args.quiet
        {
            // The trace is as good as before, for us and for newer readers.
            console.complain(&format!(
                "the trace could not be converted to version 2, and stays \
                in version 3: {failure}"
            ));
        }
    }
    if args.final_gc {
        let written = account.iter().flat_map(|account| &account.written);
        let files: Vec<_> = written.map(|one| one.path.clone()).collect();
        let are_wanted = asked.snapshots.is_some_and(|when| when.exit);
        final_gc::apply(&traces, &files, are_wanted, args.quiet, console);
        if let Some(account) = &mut account {
            account.written.retain(|one| one.path.exists());
        }
    }
    if !args.quiet {
        let mut told = Ok(());
        if !wants.no_trace {
            let recorded = Recorded { traces: &traces, args: &args.record, is_wrapper };
            told = recorded.tell(name, console);
        }
        if let (Some(account), Some(when)) = (&account, &asked.snapshots) {
            let of_snapshots = snapshots::tell(account, &prefix(&output), when, status, console);
            told = told.and(of_snapshots.map_err(Failure::from));
        }
        if let Err(failure) = told {
            console.complain(&failure.to_string());
        }
    }
    if asked.snapshots.is_some() {
        keep_types(&types, &output, args.quiet, console);
    }
    let heaps = existing(&prefix(&output));
    let files = Written { traces: &traces, heaps: if account.is_some() { &heaps } else { &[] } };
    if args.view {
        files.show(console);
    } else if !args.quiet {
        files.tell(&prefix(&output), console);
    }
    Ok(Status::Program(end_like(status)))
}

/// The files that a run has produced.
struct Written<'a> {
    traces: &'a [PathBuf],
    heaps: &'a [PathBuf],
}

impl Written<'_> {
    /// Prints the command that shows them all. Errors do not affect the program's exit status.
    fn tell(&self, prefix: &Path, console: &mut Console) {
        let shown = |path: &Path| shortened(path).display().to_string();
        let traces = self.traces.iter().filter(|trace| has_samples(trace));
        let mut words: Vec<String> = traces.map(|trace| shown(trace)).collect();
        match self.heaps {
            [] => {}
            [one] => words.push(shown(one)),
            _ => words.push(format!("{}.*.heap", shown(prefix))),
        }
        if !words.is_empty() {
            let _ = console.note(&format!("in a browser: bactrian view {}", words.join(" ")));
        }
    }

    /// Opens the page with all of them, until Ctrl-C.
    fn show(&self, console: &mut Console) {
        let files: Vec<_> = self.traces.iter().chain(self.heaps).cloned().collect();
        if files.is_empty() {
            return console.complain("there is nothing to show");
        }
        if let Err(failure) = view::open(files, console) {
            console.complain(&failure.to_string());
        }
    }
}

/// The process that is meant: a number, if there is no program with that name.
fn process(word: &OsStr) -> Option<u32> {
    let pid = word.to_str()?.parse().ok().filter(|pid| *pid > 0)?;
    find_program(word).is_err().then_some(pid)
}

/// What follows a program's name belongs to the program, so options cannot follow the number of a process.
fn options_behind_process(pid: u32, arguments: &[OsString]) -> Failure {
    let options: Vec<_> = arguments.iter().map(|word| word.to_string_lossy()).collect();
    let options = options.join(" ");
    Failure::Usage(format!(
        "{pid} is a process id, and options must come before it: bactrian record {options} {pid}"
    ))
}

/// Saves a type table beside the recording, because the program may be rebuilt before questions are asked.
/// Snapshots are as good as before without one.
fn keep_types(program: &Path, output: &Path, quiet: bool, console: &mut Console) {
    let linked = Linked::of_last(&existing(&prefix(output)), program);
    let mut say = |note: &str| drop((!quiet).then(|| console.note(note)));
    let Some(table) = linked.table(program, &mut say) else { return };
    let beside = output.with_extension("types");
    let copied = fs::read(table)
        .map_err(Failure::from)
        .and_then(|bytes| write_file(&beside, console, |out, _| Ok(out.write_all(&bytes)?)));
    let shown = shortened(&beside).display();
    match copied {
        _ if quiet => {}
        Ok(()) => {
            drop(console.note(&format!("{shown}: the types of its blocks, for bactrian heap")))
        }
        Err(failure) => console.complain(&format!("no table of types was saved: {failure}")),
    }
}

pub fn refused(refusal: Refusal) -> Failure {
    match refusal.cause {
        Cause::Unreadable => Failure::Input(refusal.into()),
        _ => Failure::NotSupported(refusal.to_string()),
    }
}

/// The traces that were written: the requested one, and those of children.
fn traces_of(output: &Path, started: SystemTime) -> Vec<PathBuf> {
    let mut traces = Vec::new();
    traces.extend(output.is_file().then(|| output.to_owned()));
    let (Some(folder), Some(name)) = (output.parent(), output.file_name()) else { return traces };
    let name = Path::new(name);
    let (Some(stem), extension) = (name.file_stem(), name.extension()) else { return traces };
    let mut prefix = stem.to_owned();
    prefix.push(".");
    let of_children = fs::read_dir(folder).into_iter().flatten().flatten().filter(|entry| {
        let file = entry.file_name();
        let path = Path::new(&file);
        let numbers = path.file_stem().and_then(|stem| {
            stem.as_encoded_bytes().strip_prefix(prefix.as_encoded_bytes()).map(<[u8]>::to_vec)
        });
        let numbered = |text: Vec<u8>| text.iter().all(|b| b.is_ascii_digit() || *b == b'.');
        let modified = entry.metadata().and_then(|metadata| metadata.modified());
        path.extension() == extension
            && numbers.is_some_and(numbered)
            && modified.is_ok_and(|time| time >= started)
    });
    let mut of_children: Vec<_> = of_children.map(|entry| entry.path()).collect();
    of_children.sort();
    traces.extend(of_children);
    traces
}
