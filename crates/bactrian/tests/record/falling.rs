//! The default rate falls as the trace grows, and estimates from traces and snapshots stay correct.

use std::path::Path;
use std::process::Command;

use bactrian_fixtures::{BOTH, Compiler, Variant, program};
use serde_json::Value;

use crate::runs::{Place, Run, difference};
use crate::traces::{allocated, in_folder, info, is_clean};

/// The bytes of the strings that the program keeps, with their headers.
const EARLY: f64 = 2_000.0 * 127.0 * 8.0;
const LATE: f64 = 20_000.0 * 127.0 * 8.0;
/// What it allocates without keeping: 20 million blocks of two words.
const BETWEEN: f64 = 20e6 * 16.0;

fn number(value: &Value) -> f64 {
    value.as_f64().expect("a number")
}

#[test]
fn estimates_stay_correct_as_the_rate_falls() {
    for compiler in BOTH {
        for variant in [Variant::Plain, Variant::Stripped, Variant::Bytecode] {
            let what = format!("{compiler:?} {variant:?}");
            let run = Run::new(program("falling", compiler, variant), &[]);
            let place = Place::new();
            let plain = place.run(&run);
            let trace = place.trace("trace.ctf");
            let observed = place.run(&run.observed(&["--snapshots", "exit"], &trace));
            assert_eq!(difference(&plain, &observed), "", "{what}");
            let whole = info(&trace, &[]).expect("a trace");
            is_clean(&whole).expect("a clean trace");
            // 8,192 samples of 1,024 words, 4,096 of 2,048, 4,096 of 4,096, and the rest of 8,192: 43 million
            // words.
            let result = &whole["result"];
            let fallen = number(&result["sample_rate"]) / number(&result["last_rate"]);
            assert_eq!(fallen, 8.0, "{what}");
            let samples = result["sampled_allocations"].as_u64().expect("a count");
            assert!((16_384..20_480).contains(&samples), "{what}: {samples} samples");
            let [low, value, high] = allocated(&whole);
            let truth = EARLY + LATE + BETWEEN;
            assert!((low..high).contains(&truth), "{what}: {low} {value} {high}, not {truth}");
            // Fay and Feuer's interval for 5,200 samples, the words at the last rate.
            assert!((high - low) / value < 0.07, "{what}: {low} {value} {high}");
            let top = ["top", "--by", "site", "--metric", "live", "-n", "0", "--json"];
            is_true(&asked(&top, &trace), "self", &what);
            let answer =
                asked(&["heap", "sites", "-n", "0", "--json"], &place.trace("trace.1.heap"));
            is_true(&answer, "shallow", &what);
            assert_eq!(answer["exact"], false, "{what}");
        }
    }
}

/// The answer of a command about a file.
fn asked(arguments: &[&str], file: &Path) -> Value {
    let mut bactrian = Command::new(env!("CARGO_BIN_EXE_bactrian"));
    let said = bactrian.args(arguments).arg(file).output().expect("it runs");
    let mut answer: Value = serde_json::from_slice(&said.stdout).expect("JSON");
    answer["result"].take()
}

/// Checks that the estimates match what the program keeps. Each part has about 250 and 300 samples, so the
/// standard deviation is 6 %.
fn is_true(answer: &Value, measure: &str, what: &str) {
    let rows = answer["rows"].as_array().expect("rows");
    for (line, truth) in [(8, EARLY), (18, LATE)] {
        let of: Vec<_> = rows.iter().filter(|row| row["line"] == line).collect();
        let sum = |end: &str| of.iter().map(|row| number(&row[measure][end])).sum::<f64>();
        let [low, value, high] = ["low", "value", "high"].map(sum);
        let told = format!("{what}: line {line} has {low} {value} {high}, not {truth}");
        assert!((0.75..1.3).contains(&(value / truth)), "{told}");
        assert!((high - low) / value > 0.2, "{told}, and is known too well");
    }
}

#[test]
fn rate_falls_in_all_domains_together() {
    let run = Run::new(program("falling_domains", Compiler::OCaml5, Variant::Plain), &[]);
    let place = Place::new();
    let trace = place.trace("trace.ctf");
    place.run(&run.observed(&[], &trace));
    let whole = info(&trace, &[]).expect("a trace");
    is_clean(&whole).expect("a clean trace");
    let result = &whole["result"];
    assert_eq!(number(&result["sample_rate"]) / number(&result["last_rate"]), 32.0);
    let [low, value, high] = allocated(&whole);
    let truth = 4.0 * BETWEEN;
    assert!((low..high).contains(&truth), "{low} {value} {high}, not {truth}");
}

#[test]
fn requested_rate_is_constant() {
    let run = Run::new(program("falling", BOTH[0], Variant::Plain), &[]);
    let place = Place::new();
    let trace = place.trace("trace.ctf");
    for options in [&["--rate", "1e-3"][..], &["--after", "0.01"]] {
        place.run(&run.observed(options, &trace));
        let result = &info(&trace, &[]).expect("a trace")["result"];
        assert_eq!(result["sample_rate"], result["last_rate"], "{options:?}");
    }
}

#[test]
fn children_continue_at_their_parents_current_rate() {
    for compiler in BOTH {
        let run = Run::new(program("falling_fork", compiler, Variant::Plain), &[]);
        let place = Place::new();
        let trace = place.trace("trace.ctf");
        let plain = place.run(&run);
        let observed = place.run(&run.observed(&[], &trace));
        assert_eq!(difference(&plain, &observed), "", "{compiler:?}");
        let traces = in_folder(&place.traces());
        assert_eq!(traces.len(), 2, "{compiler:?}: {traces:?}");
        let rates = |path| {
            let info = info(path, &[]).expect("a trace");
            let result = &info["result"];
            (number(&result["sample_rate"]), number(&result["last_rate"]), allocated(&info))
        };
        let child = traces.iter().find(|path| **path != trace).expect("the child's");
        let ((_, last, _), (first, lowest, [low, value, high])) = (rates(&trace), rates(child));
        assert_eq!(first, last, "{compiler:?}: the child begins with the parent's last");
        assert!(lowest < first, "{compiler:?}: and goes on falling");
        // 20 million blocks of two words.
        assert!((low..high).contains(&BETWEEN), "{compiler:?}: {low} {value} {high}");
    }
}
