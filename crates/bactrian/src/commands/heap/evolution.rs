//! `bactrian heap evolution`: the size of types, modules, functions or sites in each snapshot.

use std::io::Write;

use bactrian_analysis::heap::{Evolution, EvolutionQuestion, EvolutionRow, SizeUnit};
use bactrian_analysis::units::{show_bytes, show_count};

use crate::commands::arguments::{about, long_about};
use crate::derived_args::DerivedArgs;
use crate::failure::{Failure, Status};
use crate::file_args::HeapsArg;
use crate::output::{Align, Console, FAINT, HEADING, Table, show_number, visible};

#[derive(clap::Args, Debug)]
#[command(about = about::<EvolutionQuestion>(), long_about = long_about::<EvolutionQuestion>())]
#[command(after_help = "Examples:
  bactrian heap evolution server.*.heap --by module             the modules whose blocks grow
  bactrian heap evolution server.*.heap --by function --module Server.Cache
  bactrian heap evolution server.*.heap --sort growth -n 5
  bactrian heap evolution server.*.heap --unit blocks --sort 3  by number of blocks in the third snapshot")]
pub struct Args {
    #[command(flatten)]
    heaps: HeapsArg,
    #[command(flatten)]
    question: DerivedArgs<EvolutionQuestion>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args, console: &mut Console) -> Result<Status, Failure> {
    let DerivedArgs(question) = &args.question;
    let asked = args.heaps.files().ask(question, console)?;
    asked.tell("heap evolution", args.json, console, |answer, console| {
        print(answer, question.unit, console)
    })
}

fn print(answer: &Evolution, unit: SizeUnit, console: &mut Console) -> Result<(), Failure> {
    let title = answer.by.title();
    let snapshots = show_number(answer.snapshots.len() as u64, "snapshot");
    writeln!(console.out(), "{HEADING}blocks by {title}{HEADING:#} in {snapshots}")?;
    for note in &answer.notes {
        writeln!(console.out(), "{FAINT}{note}{FAINT:#}")?;
    }
    let show = |value: f64| match unit {
        SizeUnit::Bytes => show_bytes(value),
        SizeUnit::Words => show_count(value / answer.word as f64),
        SizeUnit::Blocks => show_count(value),
    };
    let numbers = ["first", "last", "growth", "average"].map(|title| (title, Align::Right));
    let mut headings = numbers.to_vec();
    headings.extend([("evolves", Align::Left), (title, Align::Left)]);
    let mut table = Table::new(&headings);
    let cells = |row: &EvolutionRow| {
        let sizes: Vec<f64> = match unit {
            SizeUnit::Blocks => row.blocks.iter().map(|blocks| blocks.value).collect(),
            SizeUnit::Bytes | SizeUnit::Words => {
                row.bytes.iter().map(|bytes| bytes.value).collect()
            }
        };
        let [first, last] = [sizes.first(), sizes.last()].map(|size| show(*size.unwrap_or(&0.0)));
        let sign = if row.growth > 0.0 { "+" } else { "" };
        let growth = format!("{sign}{}", show(row.growth));
        vec![first, last, growth, show(row.average), bars(&sizes), visible(&row.title).into_owned()]
    };
    answer.rows.iter().for_each(|row| table.row(cells(row)));
    answer.rest.iter().for_each(|rest| table.faint(cells(rest)));
    table.faint(cells(&answer.all));
    table.print(console)?;
    match answer.row_count.saturating_sub(answer.rows.len()) {
        0 => Ok(()),
        left => Ok(writeln!(console.out(), "{left} more are the rest; -n 0 shows all")?),
    }
}

/// The most bars; with more snapshots, a bar shows the maximum of several.
const MOST_BARS: usize = 40;

/// A sparkline of sizes, relative to the largest.
fn bars(sizes: &[f64]) -> String {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let largest = sizes.iter().copied().fold(0.0, f64::max);
    let bar = |part: &[f64]| {
        let size = part.iter().copied().fold(0.0, f64::max);
        let share = if largest > 0.0 { size / largest } else { 0.0 };
        if size > 0.0 { BARS[((share * 8.0) as usize).min(7)] } else { ' ' }
    };
    sizes.chunks(sizes.len().div_ceil(MOST_BARS).max(1)).map(bar).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_shares_of_the_largest() {
        assert_eq!(bars(&[0.0, 1.0, 4.0, 8.0]), " ▂▅█");
        assert_eq!(bars(&[0.0, 0.0]), "  ");
        assert_eq!(bars(&[]), "");
        assert_eq!(bars(&vec![1.0; 1000]).chars().count(), 40);
    }
}
