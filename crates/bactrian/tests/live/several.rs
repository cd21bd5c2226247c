//! A whole service in one view.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use bactrian_fixtures::{BOTH, Compiler, Variant, flow, program, whole_table};
use serde_json::Value;

use crate::prometheus::get;
use crate::run::{Running, live, result, until};

/// A program with this many children, once they exist.
fn forks(compiler: Compiler, children: u32) -> Running {
    let mut command = Command::new(program("forks", compiler, Variant::Plain));
    command.args([children.to_string(), "600".to_owned()]).stdout(Stdio::piped());
    let mut running = Running(command.spawn().expect("it starts"));
    let mut said = String::new();
    let output = running.0.stdout.as_mut().expect("a pipe");
    BufReader::new(output).read_line(&mut said).expect("it says so");
    assert_eq!(said, "ready\n");
    running
}

fn programs(arguments: &[&str]) -> Vec<Value> {
    let output = live(arguments.iter().chain(&["--json"])).output().expect("it runs");
    assert!(output.status.success(), "{output:?}");
    result(&output)["programs"].as_array().expect("programs").clone()
}

#[test]
fn a_program_and_its_thirty_children_are_seen_at_once() {
    for compiler in BOTH {
        let running = forks(compiler, 29);
        let pid = running.0.id().to_string();
        let is_told = |one: &Value| {
            let number = |name: &str| one["glance"][name].as_f64().unwrap_or(0.0);
            number("heap") > 0.0 && number("allocation_rate") > 0.0 && number("rss") > 1e6
        };
        // On a busy machine the first numbers of so many programs take a while.
        let found = ["4s", "8s", "16s", "32s", "64s"].into_iter().find_map(|time| {
            let found = programs(&["--children", "--for", time, &pid]);
            (found.len() == 30 && found.iter().all(is_told)).then_some(found)
        });
        let found = found.expect("the numbers of all");
        // Those started last retain most.
        let heap = |one: &Value| one["glance"]["heap"].as_f64().expect("a number");
        assert!(heap(&found[29]) > 3.0 * heap(&found[1]), "{compiler:?}");
        let pids: Vec<String> =
            found[..3].iter().map(|one| one["program"]["pid"].to_string()).collect();
        let arguments = ["--for", "2s", &pids[0], &pids[1], &pids[2]];
        let output = live(arguments).output().expect("it runs");
        let text = String::from_utf8(output.stdout).expect("text");
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines.len() >= 5 && lines[0].contains("memory"), "{text}");
        assert!(lines[4].trim_start().starts_with("3  running"), "{text}");
    }
}

#[test]
fn programs_are_found_by_name_as_they_come_and_go() {
    let path = program("forks", BOTH[0], Variant::Plain);
    let name = format!("forks-of-{}", std::process::id());
    let folder = tempfile::tempdir().expect("a folder");
    let copy = folder.path().join(&name);
    std::fs::copy(&path, &copy).expect("room");
    let seen = |watched: &str, run: &str| {
        let mut watching = live(["--name", &name, "--for", watched, "--json"]);
        let watching = watching.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        // They start after the request, and end before the answer.
        let status = Command::new(&copy).args(["2", run]).stdout(Stdio::null()).status();
        assert!(status.expect("it runs").success());
        let output = watching.expect("it runs").wait_with_output().expect("it ends");
        result(&output)["programs"].as_array().expect("programs").clone()
    };
    let are_seen =
        |found: &Vec<Value>| found.len() == 3 && found.iter().all(|one| !one["ended"].is_null());
    // On a busy machine, examining them may take longer than they run.
    let found = Some(seen("6s", "2")).filter(are_seen).unwrap_or_else(|| seen("50s", "20"));
    assert!(are_seen(&found), "{found:#?}");
}

/// A shell without children yet does not end the observation.
#[test]
fn children_that_start_later_are_seen() {
    let path = program("forks", BOTH[0], Variant::Plain);
    let mut shell = Command::new("sh");
    shell.args(["-c", "sleep 2; \"$0\" 1 30 > /dev/null"]).arg(&path);
    let shell = Running(shell.spawn().expect("it starts"));
    let pid = shell.0.id().to_string();
    let found = until("the programs of a shell", || {
        let found = programs(&["--children", "--for", "5s", &pid]);
        (found.len() == 2).then_some(found)
    });
    assert!(found.iter().all(|one| one["program"]["name"] == "forks"), "{found:#?}");
}

#[test]
fn metrics_of_all_programs_are_served_with_labels() {
    let path = program("forks", BOTH[0], Variant::Plain);
    let mut command = live(["--children", "--json", "--metrics", "127.0.0.1:0", "--"]);
    command.arg(&path).args(["3", "120"]).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut running = Running(command.spawn().expect("it starts"));
    let mut line = String::new();
    let said = running.0.stderr.take().expect("a pipe");
    BufReader::new(said).read_line(&mut line).expect("the address");
    let (_, rest) = line.split_once("http://").expect("an address");
    let (address, _) = rest.split_once("/metrics").expect("an address");
    let count = |text: &str, name: &str| text.lines().filter(|it| it.starts_with(name)).count();
    let text = until("numbers of all", || {
        get(address, "/metrics")
            .filter(|text| count(text, "bactrian_runtime_heap_bytes{program=\"forks\",pid=") == 4)
    });
    assert_eq!(count(&text, "bactrian_up{"), 4, "{text}");
    assert_eq!(count(&text, "# TYPE bactrian_up "), 1, "{text}");
    let pid = running.0.id().to_string();
    assert!(Command::new("kill").arg(&pid).status().is_ok_and(|status| status.success()));
    until("the end", || running.0.try_wait().expect("a child"));
}

/// Six Flow servers, each with a monitor, a server and workers.
#[test]
fn all_processes_of_flow_are_observed_at_once() {
    let Some(flow) = flow().filter(|_| whole_table()) else { return };
    let folders: Vec<_> = (0..6).map(|_| tempfile::tempdir().expect("a folder")).collect();
    for folder in &folders {
        std::fs::write(folder.path().join(".flowconfig"), "").expect("room");
        std::fs::write(folder.path().join("a.js"), "// @flow\nexport const a: number = 1;\n")
            .expect("room");
        let started = Command::new(&flow).arg("start").current_dir(folder).output();
        assert!(started.expect("it starts").status.success());
    }
    let found = programs(&["--name", "flow", "--for", "15s"]);
    for folder in &folders {
        let stopped = Command::new(&flow).arg("stop").current_dir(folder).output();
        assert!(stopped.expect("it stops").status.success());
    }
    assert!(found.len() >= 24, "{}", found.len());
    for one in &found {
        assert_eq!(one["program"]["runtime"], "OCaml 5.2");
        assert!(one["glance"]["heap"].as_f64().is_some_and(|heap| heap > 1e6), "{one:#}");
    }
}
