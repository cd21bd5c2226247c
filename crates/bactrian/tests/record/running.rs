//! `bactrian record PID`: running programs are recorded, continue unharmed, and can be recorded again.
//!
//! The quick set has a few rounds of each; the whole table has 500 rounds in total for each compiler.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use bactrian_fixtures::{BOTH, Compiler, Recipe, Variant, program, stripped, until, whole_table};

use crate::runs::{Place, signal, text};
use crate::traces::{info, is_clean};

/// No program takes this long to end.
const TOO_LONG: Duration = Duration::from_secs(60);

/// A program that runs until it is told to end.
struct Running {
    child: Child,
    output: BufReader<std::process::ChildStdout>,
}

impl Running {
    fn start(program: &Path, kind: &[&str]) -> Running {
        let mut command = Command::new(program);
        command.args(kind).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        let mut output = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut ready = String::new();
        output.read_line(&mut ready).expect("it says something");
        assert_eq!(ready, "ready\n");
        Running { child, output }
    }

    /// Ends it. Returns its last output and its exit status.
    fn end(mut self) -> String {
        drop(self.child.stdin.take());
        let begin = Instant::now();
        let status = loop {
            match self.child.try_wait().expect("our child") {
                Some(status) => break status,
                None if begin.elapsed() > TOO_LONG => {
                    self.child.kill().and_then(|()| self.child.wait()).expect("our child");
                    panic!("it does not end any more");
                }
                None => thread::sleep(Duration::from_millis(5)),
            }
        };
        // The output is small enough for a pipe.
        let mut said = String::new();
        self.output.read_to_string(&mut said).expect("UTF-8");
        let mut complaints = String::new();
        let mut error = self.child.stderr.take().expect("a pipe");
        error.read_to_string(&mut complaints).expect("UTF-8");
        format!("{said}{complaints}{status}")
    }

    fn record(&self, options: &[&str], trace: &Path) -> Output {
        let pid = self.child.id().to_string();
        let mut command = Command::new(env!("CARGO_BIN_EXE_bactrian"));
        command.arg("record").args(options).arg("-o").arg(trace).arg(&pid);
        command.output().expect("bactrian starts")
    }

