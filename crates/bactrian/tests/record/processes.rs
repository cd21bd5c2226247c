//! Environments, children and signals: everything that passes between the program, its parent and its
//! children.

use std::collections::BTreeSet;
use std::process::Child;
use std::thread;
use std::time::Duration;

use bactrian_fixtures::{BOTH, Compiler, Variant, c_library, program, until, whole_table};

use crate::faults::agent;
use crate::ignored_children::IGNORED;
use crate::runs::{Place, Run, Seen, difference, finish, signal, text};
use crate::traces::{duration, in_folder, info, is_clean, state};

fn lines(seen: &Seen) -> BTreeSet<String> {
    String::from_utf8_lossy(&seen.stdout).lines().map(str::to_owned).collect()
}

/// Waits until a trace has grown beyond its first packet: the program is up.
pub fn wait_for_trace(place: &Place, child: &mut Child) {
    until("a trace appears", || {
        let ended = child.try_wait().expect("our child");
        assert!(ended.is_none(), "the program ended before it was recorded: {ended:?}");
        place.trace("trace.ctf").metadata().is_ok_and(|file| file.len() > 0)
    });
}

#[test]
fn environment_is_unchanged_with_children_ignored() {
    for compiler in BOTH {
        let executable = program("environment", compiler, Variant::Plain);
        let plain = Run::new(&executable, &["variables"]).with("OCAMLRUNPARAM", "b");
        // An existing value of LD_PRELOAD must not be changed.
        for run in [plain.clone(), plain.with("LD_PRELOAD", "libm.so.6")] {
            let place = Place::new();
            let options = ["--rate", "1e-2", "--children", "ignore"];
            let observed = place.run(&run.observed(&options, &place.trace("trace.ctf")));
            assert_eq!(difference(&place.run(&run), &observed), "", "{compiler:?}");
        }
    }
}

#[test]
fn only_our_variables_are_added_with_children_followed() {
    for compiler in BOTH {
        let place = Place::new();
        let run = Run::new(program("environment", compiler, Variant::Plain), &["variables"]);
        let plain = lines(&place.run(&run));
        let observed = lines(&place.run(&run.observed(&[], &place.trace("trace.ctf"))));
        let added: Vec<_> = observed.difference(&plain).collect();
        let ours =
            |line: &&String| line.starts_with("LD_PRELOAD=") || line.starts_with("BACTRIAN_");
        assert!(!added.is_empty() && added.iter().all(ours), "{compiler:?}: {added:?}");
        assert!(plain.is_subset(&observed), "{compiler:?}");
    }
}

/// The executable may define what belongs to libc: its own copy of the environment, or the address of a
/// function.
#[test]
fn executable_may_define_symbols_of_libc() {
    for (name, compiler) in
        ["environ_copy", "fixed_place"].iter().flat_map(|name| BOTH.map(|it| (name, it)))
    {
        let place = Place::new();
        let run = Run::new(program(name, compiler, Variant::Plain), &[]);
        let plain = place.run(&run);
        let trace = place.trace("trace.ctf");
        let options = ["--rate", "1", "--children", "ignore"];
        let observed = place.run(&run.observed(&options, &trace));
        assert_eq!(difference(&plain, &observed), "", "{name} {compiler:?}");
        let info =
            info(&trace, &[]).unwrap_or_else(|reason| panic!("{name} {compiler:?}: {reason}"));
        is_clean(&info).unwrap_or_else(|reason| panic!("{name} {compiler:?}: {reason}"));
    }
}

#[test]
fn an_executable_may_have_its_own_copy_of_the_runtimes_variables() {
    // OCaml 5 has no variable of which C code could have a copy: its state is per thread.
    let place = Place::new();
    let run = Run::new(program("embedded", Compiler::OCaml4, Variant::Plain), &[]);
    let plain = place.run(&run);
    let trace = place.trace("trace.ctf");
    // The runtime is not in the executable itself.
    assert_eq!(difference(&plain, &place.run(&run.observed(&["--rate", "1"], &trace))), "");
    let info = info(&trace, &[]).expect("a trace");
    is_clean(&info).expect("a clean trace");
    assert!(info["result"]["sampled_allocations"].as_u64() > Some(10_000), "{info:#}");
}

