//! `bactrian heap` on snapshots of real programs: every block is held, and sums are consistent.
//!
//! The quick set has all programs with OCaml 5 only: these questions depend on the version of OCaml only
//! through roots, so of the others it has those with roots of a kind of their own.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use bactrian_fixtures::whole_table;
use serde_json::Value;

use crate::heaps::heaps_of;
use crate::programs::{Kind, Waiting, each};

/// Where indexes are kept, so as not to fill the user's own directory.
fn cache() -> PathBuf {
    bactrian_fixtures::scratch("cache")
}

/// The complete answer of a verb of `bactrian heap`.
pub fn ask(verb: &str, file: &Path, options: &[&str]) -> Result<Value, String> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bactrian"));
    command.args(["heap", verb, "--json", "-n", "0"]).args(options).arg(file);
    command.env("XDG_CACHE_HOME", cache());
    let said = command.stdin(Stdio::null()).output().expect("bactrian starts");
    if !said.status.success() || !said.stderr.is_empty() {
        return Err(format!("{verb}: {}", String::from_utf8_lossy(&said.stderr)));
    }
    let answer: Value = serde_json::from_slice(&said.stdout).map_err(|error| error.to_string())?;
    Ok(answer["result"].clone())
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or(f64::NAN)
}

fn sum(rows: &Value, of: impl Fn(&Value) -> f64) -> f64 {
    rows.as_array().map_or(f64::NAN, |rows| rows.iter().map(of).sum())
}

/// Invariants of a row and the rows below it.
fn check_row(row: &Value) -> Result<(), String> {
    let of = |what: &str| number(&row[what]);
    let name = &row["name"];
    if of("retained") > of("reachable") || of("shallow") > of("reachable") {
        return Err(format!("{name} holds more than it reaches: {row}"));
    }
    // The share lies between the retained and the reachable size.
    if of("share") < of("retained") - 1e-3 || of("share") > of("reachable") + 1e-3 {
        return Err(format!("{name} has an odd share: {row}"));
    }
    let rows = &row["rows"];
    if rows.as_array().is_some_and(|rows| !rows.is_empty()) {
        let shares = sum(rows, |row| number(&row["share"]));
        // Blocks that a module holds without a field have no row.
        if shares > of("share") * (1.0 + 1e-9) + 1e-3 {
            return Err(format!("shares below {name} are more than its own: {shares}"));
        }
        if sum(rows, |row| number(&row["retained"])) > of("retained") {
            return Err(format!("{name} does not dominate what those below it dominate"));
        }
    }
    Ok(())
}

/// Stacks, threads and finalisers are roots; closures are in code that modules hold.
const WITH_SPECIAL_ROOTS: [&str; 4] =
    ["heap_closures", "heap_threads", "heap_finalisers", "heap_stack"];

fn check(kind: Kind, name: &str) -> Result<(), String> {
    if kind != Kind::Native5 && !WITH_SPECIAL_ROOTS.contains(&name) && !whole_table() {
        return Ok(());
    }
    let folder = tempfile::tempdir().expect("a folder");
    let output = folder.path().join("run.ctf");
    let options = ["--snapshots", "exit", "--no-trace"];
    Waiting::recorded(&kind.program(name), &options, &output)?.end()?;
    let heaps = heaps_of(&output);
    let [(_, file)] = &heaps[..] else { return Err(format!("{} snapshots", heaps.len())) };
    let summary = ask_plainly("summary", file)?;
    let roots = ask("roots", file, &["--depth", "3"])?;
    if roots["unreached_blocks"] != 0 {
        return Err(format!("{} blocks are held by nothing", roots["unreached_blocks"]));
    }
    let all = &roots["all"];
    let bytes = number(&summary["bytes"]);
    // The weight of continuations includes their stacks, which are outside the heap.
    let held = bytes + number(&summary["fiber_stacks"]["suspended"]["bytes"]);
    if number(&all["reachable"]) != held {
        return Err(format!("{} are held of {held}", all["reachable"]));
    }
    let mut waiting = vec![all];
    while let Some(row) = waiting.pop() {
        check_row(row)?;
        waiting.extend(row["rows"].as_array().into_iter().flatten());
    }
    let words = sum(&summary["uses"], |row| number(&row["words"]));
    if words * 8.0 != bytes {
        return Err(format!("{words} words are used, there are {bytes} bytes"));
    }
    for verb in ["types", "tags"] {
        let table = ask(verb, file, &[])?;
        let shallow = sum(&table["rows"], |row| number(&row["shallow"]["value"]));
        if shallow != held {
            return Err(format!("{verb} have {shallow} of {held} bytes"));
        }
    }
    Ok(())
}

/// Likewise, for a verb without a row limit.
pub fn ask_plainly(verb: &str, file: &Path) -> Result<Value, String> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bactrian"));
    command.args(["heap", verb, "--json"]).arg(file).env("XDG_CACHE_HOME", cache());
    let said = command.output().expect("it starts");
    let answer: Value = serde_json::from_slice(&said.stdout).map_err(|error| error.to_string())?;
    Ok(answer["result"].clone())
}

#[test]
fn everything_is_held_by_something_4() {
    each(Kind::Native4, check);
}

#[test]
fn everything_is_held_by_something_bytecode() {
    each(Kind::Bytecode4, check);
}

/// The block of all modules, itself a root, does not count as a second holder of them; and they have their
/// names.
#[test]
fn bytecode_modules_retain_their_own_blocks() {
    for kind in [Kind::Bytecode4, Kind::Bytecode5] {
        let folder = tempfile::tempdir().expect("a folder");
        let options = ["--snapshots", "exit", "--no-trace"];
        let run = folder.path().join("run");
        let program = Waiting::recorded(&kind.program("heap_lists"), &options, &run);
        program.expect("it starts").end().expect("it ends");
        let roots = ask("roots", &folder.path().join("run.1.heap"), &["--depth", "3"]);
        let roots = roots.expect("roots, and no warning");
        let kinds = roots["all"]["rows"].as_array().expect("kinds of roots").iter();
        let modules = kinds.flat_map(|kind| kind["rows"].as_array().into_iter().flatten());
        let mut modules = modules.filter(|row| row["name"] == "CamlinternalFormat");
        let module = modules.next().unwrap_or_else(|| panic!("{kind:?}: no such module"));
        assert!(number(&module["retained"]) > 2000.0, "{kind:?}: {module}");
    }
}

#[test]
fn everything_is_held_by_something_5() {
    each(Kind::Native5, check);
}
