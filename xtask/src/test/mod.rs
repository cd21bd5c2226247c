//! Everything that must hold before a change is merged, beginning with what fails soonest: `cargo xtask test`.
//!
//! There is a single build for all of it, lints included ([`binaries`]): cargo compiles a crate again for each
//! other selection of packages, because their features differ. `--all` is what a release needs: the complete
//! tables of programs, compilers and rates, minutes of fuzzing, all conditions, every benchmark once.

pub mod binaries;
mod conditions;
mod smoke;
mod with_compiler;

use std::process::Command;
use std::thread;
use std::time::Instant;

use crate::command::{cargo, succeed};
use crate::{
    Outcome, book, compilers, consumers, fuzz, no_arguments, programs, query, release, tidy,
};

/// How long each fuzz target runs before a release, in seconds.
const FUZZ_SECONDS: u32 = 120;

/// The variable that tells tests to run their whole tables.
const WHOLE: (&str, &str) = ("BACTRIAN_TEST", "all");

/// Whether everything runs: `cargo xtask test --all`.
pub fn is_whole() -> bool {
    std::env::var_os(WHOLE.0).is_some_and(|value| value == WHOLE.1)
}

#[derive(Clone, Copy)]
struct Stage {
    title: &'static str,
    run: fn() -> Outcome,
}

const QUICK: &[Stage] = &[
    Stage { title: "format", run: format },
    Stage { title: "tidy", run: tidy::check },
    Stage { title: "build, with lints; downloads", run: build },
    Stage { title: "lints of the agent", run: agent_lints },
    // The page in a browser, exports in their tools, and the documentation's examples run in parallel with the
    // tests.
    Stage {
        title: "tests",
        run: || binaries::run_with(&with_compiler::quick(), &["page", "consumers", "examples"]),
    },
];

const ONLY_ALL: &[Stage] = &[
    Stage { title: "tests with other compilers", run: with_compiler::run_all },
    Stage { title: "quick tests in all conditions", run: in_all_conditions },
    Stage { title: "lints of the fuzzer", run: fuzz::lints },
    Stage { title: "fuzz", run: || fuzz::run_all(FUZZ_SECONDS) },
    Stage { title: "the release binary", run: release::check },
    Stage { title: "the book", run: || book::run(&[]) },
    Stage { title: "the query engine", run: query::check },
    Stage { title: "every bench once", run: smoke::benches },
];

pub fn run(arguments: &[String]) -> Outcome {
    match arguments {
        [] => stages(QUICK.to_vec()),
        [word] if word == "--all" && std::env::var_os(WHOLE.0).is_none() => {
            // Every stage inherits the variable.
            let this = std::env::current_exe().map_err(|error| format!("this program: {error}"))?;
            succeed(Command::new(this).args(["test", "--all"]).env(WHOLE.0, WHOLE.1))
        }
        [word] if word == "--all" => stages(QUICK.iter().chain(ONLY_ALL).copied().collect()),
        [word, version] if word == "--ocaml" => with_compiler::run(version),
        [word, titles @ ..] if word == "--conditions" => conditions::run(titles),
        _ => Err("takes --all, --conditions [WORD..], --ocaml VERSION, or nothing".to_owned()),
    }
}

fn stages(list: Vec<Stage>) -> Outcome {
    let (begin, used) = (Instant::now(), Processors::now());
    let mut table = String::new();
    for Stage { title, run } in list {
        println!("== {title}");
        let start = Instant::now();
        run().map_err(|reason| format!("{title}: {reason}"))?;
        let seconds = start.elapsed().as_secs_f64();
        println!("== {title}: done in {seconds:.1} s\n");
        table.push_str(&format!("{seconds:8.1} s  {title}\n"));
    }
    println!("{table}{:8.1} s  all good", begin.elapsed().as_secs_f64());
    if let (Some(before), Some(now)) = (used, Processors::now()) {
        let (busy, stolen) = (now.busy - before.busy, now.stolen - before.stolen);
        println!(
            "{busy:8.1} s  of processor time, and {stolen:.1} s that other virtual machines took"
        );
    }
    Ok(())
}

/// Seconds of all processors since boot. On a virtual machine other guests steal time; without that number the
/// duration of tests says little.
struct Processors {
    busy: f64,
    stolen: f64,
}

impl Processors {
    fn now() -> Option<Processors> {
        let text = std::fs::read_to_string("/proc/stat").ok()?;
        let of = text.lines().next()?.split_whitespace().skip(1);
        let ticks: Vec<f64> = of.filter_map(|number| number.parse().ok()).collect();
        // user, nice, system, idle, iowait, irq, softirq, steal; in hundredths of a second.
        let [user, nice, system, _, _, irq, softirq, stolen, ..] = ticks[..] else { return None };
        Some(Processors {
            busy: (user + nice + system + irq + softirq) / 100.0,
            stolen: stolen / 100.0,
        })
    }
}

fn format() -> Outcome {
    succeed(&mut cargo("fmt --all --check"))?;
    succeed(&mut cargo("fmt --check --manifest-path fuzz/Cargo.toml"))?;
    succeed(&mut cargo("fmt --check --manifest-path crates/agent/Cargo.toml"))
}

/// The build keeps the processors busy while the network is idle, so downloads run in parallel.
fn build() -> Outcome {
    thread::scope(|scope| {
        let downloads = scope.spawn(|| {
            if let Err(reason) = programs::FLOW_OF_5_2.get() {
                println!("-- tests with a program of OCaml 5.2 are left out: {reason}");
            }
            compilers::get(compilers::QUICK)?;
            consumers::get()
        });
        binaries::build()?;
        downloads.join().map_err(|_| "the download panicked")?
    })
}

/// Any part of a table shows whether results depend on the conditions, so the whole tables are not needed.
fn in_all_conditions() -> Outcome {
    let this = std::env::current_exe().map_err(|error| format!("this program: {error}"))?;
    succeed(Command::new(this).args(["test", "--conditions"]).env_remove(WHOLE.0))
}

fn agent_lints() -> Outcome {
    let agent = "clippy --manifest-path crates/agent/Cargo.toml --target-dir target/agent --quiet";
    succeed(&mut cargo(&format!("{agent} -- --deny warnings")))
}

/// The code examples in the documentation.
pub fn examples(arguments: &[String]) -> Outcome {
    no_arguments(arguments)?;
    succeed(&mut binaries::cargo_test("--doc --quiet"))
}
