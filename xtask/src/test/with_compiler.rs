//! The tests that compile OCaml programs, with another OCaml than usual: `cargo xtask test --ocaml VERSION`.

use super::binaries::{self, Start};
use crate::{Outcome, compilers};

/// Test programs that observe OCaml programs, or read the compiler's output.
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

/// The subset for OCaml 4.11. Most programs that are recorded need `Unix._exit`, which came with 4.12.
const OBSERVING_4_11: &[&str] = &[
    "bactrian snapshot",
    "bactrian types",
    "capture attach",
    "capture heap_accounting",
    "capture roots",
    "ocaml bytecode",
    "types helper",
];
/// Tests among these that need it, tests of our library, which needs 4.13, and tests that name the machine's
/// own OCaml.
const SKIPPED_4_11: &[&str] = &[
    "--skip=library::",
    "--skip=programs_file_size_limit_does_not_apply",
    "--skip=children_and_descriptors_are_its_own",
    "--skip=programs_of_all_kinds_behave_the_same",
    "--skip=every_instruction_is_what_dumpobj_says",
    "--skip=table_summary_lists_its_contents",
];

/// One test for each structure whose layout may differ.
const QUICK: &[(&str, &[&str])] = &[
    ("bactrian record", &["accounting::an_exact_trace_has_every_word", "bytecode::exceptions"]),
    (
        "bactrian snapshot",
        &["fibers::stacks_of_fibers_are_in_exit_snapshots", "table::attach_native5"],
    ),
    ("bactrian types", &["values::types_and_their_coverage"]),
    ("capture attach", &["allocating_domains_survive_freezing", "cores::cores_have_the_roots"]),
    ("capture heap_accounting", &["pools_are", "statistics_are", "heaps_of_all_domains"]),
    ("capture live", &["counters_are", "pauses_of_ocaml_5"]),
    ("capture roots", &["roots_are_those_that_the_runtime_lists"]),
];
/// The variable that names the compiler to the tests.
const VARIABLE: &str = "TEST_OCAML";

/// What `make test` runs with a newer compiler, in addition to the usual one.
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

/// Runs the tests with one version.
pub fn run(version: &str) -> Outcome {
    compilers::run(&[version.to_owned()])?;
    let set = [(VARIABLE, version)];
    let run =
        |only, arguments| binaries::run(&Start { only, arguments, set: &set, ..Start::default() });
    match version {
        "4.11" => run(OBSERVING_4_11, SKIPPED_4_11)
            .and_then(|()| run(&["bactrian record"], &["running::"])),
        _ => run(OBSERVING, &[]),
    }
}

/// Runs the tests with every version that `make test` does not cover completely.
pub fn run_all() -> Outcome {
    compilers::OTHERS.iter().try_for_each(|compiler| run(compiler.version))
}
