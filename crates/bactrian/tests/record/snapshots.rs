//! Every fixture program again, with snapshots at every possible moment: the same output, exit status and
//! files as plain, and every copy starts its walker. What walkers do is not tested here: `true` replaces
//! them.
//!
//! The quick set omits the crowd of children, except for a small one with OCaml 4 native code, since it tests
//! the kernel's limits; in bytecode all runs of a program but the first, since native code shows how
//! programs end and react; and moments without sampling in bytecode and in the debug runtimes.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use bactrian_fixtures::{BOTH, Compiler, Variant, program, whole_table};

use crate::programs::{FIXTURES, is_run};
use crate::runs::{Place, Run, TOO_LONG, difference};

/// Moments, without sampling and with it.
const WAYS: [(&str, Option<&str>); 2] =
    [("major,peak,exit", None), ("every=0.01,exit", Some("1e-2"))];

/// The run with snapshots, started as by a service manager: through variables alone.
fn with_snapshots(run: &Run, (moments, rate): (&str, Option<&str>), place: &Place) -> Run {
    let said = Command::new(env!("CARGO_BIN_EXE_bactrian")).args(["agent", "--path"]).output();
    let agent = String::from_utf8(said.expect("bactrian starts").stdout).expect("a path of tests");
    let ledger = place.trace("ledger");
    fs::write(&ledger, "").expect("a ledger");
    let run = run
        .clone()
        .with("LD_PRELOAD", agent.trim())
        .with("BACTRIAN_SNAPSHOTS", moments)
        .with("BACTRIAN_HEAP", place.trace("run"))
        .with("BACTRIAN_LEDGER", ledger)
        .with("BACTRIAN_WALKER", "/bin/true");
    match rate {
        Some(rate) => {
            run.with("BACTRIAN_TRACE", place.trace("run.ctf")).with("BACTRIAN_RATE", rate)
        }
        None => run,
    }
}

/// The number of lines in a ledger that begin with a word.
fn count(ledger: &str, word: &str) -> usize {
    ledger.lines().filter(|line| line.split(' ').next() == Some(word)).count()
}

/// The ledger, once every copy in it has started its walker, or has not for a long time.
fn settled(path: &Path) -> String {
    let start = Instant::now();
    loop {
        let ledger = fs::read_to_string(path).expect("a ledger");
        let is_settled = count(&ledger, "begun") == count(&ledger, "walker");
        if is_settled || start.elapsed() > TOO_LONG {
            return ledger;
        }
        thread::sleep(Duration::from_millis(5));
    }
}

fn check(compiler: Compiler, variant: Variant, chosen: impl Fn(&str) -> bool) {
    let mut wrong = Vec::new();
    let mut copies = [0; WAYS.len()];
    let skipped = usize::from(variant != Variant::Plain && !whole_table());
    for fixture in FIXTURES.iter().filter(|fixture| chosen(fixture.name)) {
        let executable = program(fixture.name, compiler, variant);
        let runs = match variant {
            Variant::Custom if !whole_table() => &fixture.runs[..1],
            _ => fixture.runs,
        };
        for words in runs.iter().filter(|words| is_run(fixture.name, words, compiler)) {
            let run = fixture.run(words, &executable, variant);
            let place = Place::new();
            let plain = place.run(&run);
            for (way, copies) in WAYS.into_iter().zip(&mut copies).skip(skipped) {
                let files = Place::new();
                let observed = place.run(&with_snapshots(&run, way, &files));
                let mut what = difference(&plain, &observed);
                let ledger = settled(&files.trace("ledger"));
                let [begun, walker, failed] =
                    ["begun", "walker", "failed"].map(|w| count(&ledger, w));
                if begun != walker || failed > 0 {
                    what.push_str(&ledger);
                }
                if !what.is_empty() {
                    wrong.push(format!("{} {words}, {compiler:?} {way:?}: {what}", fixture.name));
                }
                *copies += begun;
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    // On a busy machine most moments find the only slot taken; the exit never does.
    assert!(copies[skipped..].iter().all(|copies| *copies >= 5), "{copies:?}");
}

/// Programs that only OCaml 5 supports.
const NEW: [&str; 2] = ["domains", "effects"];

#[test]
fn native_code_of_ocaml_4_does_not_notice() {
    check(Compiler::OCaml4, Variant::Plain, |name| !NEW.contains(&name));
}

#[test]
fn bytecode_of_ocaml_4_does_not_notice() {
    // Linked with its runtime, so that there is one file to run, with the same limits.
    check(Compiler::OCaml4, Variant::Custom, |name| !NEW.contains(&name));
}

#[test]
fn native_code_of_ocaml_5_does_not_notice() {
    check(Compiler::OCaml5, Variant::Plain, |_| true);
}

/// Programs in which the debug runtime checks much.
const CHECKED: [&str; 6] =
    ["threads", "finalisers", "compaction", "own_memprof", "domains", "effects"];

#[test]
fn the_runtime_of_ocaml_4_finds_nothing_wrong() {
    let chosen = |name: &str| CHECKED.contains(&name) && !NEW.contains(&name);
    check(Compiler::OCaml4, Variant::Debug, chosen);
}

#[test]
fn the_runtime_of_ocaml_5_finds_nothing_wrong() {
    check(Compiler::OCaml5, Variant::Debug, |name| CHECKED.contains(&name));
}

#[test]
fn a_handler_may_end_the_process_or_fork_while_we_allocate() {
    for compiler in BOTH {
        let executable = program("trapped_exit", compiler, Variant::Plain);
        for arguments in [&[][..], &["fork"]] {
            let [place, files] = [Place::new(), Place::new()];
            let run = Run::new(&executable, arguments);
            let seen = place.run(&with_snapshots(&run, ("exit", Some("1")), &files));
            let what = format!("{compiler:?} {arguments:?}: {seen:?}");
            assert!(seen.end == "exit status 7" && seen.stdout == b"bye\n", "{what}");
        }
    }
}
