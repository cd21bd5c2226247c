//! Benchmarks: builds `bench/` and passes it the arguments.

use crate::Outcome;
use crate::command::{cargo, succeed};

pub fn run(arguments: &[String]) -> Outcome {
    let mut command = cargo("run --quiet --profile dist --package bactrian-bench --");
    succeed(command.args(arguments))
}

pub fn generate_trace(arguments: &[String]) -> Outcome {
    let mut command =
        cargo("run --quiet --profile dist --package bactrian-bench -- generate-trace");
    succeed(command.args(arguments))
}
