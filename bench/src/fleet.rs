//! How long each question about a fleet takes on each engine, and how large its profiles are: a fleet with planted faults, made from
//! the stacks of a real trace, as it was shipped and after a roll-up.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Instant;

use bactrian_fleet::questions::{QUESTIONS, STEPS, Window};
use bactrian_tables::schema::{FLEET_STACKS, OF_FLEETS, SAMPLES};

use super::{build, folder};
use xtask::Outcome;
use xtask::command::{cargo, root, succeed};

/// When the fleet that is made begins.
const BEGIN: u64 = 1_795_010_400;

/// What is measured.
struct Options {
    trace: Option<PathBuf>,
    hosts: u64,
    minutes: u64,
    engines: Vec<String>,
}

impl Options {
    fn of(arguments: &[String]) -> Result<Options, String> {
        let engines = ["datafusion", "duckdb", "spark"].map(str::to_owned).to_vec();
        let mut options = Options { trace: None, hosts: 1000, minutes: 60, engines };
        let mut arguments = arguments.iter();
        while let Some(option) = arguments.next() {
            let value = arguments.next().ok_or_else(|| format!("{option} needs a value"))?;
            let number = || value.parse().map_err(|_| format!("{option} needs a number"));
            match option.as_str() {
                "--trace" => options.trace = Some(PathBuf::from(value)),
                "--hosts" => options.hosts = number()?,
                "--minutes" => options.minutes = number()?,
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
    succeed(&mut cargo(
        "build --quiet --profile dist --package bactrian-fleet --example make_fleet",
    ))?;
    let bactrian = built.join("bactrian");
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
        for engine_name in &options.engines {
            println!("\n{engine_name}, {state}; seconds");
            match engine_name.as_str() {
                "datafusion" => time_ours(&engine, &store)?,
                name => time_others(name, &store, options.minutes)?,
            }
        }
    }
    Ok(())
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

/// Each question by itself, with the steps before it: what a person waits for.
fn time_ours(engine: &Path, store: &Path) -> Outcome {
    for option in std::iter::once(None).chain(QUESTIONS.iter().map(|it| Some(it.option))) {
        let mut ask = Command::new(engine);
        ask.arg("fleet").arg(store).arg("--json").stdout(Stdio::null());
        ask.args(option.iter().flat_map(|option| ["--show", option]));
        let begin = Instant::now();
        succeed(&mut ask)?;
        let what =
            option.map_or("all questions, with steps".to_owned(), |it| format!("{it}, with steps"));
        println!("{:8.2}  {what}", begin.elapsed().as_secs_f64());
    }
    Ok(())
}

/// Each step and each question, one after the other in one session.
fn time_others(engine: &str, store: &Path, minutes: u64) -> Outcome {
    let tools = root().join(".cache/consumers");
    let python = tools.join(format!("{engine}/bin/python"));
    if !python.exists() {
        return Err(format!(
            "{}: `cargo xtask query` and, for Spark, `test --all` get it",
            python.display()
        ));
    }
    let (begin, end) = (BEGIN, BEGIN + minutes * 60);
    let window = Window { begin, end, step: 60, service: None, host: None };
    let place = store.display();
    let mut queries: Vec<(String, String)> = Vec::new();
    for table in OF_FLEETS {
        let name = table.name;
        // There are no snapshots: a table without rows.
        let sql = match store.join(name).is_dir() {
            true => format!(
                "create view {name} as select * from read_parquet('{place}/{name}/**/*.parquet', hive_partitioning = false)"
            ),
            false => {
                let columns = table.columns.iter().map(|it| {
                    let kind = if it.kind.sql() == "VARCHAR" { "STRING" } else { it.kind.sql() };
                    format!("cast(null as {kind}) as {}", it.name)
                });
                let columns = columns.collect::<Vec<_>>().join(", ");
                format!("create table {name} as select {columns} where 1 = 0")
            }
        };
        queries.push((format!("table {name}"), sql));
    }
    queries.extend(STEPS.iter().map(|step| {
        let sql = format!("create table {} as {}", step.name, window.of(step.sql));
        (format!("step {}", step.name), sql)
    }));
    queries.extend(QUESTIONS.iter().map(|it| (it.option.to_owned(), window.of(it.sql))));
    let mut command = Command::new(&python);
    command.arg(root().join(format!("consumers/{engine}_answers.py"))).arg(store);
    command.env("PYSPARK_PYTHON", &python).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().map_err(|error| format!("{}: {error}", python.display()))?;
    let (Some(mut stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
        return Err("there are no pipes to it".to_owned());
    };
    let text: String = queries.iter().map(|(_, sql)| format!("{sql}\n;\n")).collect();
    let writer = thread::spawn(move || stdin.write_all(text.as_bytes()));
    let mut begin = Instant::now();
    for ((what, _), line) in queries.iter().zip(BufReader::new(stdout).lines()) {
        let line = line.map_err(|error| error.to_string())?;
        if line.starts_with("{\"error\"") {
            return Err(format!("{what}: {line}"));
        }
        println!("{:8.2}  {what}", begin.elapsed().as_secs_f64());
        begin = Instant::now();
    }
    let written = writer.join().map_err(|_| "the writer failed".to_owned())?;
    written.map_err(|error| error.to_string())?;
    child.wait().map(drop).map_err(|error| error.to_string())
}
