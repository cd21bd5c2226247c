//! Shows Bactrian on a trace of this repository.

use std::process::Command;

use crate::Outcome;
use crate::command::{cargo, root, succeed};

const FIXTURE: &str = "crates/trace/tests/fixtures/small_v2.ctf";

pub fn run(arguments: &[String]) -> Outcome {
    crate::no_arguments(arguments)?;
    succeed(&mut cargo("build --release --package bactrian"))?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or(root().join("target"), Into::into);
    let bactrian = target.join("release/bactrian");
    succeed(Command::new(bactrian).args(["info", FIXTURE]).current_dir(root()))
}
