//! The tests that compile OCaml programs, with another OCaml 5 than usual: `cargo xtask test --ocaml VERSION`.

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

/// Runs them with one version.
pub fn run(version: &str) -> Outcome {
    compilers::run(&[version.to_owned()])?;
    let set = [("TEST_OCAML", version)];
    binaries::run(&Start { only: OBSERVING, set: &set, ..Start::default() })
}

/// Runs them with every version that `make test` has not run all of them with.
pub fn run_all() -> Outcome {
    compilers::OTHERS.iter().try_for_each(|compiler| run(compiler.version))
}
