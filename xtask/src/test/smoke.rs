//! Runs every benchmark once with minimal sizes: not to measure, but to see that all of them still work.

use crate::command::root;
use crate::{Outcome, bench};

/// The arguments of each, in addition to a folder of its own for generated files.
const BENCHES: &[&str] = &[
    "trace --rounds 1",
    "record --rates 1e-4 --rounds 1",
    "running --rounds 1",
    "snapshot --sizes 16 --rounds 1",
    "graph --sizes 0.1 --rounds 1",
    "types --sizes 0.1 --rounds 1",
    "live --rounds 1",
    "view",
];

pub fn benches() -> Outcome {
    let fixture = root().join("crates/trace/tests/fixtures/leaky_cache_v2.ctf");
    for bench in BENCHES {
        println!("-- bench {bench}");
        let mut words: Vec<String> = bench.split_whitespace().map(str::to_owned).collect();
        match words[0].as_str() {
            "trace" => {
                for option in ["--deep", "--wide"] {
                    words.extend([option.to_owned(), fixture.display().to_string()]);
                }
            }
            "view" => words.push(fixture.display().to_string()),
            _ => {}
        }
        bench::run(&words)?;
    }
    Ok(())
}
