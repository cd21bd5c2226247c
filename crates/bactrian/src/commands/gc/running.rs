//! `bactrian gc PID|RECORDING`: what the counters of a program show without another run.

use std::fs::File;
use std::io::{self, BufReader, Write};
use std::path::Path;

use anyhow::Context;
use bactrian_advice::running::{RunningAnswer, answer};
use bactrian_advice::setting::short_words;
use bactrian_analysis::gc_rules::GcFacts;
use bactrian_analysis::live::gc_facts::gc_facts;
use bactrian_analysis::live::measure::collector_share;
use bactrian_analysis::units::{show_bytes, show_share};
use bactrian_capture::live::Watch;
use bactrian_capture::live::counters::Counters;
use bactrian_live::recording::Player;
use bactrian_live::{Database, Limits};

use super::text::{print_findings, print_list};
use crate::failure::{Failure, Status};
use crate::live::opening::bad_recording;
use crate::output::{Align, Console, HEADING, Table, print_envelope};

/// For a running process.
pub fn of_process(pid: u32, json: bool, console: &mut Console) -> Result<Status, Failure> {
    let mut counters = Counters::find(pid).map_err(Failure::NotSupported)?;
    let statistics = counters.statistics().map_err(Failure::NotSupported)?;
    let facts = GcFacts::from_named(|name| statistics.get(name).map(|number| number.real()));
    // Pauses are known only if something is measuring them already.
    let mut watch = Watch::attach(pid).with_context(|| format!("there is no process {pid}"))?;
    let numbers = watch.poll();
    let share = numbers.pauses.as_ref().ok().map(|pauses| {
        // They have been measured since the agent was loaded; in a program that bactrian live started, since its start.
        pauses.times.sum() as f64 / (numbers.age as f64).max(1.0)
    });
    let name = format!("process {pid}, OCaml {}", counters.version());
    show(&name, &answer(&facts, share), json, console)
}

/// For a recording of live numbers.
pub fn of_recording(path: &Path, json: bool, console: &mut Console) -> Result<Status, Failure> {
    let context = || path.display().to_string();
    let file = File::open(path).with_context(context)?;
    let mut player =
        Player::new(BufReader::new(file)).map_err(|error| bad_recording(path, &error))?;
    let mut database = Database::new(Limits::default());
    for event in player.by_ref() {
        match event {
            Ok(event) => database.add(event),
            Err(error) => {
                // The events before the error are good.
                console.warn(&format!("{}: {error}", path.display()))?;
                break;
            }
        }
    }
    if player.is_cut() {
        console.warn(&format!("{}: it ends in the middle of an event", path.display()))?;
    }
    let at = database.last();
    let over = at.saturating_sub(database.first());
    let (facts, share) = (gc_facts(&database, at), collector_share(&database, at, over));
    let program = database.program();
    let name = format!("{}, {}", program.name, program.runtime);
    show(&name, &answer(&facts, share), json, console)
}

fn show(
    name: &str,
    answer: &RunningAnswer,
    json: bool,
    console: &mut Console,
) -> Result<Status, Failure> {
    if json {
        print_envelope(console, "gc", [], answer)?;
    } else {
        print(name, answer, console)?;
    }
    console.flush()?;
    Ok(Status::Done)
}

fn print(name: &str, answer: &RunningAnswer, console: &mut Console) -> io::Result<()> {
    writeln!(console.out(), "{HEADING}{}{HEADING:#}", crate::output::visible(name))?;
    let unknown = || "unknown".to_owned();
    for (what, value) in [
        ("minor heap (s)", answer.s.map_or_else(unknown, |s| format!("{} words", short_words(s)))),
        ("space_overhead (o)", answer.o.map_or_else(unknown, |o| o.to_string())),
        ("major heap", answer.heap.map_or_else(unknown, |bytes| show_bytes(bytes as f64))),
        ("promoted", answer.promotion_rate.map_or_else(unknown, show_share)),
        ("time in the collector", answer.collector_share.map_or_else(unknown, show_share)),
    ] {
        writeln!(console.out(), "{what:>22}  {value}")?;
    }
    let mut table = Table::new(&[
        ("o", Align::Right),
        ("major heap", Align::Right),
        ("between", Align::Left),
        ("mark and sweep", Align::Right),
        ("time", Align::Left),
    ]);
    for row in &answer.rows {
        let time = row.time.map_or(String::new(), |time| {
            format!("{:+.1} to {:+.1} %", (time.low - 1.0) * 100.0, (time.high - 1.0) * 100.0)
        });
        let cells = vec![
            row.o.to_string(),
            show_bytes(row.heap.value),
            format!("{} and {}", show_bytes(row.heap.low), show_bytes(row.heap.high)),
            format!("× {:.2}", row.work),
            time,
        ];
        match answer.o == Some(row.o) {
            true => table.styled(cells, HEADING),
            false => table.row(cells),
        }
    }
    table.print_apart(console)?;
    print_findings(&answer.findings, console)?;
    print_list("what the counters cannot show", &answer.unknown, console)?;
    print_list("what would show it", std::slice::from_ref(&answer.experiment), console)
}
