//! Everything that has to hold before a change goes in, in the order of what fails soonest.

use std::time::Instant;

use crate::command::{cargo, succeed};
use crate::{Outcome, consumers, fuzz, ocaml5, page, tidy};

/// How long each fuzz target runs: enough for the corpus and a few hundred thousand mutations.
const FUZZ_SECONDS: u32 = 15;

struct Step {
    title: &'static str,
    run: fn() -> Outcome,
}

const STEPS: &[Step] = &[
    Step { title: "format", run: format },
    Step { title: "lints", run: lints },
    Step { title: "tidy", run: tidy::check },
    Step { title: "OCaml 5, for programs to record", run: ocaml5::get },
    Step { title: "tests", run: tests },
    Step { title: "examples in the documentation", run: examples },
    Step { title: "the page in a browser", run: page::check },
    Step { title: "exports in the tools they are for", run: consumers::check },
    Step { title: "fuzz", run: || fuzz::run_all(FUZZ_SECONDS) },
];

pub fn run(arguments: &[String]) -> Outcome {
    crate::no_arguments(arguments)?;
    let begin = Instant::now();
    for Step { title, run } in STEPS {
        println!("== {title}");
        let start = Instant::now();
        run().map_err(|reason| format!("{title}: {reason}"))?;
        println!("== {title}: done in {:.1} s\n", start.elapsed().as_secs_f64());
    }
    println!("== all good after {:.1} s", begin.elapsed().as_secs_f64());
    Ok(())
}

fn format() -> Outcome {
    succeed(&mut cargo("fmt --all --check"))?;
    succeed(&mut cargo("fmt --check --manifest-path fuzz/Cargo.toml"))?;
    succeed(&mut cargo("fmt --check --manifest-path crates/agent/Cargo.toml"))
}

fn lints() -> Outcome {
    succeed(&mut cargo("clippy --workspace --all-targets -- --deny warnings"))?;
    let agent =
        "clippy --release --manifest-path crates/agent/Cargo.toml --target-dir target/agent";
    succeed(&mut cargo(&format!("{agent} -- --deny warnings")))?;
    fuzz::lints()
}

/// Unit, integration, property and golden tests.
fn tests() -> Outcome {
    succeed(&mut cargo("test --workspace --all-targets"))
}

fn examples() -> Outcome {
    succeed(&mut cargo("test --workspace --doc"))
}
