//! The tests that compile OCaml programs, with another OCaml than usual: `cargo xtask test --ocaml VERSION`.

use super::binaries::{self, Start};
use crate::{Outcome, compilers};

/// Test programs that observe OCaml programs, or read what the compiler has written.
const OBSERVING: &[&str] = &[
    "bactrian doctor",
    "bactrian live",
    "bactrian record",
    "bactrian snapshot",
    "bactrian types",
    "capture attach",
    "capture heap_accounting",
    "capture live",
    "capture roots",
    "observe-ocaml observed",
    "ocaml bytecode",
    "types helper",
];

/// One test of each thing whose layout may differ.
const QUICK: &[(&str, &[&str])] = &[
    ("bactrian record", &["accounting::an_exact_trace_has_every_word", "bytecode::exceptions"]),
    (
        "bactrian snapshot",
        &["fibers::stacks_of_fibers_are_in_exit_snapshots", "table::attach_native5"],
    ),
    ("bactrian types", &["values::types_and_their_coverage"]),
    ("capture attach", &["a_program_with_domains", "cores::cores_have_the_roots"]),
    ("capture heap_accounting", &["pools_are", "statistics_are", "heaps_of_all_domains"]),
    ("capture live", &["counters_are", "pauses_of_ocaml_5"]),
    ("capture roots", &["roots_are_those_that_the_runtime_lists"]),
];
/// How tests are told of a compiler.
const VARIABLE: &str = "TEST_OCAML";

/// What `make test` runs with a newer compiler than the one that it runs everything with.
pub fn quick() -> Vec<Start<'static>> {
    const VERSION: &str = compilers::V5_4.version;
    let start = |(name, arguments): &'static (&'static str, &'static [&'static str])| Start {
        title: format!(", OCaml {VERSION}"),
        only: std::slice::from_ref(name),
        arguments,
        set: &[(VARIABLE, VERSION)],
        ..Start::default()
    };
    QUICK.iter().map(start).collect()
}

/// Runs them with one version.
pub fn run(version: &str) -> Outcome {
    compilers::run(&[version.to_owned()])?;
    let set = [(VARIABLE, version)];
    binaries::run(&Start { only: OBSERVING, set: &set, ..Start::default() })
}

/// Runs them with every version that `make test` has not run all of them with.
pub fn run_all() -> Outcome {
    compilers::OTHERS.iter().try_for_each(|compiler| run(compiler.version))
}
