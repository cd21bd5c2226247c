//! Everything around the program fails: the program is unharmed, and the trace has what there was.

use std::fs;
use std::io::{BufRead, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use bactrian_fixtures::{BOTH, Compiler, Variant, is_root, program, until_in_state, whole_table};

use crate::processes::wait_for_trace;
use crate::runs::{Place, Run, Seen, difference, finish, signal, text};
use crate::traces::{allocated, duration, in_folder, info, is_clean, state};

/// Nothing is lost; this is a tolerance for busy machines.
const BUSY: f64 = 0.6;

/// Kills the observed program with SIGKILL at moments spread over seconds, four programs at a time.
fn kill_at_random(compiler: Compiler) {
    let executable = program("steady", compiler, Variant::Plain);
    // The quick set has fewer moments, and no late ones: what is recorded is written every second.
    let (count, range) = if whole_table() { (20, 2_500) } else { (8, 1_500) };
    let runs: Vec<u64> = (0..count).collect();
    thread::scope(|scope| {
        for several in runs.chunks(runs.len().div_ceil(4)) {
            let executable = &executable;
            scope.spawn(move || {
                for number in several {
                    // Pseudorandom, but reproducible.
                    let moment = number.wrapping_mul(6_364_136_223_846_793_005).rotate_left(23);
                    let pace = if number % 3 == 0 { "idle" } else { "busy" };
                    kill_after(executable, pace, Duration::from_millis(moment % range));
                }
            });
        }
    });
}

fn kill_after(executable: &Path, pace: &str, moment: Duration) {
    let place = Place::new();
    let trace = place.trace("trace.ctf");
    let run = Run::new(executable, &["30", pace]).observed(&["--rate", "1e-3"], &trace);
    let mut child = place.start(&run);
    wait_for_trace(&place, &mut child);
    let begin = Instant::now();
    thread::sleep(moment);
    let lived = begin.elapsed().as_secs_f64();
    signal("KILL", &only_child(child.id()));
    let seen = finish(child, &place.work());
    let what = format!("{pace}, killed after {lived:.3} s");
    assert_eq!(seen.end, "signal 9", "{what}: {seen:?}");
    let info = info(&trace, &[]).unwrap_or_else(|reason| panic!("{what}: {reason}"));
    is_clean(&info).unwrap_or_else(|reason| panic!("{what}: {reason}"));
    assert_eq!(state(&info), "running", "{what}: the trace does not say that the end is missing");
    let held = duration(&info);
    assert!(held >= lived - BUSY, "{what}: the trace ends after {held} s");
}

/// The process that another one started.
fn only_child(parent: u32) -> String {
    let path = format!("/proc/{parent}/task/{parent}/children");
    // Each thread has its own list; the main thread started the program.
    let children = fs::read_to_string(path).expect("a kernel that lists children");
    children.split_whitespace().next().expect("a child").to_owned()
}

#[test]
fn killed_at_any_moment_ocaml4_leaves_a_trace() {
    kill_at_random(Compiler::OCaml4);
}

#[test]
fn killed_at_any_moment_ocaml5_leaves_a_trace() {
    kill_at_random(Compiler::OCaml5);
}

/// Runs `script` in a private mount namespace, with `$1` a mount point, `$2` a directory for results, and the
/// rest a command. None if this machine does not permit it.
fn with_mounts(place: &Place, script: &str, command: &Run) -> Option<Seen> {
    let mounted = place.trace("mounted");
    fs::create_dir_all(&mounted).expect("a folder");
    let mut run = command.clone();
    run.program = "unshare".into();
    // If not root: root in a private user namespace may mount there.
    let options: &[&str] = if is_root() { &["--mount"] } else { &["--mount", "--map-root-user"] };
    let allowed = Command::new("unshare")
        .args(options)
        .args(["mount", "-t", "tmpfs", "none"])
        .arg(&mounted)
        .status()
        .is_ok_and(|status| status.success());
    if !allowed {
        // Bypasses the test's output capture, so that nobody thinks that it ran.
        let what =
            "NOT TESTED: this machine allows no mounts, so no disk could be full or read-only\n";
        std::io::stderr().write_all(what.as_bytes()).ok();
        return None;
    }
    run.arguments = options.iter().map(Into::into).collect();
    run.arguments.extend(["sh", "-c", script, "sh"].map(Into::into));
    run.arguments.push(mounted.into());
    run.arguments.push(place.traces().into());
    run.arguments.push(command.program.clone().into());
    run.arguments.extend(command.arguments.iter().cloned());
    Some(place.run(&run))
}

#[test]
fn full_disk_harms_the_trace_not_the_program() {
    for compiler in BOTH {
        // Sizes at which the disk is full at the start of the trace, in the middle, and near the end.
        for kilobytes in [8, 64, 600] {
            let place = Place::new();
            let executable = program("exact", compiler, Variant::Plain);
            let run = Run::new(&executable, &["20000"]);
            let plain = place.run(&run);
            let trace = place.trace("mounted/trace.ctf");
            let script = format!(
                "mount -t tmpfs -o size={kilobytes}k none \"$1\" || exit 99
                 mounted=$1 results=$2; shift 2
                 \"$@\"; status=$?
                 cp \"$mounted\"/* \"$results\"; exit $status"
            );
            let observed = run.observed(&["--exact"], &trace);
            let Some(seen) = with_mounts(&place, &script, &observed) else { return };
            let what = format!("{compiler:?}, {kilobytes} kB");
            assert_eq!(difference(&plain, &seen), "", "{what}");
            let info = info(&place.trace("trace.ctf"), &[]);
            let info = info.unwrap_or_else(|reason| panic!("{what}: {reason}"));
            let lost = info["result"]["recorder"]["lost_allocations"].as_u64().unwrap_or(0);
            assert!(lost > 0, "{what}: lost in silence: {info:#}");
            let held = info["result"]["sampled_allocations"].as_u64().unwrap_or(0);
            assert!(held > 0 || kilobytes == 8, "{what}: nothing was kept");
        }
    }
}

#[test]
fn a_read_only_disk_is_refused() {
    let place = Place::new();
    let run = Run::new(program("bigarrays", Compiler::OCaml4, Variant::Plain), &[]);
    let observed = run.observed(&[], &place.trace("mounted/trace.ctf"));
    let script = "mount -t tmpfs -o ro none \"$1\" || exit 99; shift 2; exec \"$@\"";
    let Some(seen) = with_mounts(&place, script, &observed) else { return };
    let said = String::from_utf8_lossy(&seen.stderr);
    assert_eq!(seen.end, "exit status 3", "{said}");
    assert!(said.contains("trace.ctf"), "{said}");
    assert!(seen.files.is_empty() && seen.stdout.is_empty(), "the program was started: {seen:?}");
}

#[test]
fn without_proc_streams_stay_open_and_ignored_signals_ignored() {
    // Ends by the signal unless it has inherited that the signal is ignored.
    let child = ["sh", "-c", "kill -USR2 $$; echo out; echo err >&2"];
    if !is_root() {
        // Others need a user namespace for this, where root's directories cannot be recognised without /proc.
        return eprintln!("NOT TESTED: only root can take /proc away");
    }
    for compiler in BOTH {
        let place = Place::new();
        let run = Run::new(program("run", compiler, Variant::Plain), &child);
        let script = "mount -t tmpfs none /proc || exit 99; trap '' USR2; shift 2; exec \"$@\"";
        let Some(plain) = with_mounts(&place, script, &run) else { return };
        assert!(plain.stdout.ends_with(b"out\n") && plain.stderr == b"err\n", "{plain:?}");
        let observed = run.observed(&["--rate", "1e-2"], &place.trace("trace.ctf"));
        let observed = with_mounts(&place, script, &observed).expect("it was allowed");
        assert_eq!(difference(&plain, &observed), "", "{compiler:?}");
        is_clean(&info(&place.trace("trace.ctf"), &[]).expect("a trace")).expect("a clean trace");
    }
}

#[test]
fn file_size_limit_harms_the_trace_not_the_program() {
    // The agent is larger than the limit; it is installed before, in the home directory of these runs.
    let put_down = Run::new(env!("CARGO_BIN_EXE_bactrian"), &["agent", "--path"]);
    assert_eq!(Place::new().run(&put_down).end, "exit status 0");
    for compiler in BOTH {
        let place = Place::new();
        let executable = program("exact", compiler, Variant::Plain);
        // 32 kB. Writing more raises SIGXFSZ.
        let run = Run { first: "ulimit -f 64", ..Run::new(&executable, &["20000"]) };
        let plain = place.run(&run);
        let trace = place.trace("trace.ctf");
        let observed = place.run(&run.observed(&["--exact"], &trace));
        assert_eq!(difference(&plain, &observed), "", "{compiler:?}");
        let info = info(&trace, &[]).expect("a readable trace");
        let lost = info["result"]["recorder"]["lost_allocations"].as_u64().unwrap_or(0);
        assert!(lost > 0, "{compiler:?}: lost in silence: {info:#}");
    }
}

#[test]
fn a_trace_may_have_any_name() {
    use std::os::unix::ffi::OsStrExt;
    for compiler in BOTH {
        let executable = program("exact", compiler, Variant::Plain);
        for name in [&b"a b:c;d.ctf"[..], b"-", b".ctf", b"\xff\xfe\n.ctf", b"no extension"] {
            let place = Place::new();
            let name = std::ffi::OsStr::from_bytes(name);
            let folder = place.trace("a folder:with $HOME");
            fs::create_dir(&folder).expect("a folder");
            let run = Run::new(&executable, &[]);
            let trace = folder.join(name);
            let observed = place.run(&run.observed(&["--rate", "1e-2"], &trace));
            assert_eq!(difference(&place.run(&run), &observed), "", "{compiler:?}, {name:?}");
            assert_eq!(in_folder(&folder), std::slice::from_ref(&trace), "{compiler:?}, {name:?}");
            is_clean(&info(&trace, &[]).expect("a readable trace")).expect("a clean trace");
        }
    }
}

/// Runs a program that opens seven files besides the three standard streams, under a limit on open files.
fn with_descriptors(first: &'static str) {
    for compiler in BOTH {
        let place = Place::new();
        let executable = program("environment", compiler, Variant::Plain);
        let run = Run { first, ..Run::new(&executable, &["process"]) };
        let plain = place.run(&run);
        assert_eq!(plain.end, "exit status 0", "{first}");
        let trace = place.trace("trace.ctf");
        let observed = place.run(&run.observed(&["--rate", "1e-2"], &trace));
        assert_eq!(difference(&plain, &observed), "", "{compiler:?}, {first}");
        let info = info(&trace, &[]).expect("a readable trace");
        is_clean(&info).expect("a clean trace");
    }
}

#[test]
fn few_descriptors_are_enough() {
    for first in ["ulimit -n 64", "ulimit -n 20", "ulimit -n 12"] {
        with_descriptors(first);
    }
}

#[test]
fn a_program_may_need_all_descriptors() {
    // The test's parent may have left descriptors open.
    with_descriptors("exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-; ulimit -n 10");
}

#[test]
fn closed_standard_streams_do_no_harm() {
    for compiler in BOTH {
        let executable = program("closed_fds", compiler, Variant::Plain);
        for first in ["exec <&-", "exec >&-", "exec 2>&-", "exec <&- >&- 2>&-"] {
            let place = Place::new();
            let trace = place.trace("trace.ctf");
            let run = Run { first, ..Run::new(&executable, &["3"]) };
            let seen = place.run(&run.observed(&["--rate", "1e-2"], &trace));
            let report = seen.files.get(&PathBuf::from("report.txt"));
            let report = report.map(|bytes| String::from_utf8_lossy(bytes).into_owned());
            let unharmed = report.as_ref().is_some_and(|text| text.ends_with("unharmed true\n"));
            assert!(unharmed && seen.end == "exit status 0", "{compiler:?}, {first}: {seen:?}");
            is_clean(&info(&trace, &[]).expect("a readable trace")).expect("a clean trace");
        }
    }
}

/// The path of the agent as a recorded program sees it.
pub fn agent() -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_bactrian")).args(["agent", "--path"]).output();
    let output = output.expect("bactrian starts");
    String::from_utf8(output.stdout).expect("UTF-8").trim().to_owned()
}

