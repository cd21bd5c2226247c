//! `bactrian gc` on real programs: recommendations were run, and the counters of each run equal those that the runtime prints.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::{fs, time::Duration};

use bactrian_advice::setting::Setting;
use bactrian_fixtures::{Compiler, Variant, program, until_it_worked};
use serde_json::Value;

fn bactrian(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bactrian"));
    command.args(arguments).stdin(Stdio::null()).env("OCAMLRUNPARAM", "v=0x000");
    command
}

fn run(arguments: &[&str]) -> Output {
    bactrian(arguments).output().expect("it starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn answer(arguments: &[&str]) -> Value {
    let output = run(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
    let envelope: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    assert_eq!(envelope["command"], "gc");
    envelope["result"].clone()
}

fn steady(compiler: Compiler) -> PathBuf {
    program("gc_steady", compiler, Variant::Plain)
}

fn path(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

/// Hundreds of rounds of `gc_steady`: enough for runs to differ by their parameters, and not only by chance.
const ROUNDS: &str = "200";

/// The promoted words that the runtime itself prints.
fn promoted(program: &Path, run: &Value) -> u64 {
    let number = |name: &str| run["setting"][name].as_u64().expect("a number");
    let setting = Setting { s: number("s"), o: number("o") };
    // As long as those of the measured run, because the standard library keeps a copy of them.
    let parameters = match run["why"].as_str() {
        Some("present" | "noise") => "v=0x400".to_owned(),
        _ => setting.ocamlrunparam("v=0x400"),
    };
    let mut command = Command::new(program);
    let output = command.arg(ROUNDS).env("OCAMLRUNPARAM", parameters).output().expect("it runs");
    let text = text(&output.stderr);
    let line = text.lines().find_map(|line| line.strip_prefix("promoted_words:"));
    line.expect("the runtime prints it").trim().parse::<f64>().expect("a number") as u64
}

#[test]
fn the_recommended_setting_was_run_and_measured_exactly() {
    for compiler in [Compiler::OCaml4, Compiler::OCaml5] {
        let program = steady(compiler);
        let result = answer(&["gc", "--json", "--", path(&program), ROUNDS]);
        let answer = &result["answers"][0];
        let runs = answer["runs"].as_array().expect("runs");
        assert!((4..=6).contains(&runs.len()), "{answer:#}");
        let recommended = &answer["recommended"]["choice"]["cell"];
        assert_eq!(recommended["measured"], true, "{answer:#}");
        assert!(runs.iter().any(|run| run["setting"] == recommended["setting"]), "{answer:#}");
        for run in runs {
            assert_eq!(run["exact"], true, "{run:#}");
            let expected = promoted(&program, run);
            assert_eq!(run["promoted_words"], expected, "{compiler:?} {run:#}");
        }
        let line = answer["recommended"]["ocamlrunparam"].as_str().expect("a line");
        assert!(line.starts_with("v=0x000,s="), "{line}");
        let cells = answer["map"]["rows"].as_array().expect("rows").iter().flat_map(|row| {
            row.as_array().expect("cells").iter().filter(|cell| !cell["time"].is_null())
        });
        let on_map: Vec<&Value> = cells.map(|cell| &cell["setting"]).collect();
        let grid = answer["grid"].as_array().expect("cells");
        assert!(grid.iter().all(|cell| on_map.contains(&&cell["setting"])), "{answer:#}");
        let reserves = &answer["recommended"]["reservation"];
        assert_eq!(reserves.is_number(), compiler == Compiler::OCaml5, "{reserves}");
    }
}

#[test]
fn a_kept_result_answers_other_goals_without_running_anything() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("steady.gc");
    let program = steady(Compiler::OCaml4);
    let output = run(&["gc", "-o", path(&file), "--budget", "5", "--", path(&program), "250"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let shown = text(&output.stdout);
    for part in [
        "recommended",
        "OCAMLRUNPARAM='v=0x000,s=",
        "(env (_",
        "Gc.set",
        "what nothing beats",
        "@ now",
    ] {
        assert!(shown.contains(part) || shown.contains("the present setting"), "{part}: {shown}");
    }
    // The program's own output is not shown.
    assert!(!shown.contains("1000000"), "{shown}");
    let mode = fs::metadata(&file).expect("it was written").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let again = text(&run(&["gc", path(&file)]).stdout);
    assert_eq!(again, shown);
    let limited = answer(&["gc", path(&file), "--memory", "1kB", "--json"]);
    assert_eq!(limited["answers"][0]["recommended"]["choice"]["attains_goal"], false);
    fs::write(&file, "{\"format\":\"bactrian gc\",\"version\":1}").expect("room");
    let damaged = run(&["gc", path(&file)]);
    assert_eq!(damaged.status.code(), Some(3), "{}", text(&damaged.stderr));
    let page = folder.path().join("page.html");
    let refused = run(&["report", path(&file), "-o", path(&page)]);
    assert_eq!(refused.status.code(), Some(3), "{}", text(&refused.stderr));
    assert_eq!(text(&refused.stderr), text(&damaged.stderr));
}

#[test]
fn programs_that_cannot_be_tuned_say_why() {
    let steady = steady(Compiler::OCaml4);
    let own = answer(&["gc", "--json", "--", path(&steady), "100", "own"]);
    let notes = own["answers"][0]["notes"].to_string();
    assert!(own["answers"][0]["recommended"].is_null() && notes.contains("Gc.set"), "{notes}");
    let short = answer(&["gc", "--json", "--budget", "3", "--", path(&steady), "1"]);
    let notes = short["answers"][0]["notes"].to_string();
    assert!(notes.contains("no parameter matters"), "{notes}");
    let exits = program("exits", Compiler::OCaml4, Variant::Plain);
    let failing = run(&["gc", "--json", "--budget", "2", "--", path(&exits), "uncaught"]);
    assert!(failing.status.success());
    assert!(text(&failing.stderr).contains("not caught by anybody"), "{}", text(&failing.stderr));
    let killed = run(&["gc", "--", path(&exits), "kill"]);
    assert_eq!(killed.status.code(), Some(3), "{}", text(&killed.stderr));
    let no_ocaml = run(&["gc", "--", "/bin/true"]);
    assert_eq!(no_ocaml.status.code(), Some(4), "{}", text(&no_ocaml.stderr));
    let long = run(&["gc", "--budget", "6,1s", "--", path(&steady), "1000000"]);
    assert_eq!(long.status.code(), Some(4), "{}", text(&long.stderr));
    assert!(text(&long.stderr).contains("bactrian gc PID"), "{}", text(&long.stderr));
}

#[test]
fn two_programs_are_compared_at_equal_memory() {
    let (four, five) = (steady(Compiler::OCaml4), steady(Compiler::OCaml5));
    let arguments =
        ["gc", "--json", "--budget", "3", "--against", path(&five), "--", path(&four), "250"];
    let result = answer(&arguments);
    assert_eq!(result["answers"].as_array().map(Vec::len), Some(2));
    let rows = result["comparison"]["at_same_memory"].as_array().expect("rows");
    assert_eq!(rows.len(), 2, "{result:#}");
    assert!(rows.iter().any(|row| row["factor"].is_number()), "{result:#}");
}

#[test]
fn counters_of_a_running_program_bound_the_effect_of_o() {
    let mut child = Command::new(steady(Compiler::OCaml4));
    let mut child = child.arg("1000000").stdout(Stdio::null()).spawn().expect("it starts");
    let pid = child.id().to_string();
    // It has to start, and to collect.
    until_it_worked(child.id(), Duration::from_secs(1));
    let folder = tempfile::tempdir().expect("a folder");
    let recording = folder.path().join("steady.live");
    let recorded = run(&["live", "--record", path(&recording), "--for", "1s", &pid]);
    let of_process = run(&["gc", "--json", &pid]);
    child.kill().expect("it runs");
    child.wait().expect("it ended");
    assert!(recorded.status.success(), "{}", text(&recorded.stderr));
    let of_recording = run(&["gc", "--json", path(&recording)]);
    for output in [of_process, of_recording] {
        assert!(output.status.success(), "{}", text(&output.stderr));
        let envelope: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
        let result = &envelope["result"];
        assert_eq!((&result["s"], &result["o"]), (&262_144.into(), &120.into()), "{result:#}");
        let rows = result["rows"].as_array().expect("rows");
        let heap = |o: u64| {
            let row = rows.iter().find(|row| row["o"] == o).expect("it is looked at");
            row["heap"]["value"].as_f64().expect("a number")
        };
        assert!(heap(40) < heap(120) && heap(120) < heap(400), "{result:#}");
        let unknown = result["unknown"].to_string();
        assert!(unknown.contains("the effect of another s"), "{unknown}");
    }
    let nobody = run(&["gc", "4194304999"]);
    assert!(!nobody.status.success());
}
