//! `bactrian heap evolution`: what types, modules, functions or places have in each snapshot.

use std::io::Write;

use bactrian_analysis::heap::{
    ClassBy, Evolution, EvolutionFilter, EvolutionOrder, EvolutionQuestion, EvolutionRow,
    EvolutionUnit, HeapSums, evolution,
};
use bactrian_analysis::units::{show_bytes, show_count};

use super::HeapsArg;
use crate::failure::{Failure, Status};
use crate::output::{Align, Console, FAINT, HEADING, Table, show_number, visible};

/// How sizes evolve over snapshots: what types, modules, functions or places have in each.
///
/// Snapshots are told in the order in which they were taken. Where blocks were allocated is known of sampled ones only: by
/// module, function and site, numbers are estimates, unless all blocks were sampled.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  bactrian heap evolution server.*.heap --by module             which modules' blocks grow
  bactrian heap evolution server.*.heap --by function --module Server.Cache
  bactrian heap evolution server.*.heap --sort growth -n 5
  bactrian heap evolution server.*.heap --unit blocks --sort 3  by how many blocks there are in the third")]
pub struct Args {
    #[command(flatten)]
    heaps: HeapsArg,
    /// What blocks are told apart by
    #[arg(long, value_name = "WHAT", default_value = "type")]
    by: By,
    /// Only blocks of this type, or of those that have this in their names
    #[arg(long = "type", value_name = "TYPE")]
    class: Option<String>,
    /// Only blocks that this module allocated
    #[arg(long, value_name = "MODULE")]
    module: Option<String>,
    /// Only blocks that this function allocated
    #[arg(long, value_name = "FUNCTION")]
    function: Option<String>,
    /// Only blocks that were allocated here (main.ml:12)
    #[arg(long, value_name = "PLACE")]
    site: Option<String>,
    /// What is counted
    #[arg(long, value_name = "UNIT", default_value = "bytes")]
    unit: Unit,
    /// What comes first: average, growth, or what is large in one snapshot (its place in the series, from 1)
    #[arg(long, value_name = "ORDER", default_value = "average", value_parser = order)]
    sort: EvolutionOrder,
    /// Also show this row, whatever its place
    #[arg(long, value_name = "NAME")]
    also: Vec<String>,
    /// How many rows; 0 for all
    #[arg(short, long, visible_alias = "limit", value_name = "ROWS", default_value_t = 20)]
    number: usize,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum By {
    /// What they are; without a table of types: tag and size
    Type,
    /// The module that allocated them
    Module,
    /// The function that allocated them
    Function,
    /// The place that allocated them
    Site,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Unit {
    /// Bytes, with headers
    Bytes,
    /// Words of eight bytes, with headers
    Words,
    /// How many blocks there are
    Blocks,
}

fn order(text: &str) -> Result<EvolutionOrder, String> {
    match text {
        "average" => Ok(EvolutionOrder::Average),
        "growth" => Ok(EvolutionOrder::Growth),
        _ => match text.parse::<usize>() {
            Ok(place @ 1..) => Ok(EvolutionOrder::At(place - 1)),
            _ => Err("neither average, nor growth, nor the place of a snapshot, from 1".to_owned()),
        },
    }
}

pub fn run(args: &Args, console: &mut Console) -> Result<Status, Failure> {
    let files = args.heaps.each();
    let mut sums = Vec::new();
    for file in &files {
        // One heap at a time is in memory.
        sums.push(HeapSums::of(&file.open(console)?));
    }
    let losses: Vec<_> = sums.iter().map(|sums| sums.losses().clone()).collect();
    let mut in_order: Vec<&HeapSums> = sums.iter().collect();
    in_order.sort_by(|one, other| one.point().taken.total_cmp(&other.point().taken));
    if let EvolutionOrder::At(place) = args.sort
        && place >= sums.len()
    {
        let many = sums.len();
        return Err(Failure::Usage(format!("--sort {}: there are {many} snapshots", place + 1)));
    }
    let answer = evolution(&in_order, &args.question());
    match args.json {
        true => args.heaps.print_json("evolution", &losses, &answer, console)?,
        false => print(&answer, args.unit, console)?,
    }
    console.flush()?;
    for (file, losses) in files.iter().zip(&losses) {
        file.account(losses, console)?;
    }
    Ok(Status::Done)
}

impl Args {
    fn question(&self) -> EvolutionQuestion {
        EvolutionQuestion {
            by: match self.by {
                By::Type => ClassBy::Type,
                By::Module => ClassBy::Module,
                By::Function => ClassBy::Function,
                By::Site => ClassBy::Site,
            },
            filter: EvolutionFilter {
                class: self.class.clone(),
                module: self.module.clone(),
                function: self.function.clone(),
                site: self.site.clone(),
            },
            unit: match self.unit {
                Unit::Bytes | Unit::Words => EvolutionUnit::Bytes,
                Unit::Blocks => EvolutionUnit::Blocks,
            },
            order: self.sort,
            number: self.number,
            also: self.also.clone(),
        }
    }
}

fn print(answer: &Evolution, unit: Unit, console: &mut Console) -> Result<(), Failure> {
    let title = match answer.by {
        ClassBy::Type | ClassBy::Tag => "type",
        ClassBy::Site => "site",
        ClassBy::Function => "function",
        ClassBy::Module => "module",
    };
    let snapshots = show_number(answer.snapshots.len() as u64, "snapshot");
    writeln!(console.out(), "{HEADING}blocks by {title}{HEADING:#} in {snapshots}")?;
    for note in &answer.notes {
        writeln!(console.out(), "{FAINT}{note}{FAINT:#}")?;
    }
    let show = |value: f64| match unit {
        Unit::Bytes => show_bytes(value),
        Unit::Words => show_count(value / answer.word as f64),
        Unit::Blocks => show_count(value),
    };
    let numbers = ["first", "last", "growth", "average"].map(|title| (title, Align::Right));
    let mut headings = numbers.to_vec();
    headings.extend([("evolves", Align::Left), (title, Align::Left)]);
    let mut table = Table::new(&headings);
    let cells = |row: &EvolutionRow| {
        let sizes: Vec<f64> = match unit {
            Unit::Blocks => row.blocks.iter().map(|blocks| blocks.value).collect(),
            Unit::Bytes | Unit::Words => row.bytes.iter().map(|bytes| bytes.value).collect(),
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

/// So many bars at most; of more snapshots, the largest of several is shown.
const MOST_BARS: usize = 40;

/// A small picture of sizes, each as a share of the largest.
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

    #[test]
    fn orders_are_words_or_places() {
        assert_eq!(order("growth"), Ok(EvolutionOrder::Growth));
        assert_eq!(order("3"), Ok(EvolutionOrder::At(2)));
        assert!(order("0").is_err() && order("size").is_err());
    }
}
