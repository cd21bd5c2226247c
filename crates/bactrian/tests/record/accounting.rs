//! Compares the trace's numbers with the runtime's own counters.

use std::path::Path;

use bactrian_fixtures::{BOTH, Compiler, Variant, program};

use crate::runs::{Place, Run};
use crate::traces::{allocated, info, is_clean, sites};

const WORD: f64 = 8.0;
/// Words that the runtime allocates before we start, and words at the very end that it does not count: with
/// OCaml 4.13 the former are 24 fewer than the latter, with 5.3 they are 42 more.
const AROUND: f64 = 64.0;
/// How much this varies with the lengths of printed numbers.
const PRINTED: f64 = 4.0;
/// What the runtime allocates to return its counters.
const COUNTERS: f64 = 10.0;

/// Words according to the runtime's counters: in the function `counted`, and in total.
struct Books {
    counted: f64,
    all: f64,
}

/// The counters of an unobserved run. In an observed run they include what Memprof allocates for itself; the
/// program's own allocations are the same in every run.
fn books(executable: &Path, arguments: &[&str]) -> Books {
    let arguments = [arguments, &["counters"]].concat();
    let seen = Place::new().run(&Run::new(executable, &arguments));
    let said = String::from_utf8(seen.stdout).expect("UTF-8");
    let number = |name: &str| {
        let line = said.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|number| number.trim().parse().ok()).expect("a counter")
    };
    Books { counted: number("counted:"), all: number("all:") }
}

/// Memory in the OCaml heap; the runtime's counters do not include memory outside.
const IN_THE_HEAP: [&str; 4] = ["--heap", "minor", "--heap", "major"];

#[test]
fn an_exact_trace_has_every_word() {
    for compiler in BOTH {
        let executable = program("exact", compiler, Variant::Plain);
        let mut around = Vec::new();
        for arguments in [["20000", "0"], ["100", "30000"], ["3000", "1"], ["1", "0"]] {
            let Books { counted, all } = books(&executable, &arguments);
            let place = Place::new();
            let trace = place.trace("trace.ctf");
            // Counters are requested here too, so that the program does the same as above.
            let run = Run::new(&executable, &[&arguments[..], &["counters"]].concat());
            place.run(&run.observed(&["--exact"], &trace));
            let whole = info(&trace, &IN_THE_HEAP).expect("a trace");
            is_clean(&whole).expect("a clean trace");
            let [low, value, high] = allocated(&whole);
            assert_eq!((low, high), (value, value), "{compiler:?}: exact numbers have no interval");
            around.push(value / WORD - all);
            let part = [&IN_THE_HEAP[..], &["--in", "Exact.counted"]].concat();
            let [_, value, _] = allocated(&info(&trace, &part).expect("a trace"));
            assert_eq!(value / WORD, counted - COUNTERS, "{compiler:?} {arguments:?}");
        }
        let least = around.iter().copied().fold(f64::INFINITY, f64::min);
        let most = around.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let is_close = least >= -AROUND && most <= AROUND && most - least <= PRINTED;
        assert!(is_close, "{compiler:?}: words seen beyond those in the books: {around:?}");
    }
}

/// The sampler has a fixed seed, so its samples fall on the same words in every run. What varies between runs
/// is how much is allocated before the examined part, by more than that part's length, so that each run has
/// different samples there.
fn misses(compiler: Compiler, runs: u32) -> Vec<String> {
    let executable = program("exact", compiler, Variant::Plain);
    let place = Place::new();
    let mut misses = Vec::new();
    for number in 0..runs {
        let before = (number * 70_000).to_string();
        let arguments = ["1000", &before];
        let truth = books(&executable, &arguments).counted;
        let trace = place.trace(&format!("{number}.ctf"));
        place.run(&Run::new(&executable, &arguments).observed(&["--rate", "1e-2"], &trace));
        let part = [&IN_THE_HEAP[..], &["--in", "Exact.counted"]].concat();
        let info = info(&trace, &part).expect("a trace");
        is_clean(&info).expect("a clean trace");
        let [low, value, high] = allocated(&info).map(|bytes| bytes / WORD);
        assert!(high - low < 0.2 * truth, "an interval that says nothing: {low}..{high}");
        if !(low..=high).contains(&truth) {
            misses.push(format!("{truth} is not within {low:.0}..{high:.0} about {value:.0}"));
        }
    }
    misses
}

#[test]
fn estimates_of_ocaml4_are_within_their_intervals() {
    let misses = misses(Compiler::OCaml4, 20);
    assert!(misses.len() <= 1, "{misses:#?}");
}

#[test]
fn estimates_of_ocaml5_are_within_their_intervals() {
    let misses = misses(Compiler::OCaml5, 20);
    assert!(misses.len() <= 1, "{misses:#?}");
}

#[test]
fn pending_allocations_of_c_code_keep_their_site() {
    for compiler in BOTH {
        let place = Place::new();
        let trace = place.trace("trace.ctf");
        let run = Run::new(program("c_allocations", compiler, Variant::Plain), &["deep"]);
        let seen = place.run(&run.observed(&["--exact"], &trace));
        assert_eq!(seen.stdout, b"40000\n", "{compiler:?}: {seen:?}");
        is_clean(&info(&trace, &[]).expect("a readable trace")).expect("a clean trace");
        let sites = sites(&trace, "allocated");
        let of_c = sites.iter().filter(|site| site.function == "caml_create_bytes");
        let found: f64 = of_c.map(|site| site.value).sum();
        // The header, and the bytes in whole words with at least one more byte.
        let words: u32 = (0..40_000).map(|number| 1 + (number % 64) / 8 + 1).sum();
        let missing = f64::from(words) * WORD - found;
        // Other code creates a few buffers too.
        assert!((-4_096.0..=0.0).contains(&missing), "{compiler:?}: {missing} bytes are missing");
    }
}

/// The program's peak memory as it reports it, in kB.
fn peak(run: &Run, place: &Place) -> i64 {
    let seen = place.run(run);
    assert_eq!(seen.end, "exit status 0", "{seen:?}");
    String::from_utf8_lossy(&seen.stdout).trim().parse().expect("a number")
}

#[test]
fn recording_off_needs_little_memory() {
    for compiler in BOTH {
        let place = Place::new();
        let trace = place.trace("trace.ctf");
        let run = Run::new(program("c_allocations", compiler, Variant::Plain), &["flat-peak"]);
        let plain = peak(&run, &place);
        let off = peak(&run.observed(&["--exact", "--signal", "USR2"], &trace), &place);
        let whole = info(&trace, &[]).expect("a readable trace");
        is_clean(&whole).expect("a clean trace");
        assert_eq!(whole["result"]["sampled_allocations"], 0, "{compiler:?}: it was on");
        let on = peak(&run.observed(&["--exact"], &trace), &place);
        let what = format!("{compiler:?}: {plain} kB plain, {off} kB off, {on} kB on");
        // The recorder itself has its buffers and names.
        assert!(off - plain < 8_000 && off < on + 2_000, "{what}");
    }
}
