//! Fuzzing with libFuzzer on stable Rust.
//!
//! `cargo fuzz` requires a nightly compiler for the address sanitizer. Our parsers are safe Rust, so coverage
//! is all we need, and the stable compiler can be told to instrument it: the flags below run LLVM's coverage
//! pass over the targets and their dependencies. Naming the target triple keeps the flags away from build
//! scripts.
//!
//! Inputs that reach new code go to a scratch folder, not to the repository. An input that once caused a crash
//! belongs in the committed corpus, which every run reads first.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::{iter, thread};

use crate::Outcome;
use crate::command::{cargo, output, root, succeed};

/// Inputs are a few kilobytes, so an input that needs more is disproportionate. In a build without a sanitizer,
/// libFuzzer checks once a second.
const MEMORY_MB: u32 = 1024;

const DEFAULT_SECONDS: u32 = 60;

const FLAGS: &[&str] = &[
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "-Ccodegen-units=1",
    "--cfg=fuzzing",
];

/// A check of `fuzz/checks`, and the folder in `fuzz/corpus` with its initial inputs.
struct Target {
    name: String,
    corpus: String,
}

pub fn run(arguments: &[String]) -> Outcome {
    let (mut seconds, mut is_all, mut names) = (DEFAULT_SECONDS, false, Vec::new());
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--seconds" => {
                let value = arguments.next().and_then(|value| value.parse().ok());
                seconds = value.ok_or("--seconds needs a whole number")?;
            }
            "--all" => is_all = true,
            name => names.push(name),
        }
    }
    if names.is_empty() != is_all {
        return Err("name the targets, or use --all".to_owned());
    }
    let targets = build()?;
    let known = || targets.iter().map(|t| t.name.as_str()).collect::<Vec<_>>().join(", ");
    if let Some(unknown) = names.iter().find(|name| targets.iter().all(|t| t.name != **name)) {
        return Err(format!("no target {unknown:?}; there are {}", known()));
    }
    let chosen = targets.iter().filter(|target| is_all || names.contains(&&*target.name));
    fuzz_each(chosen.collect(), seconds)
}

/// Runs every target for `seconds`.
pub fn run_all(seconds: u32) -> Outcome {
    fuzz_each(build()?.iter().collect(), seconds)
}

/// Runs one target per processor at a time.
fn fuzz_each(targets: Vec<&Target>, seconds: u32) -> Outcome {
    let workers = thread::available_parallelism().map_or(1, usize::from);
    let targets = Mutex::new(targets.into_iter());
    let next = || targets.lock().unwrap_or_else(PoisonError::into_inner).next();
    let work = || iter::from_fn(next).try_for_each(|target| fuzz_one(target, seconds));
    thread::scope(|scope| {
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        let done =
            workers.into_iter().map(|worker| worker.join().map_err(|_| "a worker panicked")?);
        done.collect()
    })
}

/// Runs Clippy on the fuzz workspace, with the flags of the real build so that both share compiled files.
pub fn lints() -> Outcome {
    instrumented("clippy", "--all-targets -- --deny warnings").and_then(|mut c| succeed(&mut c))
}

/// Writes the seeds of the committed corpus anew.
pub fn seeds(arguments: &[String]) -> Outcome {
    crate::no_arguments(arguments)?;
    succeed(&mut cargo("run --quiet --package bactrian-fuzz-checks --example seeds"))
}

/// Builds the fuzzer and lists its targets.
fn build() -> Result<Vec<Target>, String> {
    succeed(&mut instrumented("build", "--bins")?)?;
    let listed = output(&mut Command::new(binary()?))?;
    let target = |line: &str| {
        let (name, corpus) = line.split_once(' ')?;
        Some(Target { name: name.to_owned(), corpus: corpus.to_owned() })
    };
    Ok(listed.lines().filter_map(target).collect())
}

fn binary() -> Result<PathBuf, String> {
    Ok(target_folder().join(host()?).join("release/bactrian-fuzz"))
}

fn fuzz_one(Target { name, corpus }: &Target, seconds: u32) -> Outcome {
    let binary = binary()?;
    let corpus = root().join("fuzz/corpus").join(corpus);
    let scratch = target_folder().join("scratch").join(name);
    let artifacts = root().join("fuzz/artifacts").join(name);
    for folder in [&scratch, &artifacts] {
        fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    // libFuzzer writes a lot to standard error: it goes to a file that is shown if something is found.
    let log_path = artifacts.with_extension("log");
    let log = File::create(&log_path).map_err(|e| format!("{}: {e}", log_path.display()))?;
    let mut command = Command::new(&binary);
    command
        .env("BACTRIAN_FUZZ", name)
        .arg(format!("-max_total_time={seconds}"))
        .arg(format!("-rss_limit_mb={MEMORY_MB}"))
        .args(["-timeout=10", "-print_final_stats=0"])
        .arg(format!("-artifact_prefix={}/", artifacts.display()))
        .args([&scratch, &corpus])
        .stderr(log)
        .current_dir(root());
    let result = succeed(&mut command);
    let log = fs::read(&log_path).map_err(|e| format!("{}: {e}", log_path.display()))?;
    let log = String::from_utf8_lossy(&log);
    if let Err(reason) = result {
        let start =
            log.lines().position(|line| line.contains("panicked") || line.contains("ERROR"));
        let (binary, corpus) = (binary.display(), corpus.display());
        return Err(format!(
            "{}\n\n{reason}\nTo run that input again:\n  BACTRIAN_FUZZ={name} {binary} FILE\nOnce \
             it is fixed, keep the input in {corpus}.",
            log.lines().skip(start.unwrap_or(0)).collect::<Vec<_>>().join("\n")
        ));
    }
    let done = log.lines().find(|line| line.starts_with("Done ")).unwrap_or("Done");
    println!("-- {name}: {done}");
    Ok(())
}

/// A cargo command in the fuzz workspace with coverage instrumentation.
fn instrumented(verb: &str, rest: &str) -> Result<Command, String> {
    let host = host()?;
    let manifest = "--manifest-path fuzz/Cargo.toml --release --quiet";
    let mut command = cargo(&format!("{verb} {manifest} --target {host} {rest}"));
    command.env("CARGO_ENCODED_RUSTFLAGS", FLAGS.join("\x1f"));
    command.env("CARGO_TARGET_DIR", target_folder());
    Ok(command)
}

fn target_folder() -> PathBuf {
    root().join("fuzz/target")
}

/// The target triple of this machine.
fn host() -> Result<String, String> {
    let facts = output(Command::new("rustc").arg("-vV"))?;
    let line = facts.lines().find_map(|line| line.strip_prefix("host: "));
    line.map(str::to_owned).ok_or_else(|| "rustc -vV names no host".to_owned())
}
