//! How long a server takes to answer questions about traces, without browser and network: `cargo xtask bench
//! view`.

use std::path::PathBuf;
use std::process::Command;

use super::{build_folder, folder};
use xtask::Outcome;
use xtask::command::{cargo, succeed};

/// Measures on these traces, or on generated ones.
pub fn run(traces: &[String]) -> Outcome {
    eprintln!("building");
    let build = "build --quiet --profile dist --package bactrian-bench --package bactrian-analysis";
    succeed(&mut cargo(&format!("{build} --example ask_often --bins")))?;
    let built = build_folder()?;
    let mut traces: Vec<_> = traces.iter().map(PathBuf::from).collect();
    if traces.is_empty() {
        for shape in ["wide", "deep", "many"] {
            let path = folder()?.join(format!("{shape}.ctf"));
            let mut generate = Command::new(built.join("bactrian-bench"));
            succeed(generate.args(["generate-trace", "--shape", shape, "-o"]).arg(&path))?;
            traces.push(path);
        }
    }
    for trace in traces {
        println!("### {}\n", trace.display());
        succeed(Command::new(built.join("examples/ask_often")).arg(trace))?;
        println!();
    }
    Ok(())
}
