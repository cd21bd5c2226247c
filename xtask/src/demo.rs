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
        ("Does its memory grow?", "timeline --points 60"),
        ("What never dies? The last column of shares tells.", "lifetimes --sort never -n 6"),
        (
            "Who asked for what is still there at the end?",
            "tree --callers --metric live --min-share 8",
        ),
        ("The same as a picture:", &format!("flame --metric live -o {flame}")),
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
Memory grows from start to end although every request is answered and done. What never dies comes from
the words that `serve` reads and the answers that `render` makes: `serve` puts them into a cache whose
key no later request can match. See programs/leaky_cache.ml.

## What to try next
  open {flame} in a browser: click to zoom, / to search
  target/release/bactrian top {TRACE} --metric live --by site
  target/release/bactrian timeline {TRACE} --lifetime 10ms..
  target/release/bactrian export {TRACE} --to pprof -o heap.pb.gz
  target/release/bactrian --help"
    );
    Ok(())
}
