//! A real program of OCaml 5.2, which has no Gc.Memprof: recording a trace is refused, and everything that
//! needs no sampler works.
//!
//! The program is Flow from npm (`cargo xtask programs`); without it, these tests print so and do nothing.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use bactrian_fixtures::{flow, until_it_reads};
use serde_json::Value;
use tempfile::TempDir;

const SOURCE: &str = "let x: number = [1, 2, 3].map((n) => n + 1).length;\n";

fn bactrian(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bactrian"));
    command.args(arguments).current_dir(folder).stdin(Stdio::null());
    // Indexes of snapshots go to the test's directory.
    command.env("XDG_CACHE_HOME", folder).output().expect("it starts")
}

fn succeeds(folder: &Path, arguments: &[&str]) -> Output {
    let output = bactrian(folder, arguments);
    assert!(output.status.success(), "{arguments:?}: {}", errors(&output));
    output
}

fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).expect("it is JSON")
}

/// Flow, which parses its standard input when that ends, and prints the syntax tree.
struct Waiting(Child);

impl Waiting {
    fn start(flow: &Path) -> Waiting {
        let mut command = Command::new(flow);
        command.arg("ast").stdin(Stdio::piped()).stdout(Stdio::piped());
        let child = command.spawn().expect("it starts");
        until_it_reads(child.id());
        Waiting(child)
    }

    fn pid(&self) -> String {
        self.0.id().to_string()
    }