#[test]
fn ignored_children_leave_no_traces() {
    for compiler in BOTH {
        let place = Place::new();
        let run = Run::new(program("fork_exec", compiler, Variant::Plain), &[]);
        let plain = place.run(&run);
        let options = ["--rate", "1e-2", "--children", "ignore"];
        let observed = place.run(&run.observed(&options, &place.trace("trace.ctf")));
        assert_eq!(difference(&plain, &observed), "", "{compiler:?}");
        let traces = in_folder(&place.traces());
        assert_eq!(traces, [place.trace("trace.ctf")], "{compiler:?}");
        is_clean(&info(&traces[0], &[]).expect("a trace")).expect("a clean trace");
    }
}

#[test]
fn children_are_named_after_their_process() {
    for compiler in BOTH {
        let place = Place::new();
        let run = Run::new(program("fork_exec", compiler, Variant::Plain), &[]);
        place.run(&run.observed(&["--rate", "1e-2"], &place.trace("trace.ctf")));
        let traces = in_folder(&place.traces());
        let main = info(&place.trace("trace.ctf"), &[]).expect("the parent's trace");
        let parent = main["result"]["pid"].as_u64().expect("a number");
        for trace in traces.iter().filter(|trace| **trace != place.trace("trace.ctf")) {
            let pid = info(trace, &[]).expect("a trace")["result"]["pid"].to_string();
            let start = format!("trace.{pid}.");
            let name = trace.file_name().and_then(|name| name.to_str()).expect("UTF-8");
            assert!(name.starts_with(&start) && name.ends_with(".ctf"), "{name} of process {pid}");
        }
        // In the end it executes itself: a second program in the same process.
        let again = format!("trace.{parent}.");
        let has_again = |trace: &&std::path::PathBuf| text(trace).contains(&again);
        assert_eq!(traces.iter().filter(has_again).count(), 1, "{compiler:?}: {traces:?}");
    }
}

#[test]
fn a_child_that_becomes_another_program_at_once_leaves_no_empty_trace() {
    for compiler in BOTH {
        let place = Place::new();
        let run = Run::new(program("fork_exec", compiler, Variant::Plain), &[]);
        place.run(&run.observed(&["--rate", "1e-2"], &place.trace("trace.ctf")));
        let traces = in_folder(&place.traces());
        let of_process = |trace: &std::path::PathBuf| {
            let info = info(trace, &[]).expect("a trace");
            let samples = info["result"]["sampled_allocations"].as_u64().unwrap_or(0);
            (info["result"]["pid"].as_u64().unwrap_or(0), samples)
        };
        let mut empty = traces.iter().map(of_process).filter(|(_, samples)| *samples == 0);
        // Those that ended without executing another program may have had nothing to record.
        let twice = |pid: u64| traces.iter().filter(|trace| of_process(trace).0 == pid).count() > 1;
        let needless = empty.find(|(pid, _)| twice(*pid));
        assert_eq!(needless, None, "{compiler:?}: process and samples, of {traces:?}");
    }
}

#[test]
fn a_child_that_outlives_the_recorder_is_recorded_to_its_end() {
    for compiler in BOTH {
        let place = Place::new();
        let run = Run::new(program("fork_exec", compiler, Variant::Plain), &["daemon"]);
        let seen = place.run(&run.observed(&["--rate", "1e-2"], &place.trace("trace.ctf")));
        assert_eq!(seen.stdout, b"started a daemon\n", "{compiler:?}");
        until("there is a daemon", || place.work().join("daemon.txt").exists());
        let traces = in_folder(&place.traces());
        let [child, _] = &traces[..] else { panic!("{compiler:?}: not two traces: {traces:?}") };
        // It ends after it has made the file.
        let ended = || info(child, &[]).ok().filter(|info| state(info) == "ended");
        until("its trace has ended", || ended().is_some());
        let info = ended().expect("as before");
        is_clean(&info).expect("a clean trace");
        // It works for more than two seconds, and the recorder exists for little more than one.
        let held = duration(&info);
        assert!(
            state(&info) == "ended" && held > 2.0,
            "{compiler:?}: {} at {held} s",
            state(&info)
        );
    }
}

