//! The answer as text.

use std::io::{self, Write};

use bactrian_advice::answer::{Answer, GcRunRow, Recommendation};
use bactrian_advice::comparison::{AtSame, Comparison};
use bactrian_advice::model::{Cell, Interval};
use bactrian_analysis::gc_rules::GcFinding;
use bactrian_analysis::units::{show_bytes, show_count, show_number, show_share};

use super::plot::{plot, seconds};
use crate::output::{Align, Console, FAINT, GOOD, HEADING, Table, WARNING, visible};

/// The maximum number of settings of the front that are listed.
const MOST_OF_FRONT: usize = 12;

/// Prints the answer for one program.
pub fn print(answer: &Answer, console: &mut Console) -> io::Result<()> {
    let command = answer.command.join(" ");
    let ocaml = match answer.ocaml.as_str() {
        "" => String::new(),
        version => format!(", OCaml {version}"),
    };
    writeln!(console.out(), "{HEADING}{}{HEADING:#}{ocaml}", visible(&command))?;
    let noise = match answer.model.repetitions {
        0 => format!("equal runs are assumed to differ by {}", show_share(answer.model.time_noise)),
        _ => format!("equal runs differ by {}", show_share(answer.model.time_noise)),
    };
    writeln!(
        console.out(),
        "{}; time is {}, {noise}; memory is the peak of resident memory",
        show_number(answer.runs.len() as u64, "run"),
        answer.time_by.name(),
    )?;
    print_runs(&answer.runs, console)?;
    print_recommendation(answer, console)?;
    print_front(answer, console)?;
    let lines = plot(answer);
    if !lines.is_empty() {
        writeln!(console.out(), "\n{HEADING}time and memory{HEADING:#}")?;
    }
    for line in lines {
        writeln!(console.out(), "{line}")?;
    }
    print_findings(&answer.findings, console)?;
    print_list("what tuning cannot change", &answer.limits, console)?;
    print_list("reasons to doubt this", &answer.notes, console)
}

fn print_runs(runs: &[GcRunRow], console: &mut Console) -> io::Result<()> {
    let mut table = Table::new(&[
        ("setting", Align::Left),
        ("time", Align::Right),
        ("memory", Align::Right),
        ("promoted", Align::Right),
        ("minor", Align::Right),
        ("major", Align::Right),
        ("p99", Align::Right),
        ("longest", Align::Right),
        ("predicted", Align::Left),
        ("for", Align::Left),
    ]);
    for run in runs {
        let count = |number: Option<u64>| number.map_or("?".to_owned(), |n| show_count(n as f64));
        let pause = |of: fn(&bactrian_advice::measurement::Pauses) -> f64| {
            run.pauses.as_ref().map_or(String::new(), |pauses| seconds(of(pauses)))
        };
        let promoted =
            run.promoted_words.map_or("?".to_owned(), |words| show_bytes(words as f64 * 8.0));
        let predicted = match (&run.predicted, run.as_predicted) {
            (Some(cell), Some(true)) => format!("{}, right", both(cell)),
            (Some(cell), _) => format!("{}, off", both(cell)),
            (None, _) => String::new(),
        };
        table.row(vec![
            run.setting.to_string(),
            seconds(run.time),
            show_bytes(run.rss as f64),
            promoted,
            count(run.minor_collections),
            count(run.major_collections),
            pause(|pauses| pauses.p99),
            pause(|pauses| pauses.longest),
            predicted,
            run.why.in_words().to_owned(),
        ]);
    }
    table.print_apart(console)
}

/// Time and memory of a cell, in short.
fn both(cell: &Cell) -> String {
    format!("{} {}", seconds(cell.time.value), show_bytes(cell.rss.value))
}

/// Half the width of an interval, in percent.
fn error(interval: &Interval) -> String {
    format!("±{}", show_share(interval.relative()))
}

fn change(factor: f64) -> String {
    let percent = (factor - 1.0) * 100.0;
    format!("{percent:+.1} %")
}

fn print_recommendation(answer: &Answer, console: &mut Console) -> io::Result<()> {
    let wanted = answer.goal.in_words();
    let Some(recommended) = &answer.recommended else {
        return writeln!(console.out(), "\n{WARNING}nothing is recommended{WARNING:#} ({wanted})");
    };
    let Recommendation { choice, time_factor, rss_factor, .. } = recommended;
    let setting = choice.cell.setting;
    if choice.keeps_present {
        writeln!(
            console.out(),
            "\n{HEADING}recommended{HEADING:#} ({wanted}): {GOOD}the present setting{GOOD:#} ({setting}); no setting that was run is better by more than \
             the noise"
        )?;
        return print_reservation(recommended, console);
    }
    writeln!(
        console.out(),
        "\n{HEADING}recommended{HEADING:#} ({wanted}): {GOOD}{setting}{GOOD:#}  time {}, memory {}",
        change(*time_factor),
        change(*rss_factor),
    )?;
    let verification = recommended.verified_by.and_then(|at| answer.runs.get(at));
    if let Some(GcRunRow { predicted: Some(cell), time, rss, as_predicted, .. }) = verification {
        let verdict = match as_predicted {
            Some(true) => "as predicted",
            _ => "not as predicted: the model was fitted again with this run",
        };
        writeln!(
            console.out(),
            "  predicted {} ({}), {} ({}); measured {}, {}: {verdict}",
            seconds(cell.time.value),
            error(&cell.time),
            show_bytes(cell.rss.value),
            error(&cell.rss),
            seconds(*time),
            show_bytes(*rss as f64),
        )?;
    } else {
        writeln!(
            console.out(),
            "  measured {}, {}; this setting was run without a prediction",
            seconds(choice.cell.time.value),
            show_bytes(choice.cell.rss.value)
        )?;
    }
    writeln!(console.out(), "  shell   export OCAMLRUNPARAM='{}'", recommended.ocamlrunparam)?;
    writeln!(console.out(), "  dune    {}", recommended.dune)?;
    writeln!(console.out(), "  OCaml   {}", recommended.gc_set)?;
    print_reservation(recommended, console)
}