    /// A recorder of this program that records until interrupted.
    fn recorder(&self, trace: &Path) -> Recorder {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bactrian"));
        command.args(["record", "--rate", "1e-2", "-o", text(trace)]);
        command.arg(self.child.id().to_string()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("bactrian starts");
        let mut said = BufReader::new(child.stderr.take().expect("a pipe"));
        let mut line = String::new();
        said.read_line(&mut line).expect("it says that it records");
        assert!(line.contains("Ctrl-C"), "{line}");
        Recorder { child, said }
    }
}

struct Recorder {
    child: Child,
    said: BufReader<ChildStderr>,
}

impl Recorder {
    fn interrupt(mut self) {
        signal("INT", &self.child.id().to_string());
        let mut said = String::new();
        self.said.read_to_string(&mut said).expect("UTF-8");
        assert!(self.child.wait().expect("our child").success(), "{said}");
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Leaves nothing behind if a test fails. It may have exited.
        let _ = self.child.kill();
    }
}

/// How an unharmed program ends.
const UNHARMED: &str = "done, 0 wrong\nexit status: 0";

/// Waits until there are samples in a trace.
fn until_written(trace: &Path) {
    until("samples are written", || trace.metadata().is_ok_and(|file| file.len() >= 1 << 13));
}

fn sampled(trace: &Path) -> u64 {
    let info = info(trace, &[]).expect("a readable trace");
    is_clean(&info).expect("a clean trace");
    info["result"]["sampled_allocations"].as_u64().expect("a number")
}

/// Records a program in rounds, at varying rates; it must end as if nothing had happened.
fn check(executable: &Path, kind: &[&str], rounds: usize) {
    let place = Place::new();
    let program = Running::start(executable, kind);
    for round in 0..rounds {
        let rate = ["1e-2", "1e-4", "1"][round % 3];
        let seconds = ["0.05", "0.02", "0.1", "0"][round % 4];
        let recorded = |seconds: &str, name: &str| {
            let trace = place.trace(&format!("{round}{name}.ctf"));
            let output = program.record(&["--rate", rate, "--for", seconds], &trace);
            let said = String::from_utf8_lossy(&output.stderr);
            let what = format!("{} {kind:?}, round {round}: {said}", executable.display());
            assert!(output.status.success(), "{what}");
            (sampled(&trace), what)
        };
        let (mut count, mut what) = recorded(seconds, "");
        // On a busy machine, the program may not have run in so short a time.
        if count == 0 && rate != "1e-4" && seconds != "0" {
            (count, what) = recorded("2", ".again");
        }
        assert!(rate == "1e-4" || seconds == "0" || count > 0, "{what}");
    }
    assert_eq!(program.end(), UNHARMED, "{} {kind:?}", executable.display());
}

const KINDS: [&str; 5] = ["busy", "idle", "threads", "signals", "forks"];

fn check_all(compiler: Compiler) {
    let rounds = if whole_table() { 80 } else { 4 };
    for kind in KINDS {
        check(&program("running", compiler, Variant::Plain), &[kind], rounds);
    }
}

#[test]
fn programs_of_ocaml_4_are_recorded_while_they_run() {
    check_all(Compiler::OCaml4);
}

#[test]
fn programs_of_ocaml_5_are_recorded_while_they_run() {
    check_all(Compiler::OCaml5);
}

#[test]
fn all_domains_are_recorded() {
    let executable = program("running_domains", Compiler::OCaml5, Variant::Plain);
    let rounds = if whole_table() { 100 } else { 4 };
    check(&executable, &[], rounds);
    // The sampler of a recording continues in domains that have inherited it, although none of them started
    // it.
    check(&executable, &["heirs"], rounds);
    check_kills(&executable, &["heirs"]);
    let place = Place::new();
    let trace = place.trace("trace.ctf");
    let running = Running::start(&executable, &[]);
    let output = running.record(&["--rate", "1e-2", "--for", "0.5"], &trace);
    assert!(output.status.success(), "{output:?}");
    let info = info(&trace, &[]).expect("a trace");
    let domains = info["result"]["domains"].as_array().map_or(0, Vec::len);
    // Three that stay, besides the one that waits for its input, and those that come and go.
    assert!(domains >= 3, "{info:#}");
    assert_eq!(running.end(), UNHARMED);
}

#[test]
fn stripped_programs_are_recorded_while_they_run() {
    for compiler in BOTH {
        check(&stripped(&program("running", compiler, Variant::Plain)), &["busy"], 2);
    }
}

/// Whether stripped symbols of the runtime can be recovered from the compiler's own. Those of libc cannot.
fn is_at_hand(compiler: Compiler) -> bool {
    compiler.version() == (4, 13)
}

/// Without a dynamic linker nothing in the process knows what is loaded, or its symbols: the agent is told.
#[test]
fn programs_that_export_nothing_are_recorded_while_they_run() {
    for compiler in BOTH {
        let executable = program("running", compiler, Variant::Static);
        let kinds = if whole_table() { &KINDS[..] } else { &["threads", "forks"] };
        for kind in kinds {
            check(&executable, &[kind], if whole_table() { 20 } else { 3 });
        }
        let hidden = program("running", compiler, Variant::Hidden);
        check(&hidden, &["forks"], 2);
        if is_at_hand(compiler) {
            check(&stripped(&hidden), &["forks"], 2);
        }
    }
}

#[test]
fn programs_own_sampler_has_precedence() {
    for compiler in BOTH {
        let place = Place::new();
        let executable = program("running", compiler, Variant::Plain);
        let running = Running::start(&executable, &["samples"]);
        for _ in 0..if whole_table() { 100 } else { 10 } {
            // Whether there are samples, or the recording was refused, depends on the moment.
            running.record(&["--rate", "1e-2", "--for", "0.02"], &place.trace("trace.ctf"));
        }
        assert_eq!(running.end(), UNHARMED, "{compiler:?}");
    }
}

/// Asks the runtime whether a sampler is running until its standard input ends, then starts its own. Prints
/// how often the answer was wrong.
const ASKS: &str = "
external is_sampling : unit -> bool = \"caml_memprof_is_sampling\"

let wrong = ref 0
let expect what = if is_sampling () <> what then incr wrong

let is_over () =
  match Unix.select [ Unix.stdin ] [] [] 0. with [], _, _ -> false | _ -> true

let rec work () =
  for _ = 1 to 100 do
    ignore (Sys.opaque_identity (List.init 1000 string_of_int));
    expect false
  done;
  if not (is_over ()) then work ()

let () =
  print_endline \"ready\";
  work ();
  let own = Gc.Memprof.start ~sampling_rate:1e-3 Gc.Memprof.null_tracker in
  expect true;
  Gc.Memprof.stop ();
  expect false;
  ignore own;
  Printf.printf \"done, %d wrong\\n\" !wrong
";

/// Since 5.5 a program can ask whether a sampler is running.
#[test]
fn program_sees_only_its_own_sampler() {
    for compiler in BOTH.into_iter().filter(|compiler| compiler.version() >= (5, 5)) {
        let place = Place::new();
        let arguments = "-I +unix unix.cmxa asks.ml -o asks";
        let recipe = Recipe::new("asks").file("asks.ml", ASKS);
        let executable = recipe.step(compiler.ocamlopt(), arguments).build().join("asks");
        let running = Running::start(&executable, &[]);
        let output = running.record(&["--rate", "1e-2", "--for", "0.2"], &place.trace("late.ctf"));
        assert!(output.status.success(), "{output:?}");
        assert_eq!(running.end(), UNHARMED);
        let mut command = Command::new(env!("CARGO_BIN_EXE_bactrian"));
        command.args(["record", "--rate", "1e-2", "-o", text(&place.trace("trace.ctf"))]);
        let output = command.arg("--").arg(&executable).stdin(Stdio::null()).output();
        let output = output.expect("bactrian starts");
        assert_eq!(String::from_utf8_lossy(&output.stdout), "ready\ndone, 0 wrong\n");
    }
}

#[test]
fn an_interrupt_ends_the_recording_not_the_program() {
    for compiler in BOTH {
        let place = Place::new();
        let trace = place.trace("trace.ctf");
        let running = Running::start(&program("running", compiler, Variant::Plain), &["busy"]);
        let recorder = running.recorder(&trace);
        until_written(&trace);
        recorder.interrupt();
        assert!(sampled(&trace) > 0);
        assert_eq!(running.end(), UNHARMED, "{compiler:?}");
    }
}

/// Kills recorders of a program at moments when they have stopped it, written the agent, or are recording.
fn check_kills(executable: &Path, kind: &[&str]) {
    let place = Place::new();
    let running = Running::start(executable, kind);
    let few = [1_000, 3_000, 10_000, 40_000, 200_000];
    let many = (0..100).map(|at| at * 300);
    let moments: Vec<u64> = if whole_table() { many.collect() } else { few.into() };
    for micros in moments {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bactrian"));
        let trace = place.trace(&format!("killed-{micros}.ctf"));
        command.args(["record", "--rate", "1e-2", "-o", text(&trace)]);
        command.arg(running.child.id().to_string()).stderr(Stdio::null());
        let mut recorder = command.spawn().expect("bactrian starts");
        thread::sleep(Duration::from_micros(micros));
        recorder.kill().and_then(|()| recorder.wait()).expect("our child");
    }
    let trace = place.trace("after.ctf");
    let output = running.record(&["--rate", "1e-2", "--for", "0.1"], &trace);
    let what = format!("{} {kind:?}: {output:?}", executable.display());
    assert!(output.status.success(), "{what}");
    assert!(sampled(&trace) > 0, "{what}");
    assert_eq!(running.end(), UNHARMED, "{what}");
}

/// The recorder is killed: the program continues, and can be recorded again.
#[test]
fn a_recorder_that_is_killed_does_no_harm() {
    for compiler in BOTH {
        let executable = program("running", compiler, Variant::Plain);
        check_kills(&executable, &["threads"]);
        if compiler == Compiler::OCaml5 {
            check_kills(&program("running_domains", compiler, Variant::Plain), &[]);
        }
    }
}

/// A second recorder is refused, and the first gets everything it asked for.
#[test]
fn one_recorder_at_a_time() {
    for compiler in BOTH {
        let place = Place::new();
        let running = Running::start(&program("running", compiler, Variant::Plain), &["busy"]);
        let [first, second] = ["first.ctf", "second.ctf"].map(|name| place.trace(name));
        let recorder = running.recorder(&first);
        let output = running.record(&["--for", "0.1"], &second);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(4), "{said}");
        assert!(said.contains("already recording it"), "{said}");
        until_written(&first);
        recorder.interrupt();
        assert!(sampled(&first) > 0 && !second.exists());
        assert_eq!(running.end(), UNHARMED, "{compiler:?}");
    }
}