#[test]
fn preloaded_agent_does_no_harm() {
    for compiler in BOTH {
        let place = Place::new();
        let executable = program("exceptions", compiler, Variant::Plain);
        let run = Run::new(&executable, &[]);
        let plain = place.run(&run);
        // The same file, and the same agent under another name.
        let copy = place.trace("agent.so");
        fs::copy(agent(), &copy).expect("a copy of the agent");
        let outside = Place::new();
        for preload in [agent(), text(&copy).to_owned(), format!("{}:{}", agent(), agent())] {
            let trace = outside.trace("trace.ctf");
            // By itself it does nothing.
            let idle = run.clone().with("LD_PRELOAD", &preload);
            assert_eq!(difference(&plain, &place.run(&idle)), "", "{compiler:?}, {preload}");
            let observed = place.run(&idle.observed(&["--rate", "1e-2"], &trace));
            assert_eq!(difference(&plain, &observed), "", "{compiler:?}, {preload}");
            let found = in_folder(&outside.traces());
            assert_eq!(found, std::slice::from_ref(&trace), "{compiler:?}, {preload}");
            is_clean(&info(&trace, &[]).expect("a readable trace")).expect("a clean trace");
        }
    }
}

#[test]
fn a_recorder_within_a_recorder_writes_its_own_trace() {
    for compiler in BOTH {
        let place = Place::new();
        let inner = Run::new(program("exceptions", compiler, Variant::Plain), &[]);
        let [outer_trace, inner_trace] = ["outer.ctf", "inner.ctf"].map(|name| place.trace(name));
        let runner = program("run", compiler, Variant::Plain);
        let wrap = |inner: &Run| {
            let mut outer = Run::new(&runner, &[text(&inner.program)]);
            outer.arguments.extend(inner.arguments.iter().cloned());
            outer
        };
        let plain = place.run(&wrap(&inner));
        let nested = wrap(&inner.observed(&["--rate", "1"], &inner_trace));
        let observed = place.run(&nested.observed(&["--rate", "1e-2"], &outer_trace));
        assert_eq!(difference(&plain, &observed), "", "{compiler:?}");
        for (trace, rate, name) in [(&outer_trace, 1e-2, "run"), (&inner_trace, 1.0, "exceptions")]
        {
            let info = info(trace, &[]).expect("a readable trace");
            is_clean(&info).expect("a clean trace");
            assert_eq!(info["result"]["sample_rate"], rate, "{compiler:?}");
            let program = info["result"]["program"].as_str().expect("a path");
            assert!(program.ends_with(name), "{compiler:?}: {program}");
        }
        assert_eq!(in_folder(&place.traces()).len(), 2, "{compiler:?}: traces of nobody");
    }
}