fn print_reservation(recommended: &Recommendation, console: &mut Console) -> io::Result<()> {
    match recommended.reservation {
        Some(bytes) => writeln!(
            console.out(),
            "  {FAINT}with it, OCaml 5 reserves {} of address space for minor heaps, which counts against ulimit -v, but not as \
             memory{FAINT:#}",
            show_bytes(bytes as f64)
        ),
        None => Ok(()),
    }
}

fn print_front(answer: &Answer, console: &mut Console) -> io::Result<()> {
    let mut table = Table::new(&[
        ("setting", Align::Left),
        ("memory", Align::Right),
        ("±", Align::Right),
        ("time", Align::Right),
        ("±", Align::Right),
        ("source", Align::Left),
    ]);
    // The complete front is in the JSON; here a long one is thinned out evenly.
    let step = answer.front.len().div_ceil(MOST_OF_FRONT).max(1);
    for cell in answer.front.iter().step_by(step) {
        let cells = vec![
            cell.setting.to_string(),
            show_bytes(cell.rss.value),
            error(&cell.rss),
            seconds(cell.time.value),
            error(&cell.time),
            if cell.is_measured { "a run" } else { "the model" }.to_owned(),
        ];
        match cell.is_measured {
            true => table.styled(cells, HEADING),
            false => table.row(cells),
        }
    }
    writeln!(console.out(), "\n{HEADING}what nothing beats in both time and memory{HEADING:#}")?;
    table.print(console)
}

/// Prints what the rules found.
pub fn print_findings(findings: &[GcFinding], console: &mut Console) -> io::Result<()> {
    if findings.is_empty() {
        return Ok(());
    }
    writeln!(console.out(), "\n{HEADING}what the counters show{HEADING:#}")?;
    for GcFinding { sentence, advice, .. } in findings {
        writeln!(console.out(), "- {WARNING}{sentence}{WARNING:#}. {FAINT}{advice}{FAINT:#}")?;
    }
    Ok(())
}

/// Prints a list of sentences under a heading.
pub fn print_list(heading: &str, sentences: &[String], console: &mut Console) -> io::Result<()> {
    if sentences.is_empty() {
        return Ok(());
    }
    writeln!(console.out(), "\n{HEADING}{heading}{HEADING:#}")?;
    for sentence in sentences {
        writeln!(console.out(), "- {}", visible(sentence))?;
    }
    Ok(())
}

/// Prints a comparison of two programs.
pub fn print_comparison(
    comparison: &Comparison,
    answers: &[Answer],
    console: &mut Console,
) -> io::Result<()> {
    for answer in answers {
        let name = answer.command.first().map_or("", String::as_str);
        let present = &answer.present;
        writeln!(
            console.out(),
            "\n{HEADING}{}{HEADING:#} now: {}, {}",
            visible(name),
            seconds(present.time.value),
            show_bytes(present.rss.value)
        )?;
    }
    type Show = fn(f64) -> String;
    let parts: [(&str, &[AtSame], Show, Show); 2] = [
        ("time at the same memory", &comparison.at_same_memory, show_bytes, seconds),
        ("memory in the same time", &comparison.at_same_time, seconds, show_bytes),
    ];
    for (heading, rows, show_bound, show) in parts {
        writeln!(console.out(), "\n{HEADING}{heading}{HEADING:#}")?;
        let mut table = Table::new(&[
            ("at most", Align::Right),
            ("the first", Align::Left),
            ("the second", Align::Left),
            ("second to first", Align::Right),
            ("limit from", Align::Left),
        ]);
        for row in rows {
            let need = |need: &Option<bactrian_advice::comparison::Need>| match need {
                Some(need) => format!(
                    "{} {} ({})",
                    show(need.number.value),
                    error(&need.number),
                    need.setting
                ),
                None => "impossible".to_owned(),
            };
            let [first, second] = row.needs.each_ref().map(need);
            let factor = row.factor.map_or(String::new(), change);
            table.row(vec![show_bound(row.bound), first, second, factor, row.of.clone()]);
        }
        table.print(console)?;
    }
    Ok(())
}
