//! How long a server takes to answer about traces, without browser and network: `cargo xtask bench view`.

use std::path::PathBuf;
use std::process::Command;

use super::{folder, release_folder};
use crate::Outcome;
use crate::command::{cargo, succeed};

/// Measures on these traces, or on generated ones.
pub fn run(traces: &[String]) -> Outcome {
    eprintln!("building");
    let build = "build --quiet --release --package xtask --package bactrian-analysis";
    succeed(&mut cargo(&format!("{build} --example ask_often --bins")))?;
    let release = release_folder()?;
    let mut traces: Vec<_> = traces.iter().map(PathBuf::from).collect();
    if traces.is_empty() {
        for shape in ["wide", "deep"] {
            let path = folder()?.join(format!("{shape}.ctf"));
            let mut generate = Command::new(release.join("xtask"));
            succeed(generate.args(["generate-trace", "--shape", shape, "-o"]).arg(&path))?;
            traces.push(path);
        }
    }
    for trace in traces {
        println!("### {}\n", trace.display());
        succeed(Command::new(release.join("examples/ask_often")).arg(trace))?;
        println!();
    }
    Ok(())
}