/// The error where it is not possible: status 4, the reason, and what helps.
#[test]
fn refusal_to_record_a_running_program_gives_the_reason() {
    let place = Place::new();
    let trace = place.trace("trace.ctf");
    let refused = |program: &Path, kind: &[&str], why: &str| {
        let running = Running::start(program, kind);
        let mapped = || {
            let maps = std::fs::read_to_string(format!("/proc/{}/maps", running.child.id()));
            maps.expect("it runs").lines().filter(|line| line.ends_with(" 0 ")).count()
        };
        // It wakes up occasionally and may map memory itself; what we would map, we would map every time.
        let is_as_before = (0..5).any(|_| {
            let before = mapped();
            let output = running.record(&["--for", "0.1"], &trace);
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(output.status.code(), Some(4), "{said}");
            assert!(said.contains(why), "{said}");
            assert!(!trace.exists(), "{said}");
            mapped() == before
        });
        assert!(is_as_before, "something was mapped into it");
        assert_eq!(running.end(), UNHARMED);
    };
    let bytecode = program("running", Compiler::OCaml4, Variant::Custom);
    // A busy program maps memory itself.
    refused(&bytecode, &["idle"], "bytecode");
    if is_at_hand(Compiler::OCaml4) {
        let nameless = stripped(&program("running", Compiler::OCaml4, Variant::Static));
        refused(&nameless, &["idle"], "linked statically and stripped");
    }
    let shell: PathBuf = "/bin/sh".into();
    let script = "echo ready; read line; echo done, 0 wrong";
    refused(&shell, &["-c", script], "no OCaml runtime");
    let mut nobody = Command::new(env!("CARGO_BIN_EXE_bactrian"));
    let output = nobody.args(["record", "4194303"]).output().expect("bactrian starts");
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    let mut options = Command::new(env!("CARGO_BIN_EXE_bactrian"));
    let pid = std::process::id().to_string();
    let output = options.args(["record", "--snapshots", "exit", &pid]).output();
    let output = output.expect("bactrian starts");
    assert_eq!(output.status.code(), Some(2), "{output:?}");
}

