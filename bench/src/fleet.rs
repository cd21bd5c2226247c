//! How long each question about a fleet takes on each engine, and how large its profiles are: a fleet with planted faults, made from
//! the stacks of a real trace, as it was shipped and after a roll-up.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use bactrian_fleet::questions::{QUESTIONS, STEPS};
use bactrian_tables::schema::{FLEET_STACKS, SAMPLES};

use super::{build, folder};
use xtask::Outcome;
use xtask::command::{cargo, root, succeed};

/// What is measured.
struct Options {
    trace: Option<PathBuf>,
    hosts: u64,
    minutes: u64,
    engines: Vec<String>,
    /// A store that is there already, and is asked as it is.
    store: Option<PathBuf>,
}

impl Options {
    fn of(arguments: &[String]) -> Result<Options, String> {
        let engines = ["datafusion", "duckdb", "chdb", "spark"].map(str::to_owned).to_vec();
        let mut options = Options { trace: None, hosts: 1000, minutes: 60, engines, store: None };
        let mut arguments = arguments.iter();
        while let Some(option) = arguments.next() {
            let value = arguments.next().ok_or_else(|| format!("{option} needs a value"))?;
            let number = || value.parse().map_err(|_| format!("{option} needs a number"));
            match option.as_str() {
                "--trace" => options.trace = Some(PathBuf::from(value)),
                "--hosts" => options.hosts = number()?,
                "--minutes" => options.minutes = number()?,
                "--store" => options.store = Some(PathBuf::from(value)),
                "--engines" => options.engines = value.split(',').map(str::to_owned).collect(),
                _ => return Err(format!("there is no option {option}")),
            }
        }
        Ok(options)
    }
}

pub fn run(arguments: &[String]) -> Outcome {
    let options = Options::of(arguments)?;
    let built = build()?;
    let bactrian = built.join("bactrian");
    if let Some(store) = &options.store {
        return time_all(&options, &bactrian, store, "as it is");
    }
    succeed(&mut cargo(
        "build --quiet --profile dist --package bactrian-fleet --example make_fleet",
    ))?;
    let engine = built.join("bactrian-query");
    if !engine.exists() {
        return Err(format!("{}: `make query` builds it", engine.display()));
    }
    let folder = folder()?;
    let trace = match &options.trace {
        Some(trace) => trace.clone(),
        None => stacks_of_the_compiler(&bactrian, &folder)?,
    };
    let store = folder.join(format!("fleet-{}-{}", options.hosts, options.minutes));
    if store.exists() {
        fs::remove_dir_all(&store).map_err(|error| format!("{}: {error}", store.display()))?;
    }
    let begin = Instant::now();
    let mut make = Command::new(built.join("examples/make_fleet"));
    make.arg(&trace).arg(&store).arg(options.hosts.to_string()).arg(options.minutes.to_string());
    succeed(&mut make)?;
    println!("made in {:.0} s", begin.elapsed().as_secs_f64());
    for state in ["as shipped", "rolled up"] {
        if state == "rolled up" {
            let begin = Instant::now();
            let mut roll_up = Command::new(&engine);
            roll_up.args(["fleet", "roll-up"]).arg(&store).args(["--keep-minutes", "100000"]);
            succeed(&mut roll_up)?;
            println!("rolled up in {:.0} s", begin.elapsed().as_secs_f64());
        }
        println!("\n{state}: {}", sizes(&store, options.hosts * options.minutes)?);
        time_all(&options, &bactrian, &store, state)?;
    }
    Ok(())
}

fn time_all(options: &Options, bactrian: &Path, store: &Path, state: &str) -> Outcome {
    options.engines.iter().try_for_each(|engine| {
        println!("\n{engine}, {state}; seconds");
        time(engine, bactrian, store)
    })
}

/// A trace with many real stacks: that of the compiler at work.
fn stacks_of_the_compiler(bactrian: &Path, folder: &Path) -> Result<PathBuf, String> {
    let (trace, source) = (folder.join("compiler.ctf"), folder.join("leaky_cache.ml"));
    let copied = fs::copy(root().join("programs/leaky_cache.ml"), &source);
    copied.map_err(|error| format!("{}: {error}", source.display()))?;
    let mut record = Command::new(bactrian);
    record.args(["record", "--quiet", "--rate", "1e-2", "-o"]).arg(&trace);
    succeed(record.args(["--", "ocamlopt.opt", "-c"]).arg(&source))?;
    Ok(trace)
}

/// Bytes of samples and stacks, and how many files.
fn sizes(store: &Path, profiles: u64) -> Result<String, String> {
    let mut said = Vec::new();
    for table in [&SAMPLES, &FLEET_STACKS] {
        let (files, bytes) = sum(&store.join(table.name)).map_err(|error| error.to_string())?;
        said.push(format!("{}: {files} files, {bytes} bytes", table.name));
        if table.name == SAMPLES.name {
            said.push(format!("{} bytes a profile", bytes / profiles.max(1)));
        }
    }
    Ok(said.join("; "))
}

fn sum(folder: &Path) -> std::io::Result<(u64, u64)> {
    let (mut files, mut bytes) = (0, 0);
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let (more, size) = if entry.file_type()?.is_dir() {
            sum(&entry.path())?
        } else {
            (1, entry.metadata()?.len())
        };
        (files, bytes) = (files + more, bytes + size);
    }
    Ok((files, bytes))
}

/// Each step and each question of the first screen, one after the other in one session.
fn time(engine: &str, bactrian: &Path, store: &Path) -> Outcome {
    let mut ask = Command::new(bactrian);
    ask.arg("fleet").arg(store).args(["--json", "--progress"]);
    if engine != "datafusion" {
        let tools = root().join(".cache/consumers");
        let python = tools.join(format!("{engine}/bin/python"));
        if !python.exists() {
            return Err(format!("{}: `cargo xtask test --all` gets it", python.display()));
        }
        let engine = match engine {
            "spark" => "spark:local[2]".to_owned(),
            _ => format!("{engine}:{}", python.display()),
        };
        ask.arg("--engine").arg(engine).env("PYSPARK_PYTHON", &python);
    }
    let mut child = ask
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("{}: {error}", bactrian.display()))?;
    let stderr = child.stderr.take().ok_or("there is no pipe from it")?;
    let steps = STEPS.iter().map(|step| format!("step {}", step.name));
    let questions = QUESTIONS.iter().map(|question| question.option.to_owned());
    let mut done = steps.chain(["totals".to_owned()]).chain(questions);
    let begin = Instant::now();
    let mut last = begin;
    for line in BufReader::new(stderr).lines() {
        let line = line.map_err(|error| error.to_string())?;
        if line.starts_with("progress ") {
            // The first one starts the engine as well.
            let what = done.next().unwrap_or_default();
            println!("{:8.2}  {what}", last.elapsed().as_secs_f64());
            last = Instant::now();
        } else {
            println!("{line}");
        }
    }
    let status = child.wait().map_err(|error| error.to_string())?;
    println!("{:8.2}  all", begin.elapsed().as_secs_f64());
    match status.success() {
        true => Ok(()),
        false => Err(format!("{engine}: {status}")),
    }
}