#[test]
fn a_signal_handler_in_c_may_end_the_process_at_any_moment() {
    for compiler in BOTH {
        let executable = program("c_handler", compiler, Variant::Plain);
        for rate in ["1e-2", "1"] {
            for number in (0..10).step_by(if whole_table() { 1 } else { 2 }) {
                let place = Place::new();
                // Up to a quarter of a second, and always different.
                let moment = (60_000 + number * 19_937).to_string();
                let trace = place.trace("trace.ctf");
                let run = Run::new(&executable, &[&moment]).observed(&["--rate", rate], &trace);
                let seen = place.run(&run);
                let what = format!("{compiler:?}, rate {rate}, after {moment} microseconds");
                assert_eq!(seen.end, "exit status 7", "{what}: {seen:?}");
                assert_eq!(seen.stdout, b"bye\n", "{what}");
                let info = info(&trace, &[]).unwrap_or_else(|reason| panic!("{what}: {reason}"));
                is_clean(&info).unwrap_or_else(|reason| panic!("{what}: {reason}"));
            }
        }
    }
}

/// The keeper is stopped, so that the ring buffer is full and the program waits for space when it ends.
#[test]
fn a_process_may_end_while_it_waits_for_its_keeper() {
    let executable = program("c_handler", Compiler::OCaml4, Variant::Plain);
    for stopped_after in [100, 150, 200] {
        let place = Place::new();
        let trace = place.trace("trace.ctf");
        let run = Run::new(&executable, &["300000"]).observed(&["--rate", "1"], &trace);
        let mut recorder = Command::new(&run.program);
        recorder.args(&run.arguments).stdout(Stdio::null());
        let mut recorder = recorder.spawn().expect("it starts");
        thread::sleep(Duration::from_millis(stopped_after));
        signal("STOP", &recorder.id().to_string());
        thread::sleep(Duration::from_millis(400));
        signal("CONT", &recorder.id().to_string());
        assert_eq!(recorder.wait().expect("it was started").code(), Some(7));
        let info = info(&trace, &[]).expect("a readable trace");
        is_clean(&info).unwrap_or_else(|reason| panic!("{stopped_after} ms: {reason}"));
    }
}