    /// Lets it continue, and returns its output.
    fn end(mut self) -> Vec<u8> {
        let mut input = self.0.stdin.take().expect("it is piped");
        input.write_all(SOURCE.as_bytes()).expect("it reads");
        drop(input);
        let mut printed = Vec::new();
        let mut output = self.0.stdout.take().expect("it is piped");
        std::io::copy(&mut output, &mut printed).expect("it writes");
        assert!(self.0.wait().expect("it ends").success());
        printed
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

/// The output of an unobserved run.
fn plain(flow: &Path) -> Vec<u8> {
    Waiting::start(flow).end()
}

/// Checks a snapshot: it is complete, and Flow's modules hold nearly everything. Returns the number of bytes
/// held.
fn check_heap(folder: &Path, file: &str) -> u64 {
    succeeds(folder, &["check", file]);
    let roots = json(&succeeds(folder, &["heap", "roots", file, "--json"]));
    let all = &roots["result"]["all"];
    assert_eq!(roots["result"]["unreached_blocks"], 0);
    let held = all["retained"].as_u64().expect("a number");
    let rows = all["rows"].as_array().expect("rows");
    let globals = rows.iter().find(|row| row["kind"] == "global").expect("it has modules");
    let of_modules = globals["retained"].as_u64().expect("a number");
    assert!(of_modules > held / 10 * 9, "{of_modules} of {held}");
    let modules = globals["rows"].as_array().expect("rows");
    assert!(modules.iter().any(|row| row["name"] == "Type_inference_js"), "names are known");
    held
}

#[test]
fn trace_is_refused_with_what_works_instead() {
    let Some(flow) = flow() else { return };
    let folder = TempDir::new().expect("a folder");
    let path = flow.display().to_string();
    let waiting = Waiting::start(&flow);
    // For a running program, the message does not say how to start it.
    for (arguments, starts_it) in [
        (&["record", "-o", "t.ctf", "--", &path, "version"][..], true),
        (&["record", &waiting.pid()], false),
    ] {
        let refused = bactrian(folder.path(), arguments);
        let said = errors(&refused);
        assert_eq!(refused.status.code(), Some(4), "{said}");
        assert!(refused.stdout.is_empty(), "it was started: {said}");
        let parts = [
            "OCaml 5.2",
            "has no Gc.Memprof",
            "needs OCaml 5.3",
            "bactrian snapshot PID",
            "bactrian live",
        ];
        for part in parts {
            assert!(said.contains(part), "{said}");
        }
        assert_eq!(said.contains("--no-trace --snapshots"), starts_it, "{said}");
    }
    assert_eq!(fs::read_dir(folder.path()).expect("ours").count(), 0, "nothing is left");
    let report = json(&bactrian(folder.path(), &["doctor", "--json", &path]));
    let works = |what: &str| report["result"][what]["works"].clone();
    assert_eq!([works("record"), works("snapshot"), works("attach")], ["no", "yes", "yes"]);
    assert_eq!(waiting.end(), plain(&flow));
}

#[test]
fn a_process_and_its_core_have_the_same_heap() {
    let Some(flow) = flow() else { return };
    let folder = TempDir::new().expect("a folder");
    let waiting = Waiting::start(&flow);
    let pid = waiting.pid();
    succeeds(folder.path(), &["snapshot", &pid, "-o", "attached.heap"]);
    let attached = check_heap(folder.path(), "attached.heap");
    assert!(attached > 5_000_000, "{attached}");
    let gcore = Command::new("gcore").args(["-o", "core", &pid]).current_dir(&folder).output();
    match gcore {
        Ok(made) if made.status.success() => {
            let (core, path) = (format!("core.{pid}"), flow.display().to_string());
            succeeds(
                folder.path(),
                &["snapshot", "--core", &core, "--exe", &path, "-o", "core.heap"],
            );
            assert_eq!(check_heap(folder.path(), "core.heap"), attached);
        }
        _ => eprintln!("not tried: gcore is not there, or may not trace"),
    }
    assert_eq!(waiting.end(), plain(&flow));
}

#[test]
fn the_agent_takes_snapshots_without_a_trace() {
    let Some(flow) = flow() else { return };
    let folder = TempDir::new().expect("a folder");
    fs::write(folder.path().join("x.js"), SOURCE).expect("room");
    let path = flow.display().to_string();
    let plain = Command::new(&flow).args(["ast", "x.js"]).current_dir(&folder).output();
    let when = "major=4,exit";
    let arguments =
        ["record", "--no-trace", "--snapshots", when, "-o", "f.ctf", "--", &path, "ast", "x.js"];
    let observed = succeeds(folder.path(), &arguments);
    assert_eq!(observed.stdout, plain.expect("it starts").stdout);
    assert!(!folder.path().join("f.ctf").exists(), "no trace was asked for");
    let heaps = (1..).map(|n| format!("f.{n}.heap"));
    let heaps: Vec<_> = heaps.take_while(|name| folder.path().join(name).exists()).collect();
    assert!(heaps.len() >= 2, "{heaps:?}: {}", errors(&observed));
    let last = heaps.last().expect("there are some");
    assert!(check_heap(folder.path(), last) > 5_000_000);
}

#[test]
fn live_numbers_need_no_sampler() {
    let Some(flow) = flow() else { return };
    let folder = TempDir::new().expect("a folder");
    let path = flow.display().to_string();
    let waiting = Waiting::start(&flow);
    let value = |told: &Value, name: &str| {
        let observers = told["result"]["observers"].as_array().expect("observers").clone();
        let found = observers.into_iter().find(|observer| observer["name"] == name);
        found.unwrap_or_else(|| panic!("no {name}: {told}"))["value"].clone()
    };
    let told = json(&succeeds(folder.path(), &["live", "--json", "--for", "1s", &waiting.pid()]));
    assert_eq!(told["result"]["program"]["runtime"], "OCaml 5.2", "{told}");
    for name in ["runtime.heap", "runtime.live", "runtime.minor_collections"] {
        assert!(value(&told, name).as_u64().is_some_and(|value| value > 100), "{name}: {told}");
    }
    // A program started by live writes its pauses too. If samples are requested, the reason for their absence
    // is given.
    fs::write(folder.path().join("x.js"), SOURCE.repeat(5_000)).expect("room");
    for rate in ["0", "1e-4"] {
        let arguments =
            ["live", "--json", "--rate", rate, "--every", "20ms", "--", &path, "ast", "x.js"];
        let seen = succeeds(folder.path(), &arguments);
        // After the program's output.
        let text = String::from_utf8_lossy(&seen.stdout);
        let (_, told) = text.rsplit_once("\n{\n").expect("two parts");
        let told = format!("{{{told}");
        let told: Value = serde_json::from_str(&told).expect("it is JSON");
        assert!(told.to_string().contains("has no Gc.Memprof"), "{told}");
        let pauses = value(&told, "runtime.pauses");
        assert!(!pauses.is_null(), "{told}");
    }
    assert_eq!(waiting.end(), plain(&flow));
}
