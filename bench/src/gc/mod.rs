//! How good the recommendations of `bactrian gc` are: a grid of 5 x 5 settings, measured, against what is recommended from six runs.
//!
//! Each run is a line of a table in `bench/gc`, written as soon as it is over, so that hours of measuring can be interrupted and go on.
//! The summary (`--summary`) is computed from the tables alone; `--replay` plays the advisor against them.

mod programs;
mod replay;
mod summary;
mod table;

use std::path::PathBuf;

use bactrian_advice::choice::{Goal, cells, choose};
use bactrian_advice::measurement::Measurement;
use bactrian_advice::model::Model;
use bactrian_advice::plan::{Budget, Next, Why, next};
use bactrian_advice::runner::Subject;
use bactrian_advice::setting::Setting;

use programs::Program;
use table::{Line, Part, Table};
use xtask::Outcome;
use xtask::command::root;

/// The grid of the public sweep.
const SIZES: [u64; 5] = [1 << 17, 1 << 18, 1 << 19, 1 << 20, 1 << 21];
const OVERHEADS: [u64; 5] = [40, 80, 120, 150, 200];

/// The limits of the goals: this part of the memory that a program has if nothing is set; and this part of its time on top of it.
const LESS_MEMORY: f64 = 0.9;
const MORE_TIME: f64 = 0.05;

const USAGE: &str = "\
gc takes [--program NAME] [--rounds N], [--name NAME -- COMMAND ARGS..], --summary, or --replay
known programs: ";

pub fn run(arguments: &[String]) -> Outcome {
    let usage = || format!("{USAGE}{}", programs::names().join(", "));
    let (mut wanted, mut name, mut rounds, mut command) = (None, None, 3, Vec::new());
    let mut rest = arguments.iter();
    while let Some(option) = rest.next() {
        let mut value = || rest.next().ok_or_else(usage);
        match option.as_str() {
            "--program" => wanted = Some(value()?.clone()),
            "--name" => name = Some(value()?.clone()),
            "--rounds" => rounds = super::rounds::number(value()?, 1)?,
            "--summary" => return summary::print(&tables()?),
            "--replay" => return replay::print(&tables()?),
            "--" => command.extend(rest.by_ref().cloned()),
            _ => return Err(usage()),
        }
    }
    if let (Some(name), false) = (&name, command.is_empty()) {
        return measure(&Program::given(name, &command)?, rounds);
    }
    if name.is_some() || !command.is_empty() {
        return Err(usage());
    }
    let folder = super::folder()?.join("gc");
    let all = programs::all(&folder)?;
    // Coq leaves a cache of its proofs behind where it runs.
    std::env::set_current_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut measured = 0;
    for program in all.iter().filter(|it| wanted.as_ref().is_none_or(|name| *name == it.name)) {
        measure(program, rounds)?;
        measured += 1;
    }
    match measured {
        0 => Err(usage()),
        _ => summary::print(&tables()?),
    }
}

fn folder() -> PathBuf {
    root().join("bench/gc")
}

fn tables() -> Result<Vec<Table>, String> {
    let listed = std::fs::read_dir(folder()).map_err(|error| format!("bench/gc: {error}"))?;
    let mut files: Vec<PathBuf> = listed.flatten().map(|entry| entry.path()).collect();
    files.retain(|file| file.extension().is_some_and(|end| end == "tsv"));
    files.sort();
    files.iter().map(|file| Table::read(file)).collect()
}

/// Runs the grid, round after round, and the six runs of each goal.
fn measure(program: &Program, rounds: usize) -> Outcome {
    let mut table = Table::open(&folder(), &program.name)?;
    for round in 0..rounds {
        for s in SIZES {
            for o in OVERHEADS {
                let setting = Setting { s, o };
                if table.has(Part::Grid, round, setting) {
                    continue;
                }
                eprintln!("{}: round {} of {rounds}, {setting}", program.name, round + 1);
                let next = Next { setting: Some(setting), why: Why::Law, predicted: None };
                let line = line(&program.subject, &next, Part::Grid, round)?.0;
                table.add(line)?;
            }
        }
    }
    for (part, goal) in goals(&program.subject)? {
        if table.lines.iter().any(|line| line.part == part) {
            continue;
        }
        eprintln!("{}: six runs for {goal:?}", program.name);
        let (mut runs, mut lines) = (Vec::new(), Vec::new());
        let budget = Budget { runs: 6, seconds: 1e9 };
        while let Some(next) = next(&runs, goal, budget) {
            let (line, measurement) = line(&program.subject, &next, part, lines.len())?;
            lines.push(line);
            runs.push(measurement);
        }
        let chosen = recommended(&runs, goal).ok_or("nothing was chosen")?;
        for mut line in lines {
            line.is_recommended = line.setting == chosen;
            table.add(line)?;
        }
    }
    Ok(())
}

/// The setting that is recommended after these runs.
fn recommended(runs: &[Measurement], goal: Goal) -> Option<Setting> {
    let settings: Vec<Setting> = runs.iter().map(|run| run.setting).collect();
    let model = Model::fit(runs);
    let present = model.predict(*settings.first()?)?;
    let measured: Vec<_> =
        cells(&model, &settings).into_iter().filter(|cell| cell.is_measured).collect();
    Some(choose(&measured, &present, goal)?.cell.setting)
}

/// The goals for a program that has this memory if nothing is set: less memory, little more time, and the least product.
fn goals_of(rss: f64) -> [(Part, Goal); 3] {
    [
        (Part::Memory, Goal::Memory((rss * LESS_MEMORY) as u64)),
        (Part::Slower, Goal::Slower(MORE_TIME)),
        (Part::Balance, Goal::Balance),
    ]
}

fn goals(subject: &Subject) -> Result<[(Part, Goal); 3], String> {
    let unchanged = Next { setting: None, why: Why::Present, predicted: None };
    Ok(goals_of(line(subject, &unchanged, Part::Grid, 0)?.0.rss as f64))
}

fn line(
    subject: &Subject,
    next: &Next,
    part: Part,
    round: usize,
) -> Result<(Line, Measurement), String> {
    let ran = subject
        .run(next, "", Budget { runs: 1, seconds: 1e6 })
        .map_err(|error| format!("{}: {error}", subject.program.display()))?;
    if !ran.is_success {
        return Err(format!(
            "{}: {}: {}",
            subject.program.display(),
            ran.measurement.status,
            ran.last_words
        ));
    }
    let counts = ran.measurement.counts.ok_or_else(|| ran.why_no_counters.unwrap_or_default())?;
    let line = Line {
        part,
        round,
        setting: ran.measurement.setting,
        wall: ran.measurement.wall,
        cpu: ran.measurement.cpu,
        rss: ran.measurement.rss,
        promoted_words: counts.promoted_words,
        major_words: counts.major_words,
        minor_collections: counts.minor_collections,
        major_collections: counts.major_collections,
        top_heap_words: counts.top_heap_words,
        domains: counts.domains,
        is_recommended: false,
    };
    Ok((line, ran.measurement))
}