#[test]
fn blocked_threads_have_written_their_allocations() {
    for compiler in BOTH {
        let executable = program("wait_after_work", compiler, Variant::Plain);
        for arguments in [&[][..], &["joined"]] {
            let place = Place::new();
            let trace = place.trace("trace.ctf");
            let run = Run::new(&executable, arguments).observed(&["--rate", "1e-5"], &trace);
            let mut child = place.start(&run);
            let mut line = String::new();
            let output = child.stdout.take().expect("a pipe");
            std::io::BufReader::new(output).read_line(&mut line).expect("a line of the program");
            let words: f64 = line.trim().parse().expect("a number of words");
            let process = only_child(child.id());
            until_in_state(process.parse().expect("a number"), "S");
            signal("KILL", &process);
            finish(child, &place.work());
            let what = format!("{compiler:?} {arguments:?}");
            let info = info(&trace, &[]).unwrap_or_else(|reason| panic!("{what}: {reason}"));
            is_clean(&info).unwrap_or_else(|reason| panic!("{what}: {reason}"));
            assert_eq!(state(&info), "running", "{what}");
            let [_, held, _] = allocated(&info);
            let held = held / 8.0;
            // There are at least some hundred samples.
            assert!(held > 0.75 * words, "{what}: {held} words of {words}");
        }
    }
}
