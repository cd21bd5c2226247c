//! Shows Bactrian's main job on a trace of this repository: what leaks, and where it was allocated.

use std::path::Path;

use crate::Outcome;
use crate::command::{cargo, succeed};

/// Recorded by memtrace from `programs/leaky_cache.ml`.
const TRACE: &str = "crates/trace/tests/fixtures/leaky_cache_v2.ctf";
const FOLDER: &str = "target/demo";

pub fn run(arguments: &[String]) -> Outcome {
    crate::no_arguments(arguments)?;
    println!("Building bactrian (the first time takes a minute or two) ...");
    succeed(&mut cargo("build --quiet --release --package bactrian"))?;
    std::fs::create_dir_all(FOLDER).map_err(|error| format!("cannot make {FOLDER}: {error}"))?;
    let flame = format!("{FOLDER}/held.svg");
    let steps: &[(&str, &str)] = &[
        ("What is in this trace of a small server that leaks?", "info --full"),
        (
            "Does its memory grow? In front: what lives longer than 5 ms.",
            "timeline --points 60 --lifetime 5ms..",
        ),
        (
            "Who asked for what is still there long after its request was answered?",
            "tree --callers --metric live --allocated ..30ms --min-share 8",
        ),
        (
            "The same with the standard library counted to its callers:",
            "top --metric live --allocated ..30ms --hide /^(Stdlib|Caml)/ -n 3",
        ),
        ("All of it as a picture:", &format!("flame --metric live -o {flame}")),
    ];
    for (question, command) in steps {
        let mut words = command.split(' ');
        let verb = words.next().unwrap_or_default();
        let rest: Vec<_> = words.collect();
        let line = format!("{verb} {TRACE} {}", rest.join(" "));
        println!("\n## {question}\n$ bactrian {line}");
        let binary = Path::new("target/release/bactrian");
        succeed(std::process::Command::new(binary).args(line.split_whitespace()))?;
    }
    println!(
        "\n## What was found
What lives longer than 5 ms only grows, although every request is answered and done. It is the words
that `serve` reads and the answers that it makes of them: `serve` puts both into a cache whose key no
later request can match. See programs/leaky_cache.ml.

## What to try next
  open {flame} in a browser: click to zoom, / to search
  target/release/bactrian top {TRACE} --metric live --by site
  target/release/bactrian timeline {TRACE} --lifetime 10ms..
  target/release/bactrian export {TRACE} --to pprof -o heap.pb.gz
  target/release/bactrian --help"
    );
    Ok(())
}