/// Nobody reads its parent's ring buffer any more, but the keeper is alive.
#[test]
fn a_child_that_outlives_its_parent_ends_while_the_recorder_goes_on() {
    // The pipe is closed with the last process that has it.
    let script =
        "mkfifo end; (exec \"$0\" daemon 9>end) & timeout 30 cat <end && echo over; rm end";
    for compiler in BOTH {
        let place = Place::new();
        let mut run = Run::new("sh", &["-c", script]);
        run.arguments.push(program("fork_exec", compiler, Variant::Plain).into());
        let options = ["--no-trace", "--snapshots", "exit", "--children", "follow"];
        let seen = place.run(&run.observed(&options, &place.trace("trace.ctf")));
        assert!(seen.stdout.ends_with(b"over\n"), "{compiler:?}: {seen:?}");
    }
}

#[test]
fn signals_are_passed_on() {
    for (compiler, name, end) in [
        (Compiler::OCaml4, "TERM", "signal 15"),
        (Compiler::OCaml5, "TERM", "signal 15"),
        // Not INT or HUP: a test run in the background may have these ignored, and they stay so.
        (Compiler::OCaml4, "USR1", "signal 10"),
        (Compiler::OCaml5, "USR2", "signal 12"),
    ] {
        let place = Place::new();
        let run = Run::new(program("steady", compiler, Variant::Plain), &["30"]);
        let trace = place.trace("trace.ctf");
        let mut child = place.start(&run.observed(&["--rate", "1e-3"], &trace));
        wait_for_trace(&place, &mut child);
        signal(name, &child.id().to_string());
        let seen = finish(child, &place.work());
        assert_eq!(seen.end, end, "{compiler:?} {name}: {seen:?}");
        info(&trace, &[]).expect("a readable trace");
    }
}

#[test]
fn a_signal_starts_and_stops_recording() {
    for compiler in BOTH {
        let place = Place::new();
        let run = Run::new(program("steady", compiler, Variant::Plain), &["2"]);
        let trace = place.trace("trace.ctf");
        let options = ["--rate", "1e-3", "--signal", "USR2"];
        let mut child = place.start(&run.observed(&options, &trace));
        wait_for_trace(&place, &mut child);
        for pause in [600, 400] {
            thread::sleep(Duration::from_millis(pause));
            signal("USR2", &child.id().to_string());
        }
        let seen = finish(child, &place.work());
        assert_eq!((seen.end.as_str(), &seen.stdout[..]), ("exit status 0", &b"done\n"[..]));
        let all = info(&trace, &[]).expect("a readable trace");
        is_clean(&all).expect("a clean trace");
        // Nothing before the first signal, nor long after the second.
        let samples = |window: &str| {
            let info = info(&trace, &["--allocated", window]).expect("a readable trace");
            info["result"]["contents"]["minor"].as_u64().expect("a number")
        };
        assert_eq!(samples("..500ms"), 0, "{compiler:?}");
        assert!(samples("500ms..1200ms") > 0, "{compiler:?}");
        assert_eq!(samples("1500ms.."), 0, "{compiler:?}");
    }
}

#[test]
fn recording_takes_the_time_it_is_given() {
    for compiler in BOTH {
        let place = Place::new();
        let run = Run::new(program("steady", compiler, Variant::Plain), &["2"]);
        let trace = place.trace("trace.ctf");
        let options = ["--rate", "1e-3", "--after", "0.5", "--for", "0.5"];
        let seen = place.run(&run.observed(&options, &trace));
        assert_eq!((seen.end.as_str(), &seen.stdout[..]), ("exit status 0", &b"done\n"[..]));
        let all = info(&trace, &[]).expect("a readable trace");
        is_clean(&all).expect("a clean trace");
        let samples = |window: &str| {
            let info = info(&trace, &["--allocated", window]).expect("a readable trace");
            info["result"]["contents"]["minor"].as_u64().expect("a number")
        };
        assert_eq!((samples("..490ms"), samples("1010ms..")), (0, 0), "{compiler:?}");
        assert!(samples("500ms..1s") > 0, "{compiler:?}: {} s", duration(&all));
    }
}

