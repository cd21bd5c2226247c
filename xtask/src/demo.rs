//! Shows Bactrian on a trace of this repository.

use crate::Outcome;
use crate::command::{cargo, succeed};

const FIXTURE: &str = "crates/trace/tests/fixtures/small_v2.ctf";

pub fn run(arguments: &[String]) -> Outcome {
    crate::no_arguments(arguments)?;
    succeed(&mut cargo("build --release --package bactrian"))?;
    succeed(&mut cargo(&format!("run --quiet --release --package bactrian -- info {FIXTURE}")))
}
