//! What works with which OCaml, from real runs: `cargo xtask reach` writes docs/reach.md.
//!
//! [`subjects`] lists programs: one of ours, built by every available compiler, and programs of others.
//! [`observations`] observes each in every possible way, with the commands that a user would type. A cell of
//! the table gives the result: it works, or it was refused, with the text of the refusal. Anything else is a
//! bug and fails the chore.

mod observations;
mod subjects;

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use crate::command::root;
use crate::{Outcome, progress};
use observations::{Answer, OBSERVATIONS};
use subjects::Subject;

const DOCUMENT: &str = "docs/reach.md";

const INTRODUCTION: &str = "\
# Reach

What can be observed in which OCaml programs. `cargo xtask reach` wrote this table by trying everything, on Linux and x86-64. `yes`: it was done, and
its result was checked. A number: it was refused, with exit status 4 and the message below. `-`: the program does not
run long enough, or there is no snapshot. `FAULT`: it failed, which is a bug to be fixed.

- record: `bactrian record -- PROGRAM`
- record PID: `bactrian record PID`, of a running process
- snapshots: `bactrian record --snapshots exit --no-trace -- PROGRAM`
- snapshot PID: `bactrian snapshot PID`, of a running process
- core: `bactrian snapshot --core CORE`
- types: whether blocks of the program's own types are shown with these types, from its `.cmt` files
- live: `bactrian live PID`
";

/// Where subjects are built and observed.
const FOLDER: &str = "target/reach";

pub fn run(arguments: &[String]) -> Outcome {
    let only = arguments.first().map(String::as_str);
    progress::build("--profile quick")?;
    let folder = root().join(FOLDER);
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut table = Table::default();
    println!("\n## Every compiler\n");
    table.begin("Every compiler", "OCaml | code | linked");
    for subject in subjects::compiled(&folder)? {
        table.observe(&subject, &folder, only);
    }
    println!("\n## Programs of others\n");
    table.begin("Programs of others", "program | OCaml | code");
    for subject in subjects::of_others(&folder)? {
        table.observe(&subject, &folder, only);
    }
    if only.is_some() {
        println!("{}", table.text());
    } else {
        let path = root().join(DOCUMENT);
        fs::write(&path, table.text()).map_err(|error| format!("{DOCUMENT}: {error}"))?;
        println!("{DOCUMENT} is written");
    }
    match table.faults.is_empty() {
        true => Ok(()),
        false => Err(format!("neither done nor refused:\n{}", table.faults.join("\n"))),
    }
}

/// The document so far.
#[derive(Default)]
struct Table {
    rows: String,
    /// Texts of refusals, numbered from 1 in this order.
    reasons: Vec<String>,
    faults: Vec<String>,
}

impl Table {
    fn begin(&mut self, title: &str, first: &str) {
        let names = OBSERVATIONS.map(|observation| observation.name).join(" | ");
        let lines = vec!["---"; first.split('|').count() + OBSERVATIONS.len()].join("|");
        // Writing to a string does not fail.
        let _ = write!(self.rows, "\n## {title}\n\n| {first} | {names} |\n|{lines}|\n");
    }

    /// Observes a subject in every way, if `only` is not given or part of its title.
    fn observe(&mut self, subject: &Subject, folder: &Path, only: Option<&str>) {
        if only.is_some_and(|only| !subject.title.contains(only)) {
            return;
        }
        println!("-- {}", subject.title);
        let cells = observations::observe(subject, folder).map(|(way, answer)| match answer {
            Answer::Works => "yes".to_owned(),
            Answer::Refused(words) => self.number(words),
            Answer::NotAsked => "-".to_owned(),
            Answer::Fault(what) => {
                println!("   {way}: {what}");
                self.faults.push(format!("{}, {way}: {what}", subject.title));
                "FAULT".to_owned()
            }
        });
        println!("   {}", cells.join(" | "));
        let _ = writeln!(self.rows, "| {} | {} |", subject.title, cells.join(" | "));
    }

    fn number(&mut self, words: String) -> String {
        let known = self.reasons.iter().position(|reason| *reason == words);
        let at = known.unwrap_or_else(|| {
            self.reasons.push(words);
            self.reasons.len() - 1
        });
        format!("{}", at + 1)
    }

    fn text(&self) -> String {
        let mut text = format!("{INTRODUCTION}{}", self.rows);
        if !self.reasons.is_empty() {
            text.push_str("\n## Refusals\n\n");
        }
        for (at, reason) in self.reasons.iter().enumerate() {
            let _ = writeln!(text, "{}. {reason}", at + 1);
        }
        text
    }
}