#[test]
fn domains_continue_when_the_recording_ends() {
    let executable = program("domains_at_work", Compiler::OCaml5, Variant::Plain);
    // The quick set has a third of the moments, evenly spaced.
    for number in (0..20).step_by(if whole_table() { 1 } else { 3 }) {
        let place = Place::new();
        let trace = place.trace("trace.ctf");
        // While all domains are active, at a different moment each time.
        let time = format!("0.{:03}", 60 + 11 * number);
        let options = ["--rate", "1", "--for", &time];
        let seen = place.run(&Run::new(&executable, &[]).observed(&options, &trace));
        assert_eq!(seen.end, "exit status 0", "after {time} s: {seen:?}");
        assert_eq!(seen.stdout, b"done\n", "after {time} s");
        let info = info(&trace, &[]).unwrap_or_else(|reason| panic!("after {time} s: {reason}"));
        is_clean(&info).unwrap_or_else(|reason| panic!("after {time} s: {reason}"));
    }
}

/// Signals reserved by the C library.
const OF_LIBC: u64 = 1 << (32 - 1) | 1 << (33 - 1);

/// The output of the program `inherited`: the ignored signals, and the rest.
fn inherited(seen: &Seen) -> (u64, Vec<String>) {
    let said = String::from_utf8_lossy(&seen.stdout).into_owned();
    let mut lines = said.lines();
    let ignored = lines.next().and_then(|line| line.strip_prefix("SigIgn:")).expect("signals");
    let ignored = u64::from_str_radix(ignored.trim(), 16).expect("a number");
    (ignored & !OF_LIBC, lines.map(str::to_owned).collect())
}

#[test]
fn inherited_signals_and_descriptors_are_unchanged() {
    let [hup, pipe, chld, xfsz] = [1, 13, 17, 25].map(|signal| 1 << (signal - 1));
    for compiler in BOTH {
        let executable = program("inherited", compiler, Variant::Plain);
        for (first, ignored, closed) in [
            ("trap '' HUP PIPE", hup | pipe, None),
            ("trap '' HUP PIPE; exec 2>&-", hup | pipe, Some("standard error: ")),
            // Signals that we need ourselves reach the program with their original disposition.
            (IGNORED, chld, None),
            ("trap '' XFSZ", xfsz, None),
            ("exec <&-", 0, Some("standard input: ")),
            ("exec <&- 2>&-", 0, Some("standard error: ")),
        ] {
            let place = Place::new();
            let run = Run { first, ..Run::new(&executable, &[]) };
            let plain = inherited(&place.run(&run));
            for options in [&["--rate", "1e-2"][..], &["--rate", "1e-2", "--signal", "USR2"]] {
                let trace = place.trace("trace.ctf");
                let observed = inherited(&place.run(&run.observed(options, &trace)));
                assert_eq!(plain, observed, "{compiler:?}, {first}, {options:?}");
                is_clean(&info(&trace, &[]).expect("a readable trace")).expect("a clean trace");
            }
            assert_eq!(plain.0 & ignored, ignored, "{first}: not ignored: {plain:?}");
            let is_closed = |line: &String| {
                closed.is_some_and(|name| line.starts_with(name) && !line.ends_with("open"))
            };
            assert_eq!(plain.1.iter().any(is_closed), closed.is_some(), "{first}: {plain:?}");
        }
    }
}

#[test]
fn library_that_interposes_the_same_functions_is_called() {
    let library = c_library("inherited_link");
    for compiler in BOTH {
        let executable = program("inherited", compiler, Variant::Plain);
        let place = Place::new();
        let run = Run::new(&executable, &[]).with("LD_PRELOAD", &library);
        let plain = inherited(&place.run(&run));
        assert!(plain.1.contains(&"link: faked".to_owned()), "{compiler:?}: {plain:?}");
        // A library before ours may hide the program's start from us.
        let trace = place.trace("before.ctf");
        let observed = inherited(&place.run(&run.observed(&["--rate", "1"], &trace)));
        assert_eq!(plain, observed, "{compiler:?}, before ours");
        // A library behind ours is called by us.
        let trace = place.trace("behind.ctf");
        let run = Run::new(&executable, &[])
            .with("LD_PRELOAD", format!("{}:{}", agent(), text(&library)))
            .with("BACTRIAN_TRACE", &trace)
            .with("BACTRIAN_RATE", "1");
        assert_eq!(plain, inherited(&place.run(&run)), "{compiler:?}, behind ours");
        let info = info(&trace, &[]).expect("a readable trace");
        is_clean(&info).expect("a clean trace");
        let samples = info["result"]["sampled_allocations"].as_u64().unwrap_or(0);
        assert!(samples > 0, "{compiler:?}: no samples");
    }
}