/// Other observers find its trace meanwhile: blocks of a snapshot have their sites, and live numbers too.
#[test]
fn sites_are_known_while_it_is_recorded() {
    for compiler in BOTH {
        let place = Place::new();
        let running = Running::start(&program("running", compiler, Variant::Plain), &["busy"]);
        let pid = running.child.id().to_string();
        let bactrian = |arguments: &[&str]| {
            let output = Command::new(env!("CARGO_BIN_EXE_bactrian")).args(arguments).output();
            let output = output.expect("bactrian starts");
            assert!(output.status.success(), "{arguments:?}: {output:?}");
            String::from_utf8(output.stdout).expect("UTF-8")
        };
        // Acts when the trace has samples.
        let while_recorded = |rate: &str, act: &dyn Fn() -> String| {
            let trace = place.trace(&format!("{rate}.ctf"));
            let mut command = Command::new(env!("CARGO_BIN_EXE_bactrian"));
            command.args(["record", "--quiet", "--rate", rate, "-o", text(&trace), &pid]);
            let mut recorder = command.spawn().expect("bactrian starts");
            until_written(&trace);
            let outcome = act();
            signal("INT", &recorder.id().to_string());
            assert!(recorder.wait().expect("our child").success());
            outcome
        };
        let observer = |live: &str, name: &str| {
            let live: serde_json::Value = serde_json::from_str(live).expect("JSON");
            let observers = live["result"]["observers"].as_array().expect("observers");
            observers.iter().find(|one| one["name"] == name).cloned().expect(name)
        };
        let has_sites = |live: &str| {
            let sites = observer(live, "sites");
            assert!(sites.to_string().contains("running.ml"), "{compiler:?}: {sites:#}");
        };
        let pauses = |live: &str| observer(live, "runtime.pauses")["value"]["count"].as_u64();
        let recorded =
            while_recorded("1e-3", &|| bactrian(&["live", "--json", "--for", "2s", &pid]));
        has_sites(&recorded);
        // `live` can sample it and measure its pauses, too; but only while it runs.
        let watched = bactrian(&["live", "--rate", "1e-3", "--json", "--for", "2s", &pid]);
        has_sites(&watched);
        let after = bactrian(&["live", "--json", "--for", "1s", &pid]);
        let is_counted = |live: &str| pauses(live).is_some_and(|count| count > 0);
        assert!(is_counted(&watched), "{compiler:?}: {watched}");
        assert!(!is_counted(&recorded) && !is_counted(&after), "{after}");
        // Until the agent has recorded blocks, the sites of live blocks are unknown.
        let sites = while_recorded("1", &|| {
            let mut sites = String::new();
            for number in 0..20 {
                let heap = place.trace(&format!("{number}.heap"));
                bactrian(&["snapshot", "-o", text(&heap), &pid]);
                sites = bactrian(&["heap", "sites", text(&heap)]);
                if sites.contains(".ml:") {
                    break;
                }
            }
            sites
        });
        assert!(sites.contains(".ml:"), "{compiler:?}: {sites}");
        assert_eq!(running.end(), UNHARMED, "{compiler:?}");
    }
}
