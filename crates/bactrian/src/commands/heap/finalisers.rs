//! `bactrian heap finalisers`: finalisers that can never run.

use std::io::Write;

use bactrian_analysis::heap::{Finalisers, FinalisersAnswer, FinalisersQuestion};
use bactrian_analysis::units::show_bytes;

use super::paths::print_steps;
use crate::commands::arguments::{about, long_about};
use crate::derived_args::DerivedArgs;
use crate::failure::{Failure, Status};
use crate::file_args::HeapArg;
use crate::output::{BAD, Console, HEADING, show_number, visible};

#[derive(clap::Args, Debug)]
#[command(about = about::<FinalisersQuestion>(), long_about = long_about::<FinalisersQuestion>())]
pub struct Args {
    #[command(flatten)]
    heap: HeapArg,
    #[command(flatten)]
    question: DerivedArgs<FinalisersQuestion>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args, console: &mut Console) -> Result<Status, Failure> {
    let asked = args.heap.files().ask(&args.question.0, console)?;
    let ended = asked.tell("heap finalisers", args.json, console, print)?;
    let is_leaking = asked.answer.result.finalisers.leaking > 0;
    Ok(if is_leaking { Status::Finding } else { ended })
}

fn print(answer: &FinalisersAnswer, console: &mut Console) -> Result<(), Failure> {
    let Finalisers { first, last, pending, leaking, bytes, groups } = &answer.finalisers;
    writeln!(
        console.out(),
        "{HEADING}Finalisers{HEADING:#}: {first} of Gc.finalise, {last} of Gc.finalise_last, {pending} about to be \
         called"
    )?;
    if *leaking == 0 {
        return Ok(writeln!(console.out(), "none of their functions holds its own value")?);
    }
    writeln!(
        console.out(),
        "{BAD}{leaking} can never run{BAD:#}: their functions hold their own values; {} are held by nothing else",
        show_bytes(*bytes as f64)
    )?;
    for group in groups {
        writeln!(console.out())?;
        let finalisers = show_number(group.count, "finaliser");
        let (of, bytes) = (group.of, show_bytes(group.bytes as f64));
        writeln!(
            console.out(),
            "{HEADING}{finalisers}{HEADING:#} of {of} with this function, {bytes} held by nothing else; {} of the \
             values still in use",
            group.in_use
        )?;
        writeln!(console.out(), "  function  {}", visible(&group.function))?;
        writeln!(console.out(), "  value     {}", visible(&group.value))?;
        match group.cycle.is_empty() {
            true => writeln!(
                console.out(),
                "  the path between them was not searched: there are \
                too many finalisers"
            )?,
            false => {
                writeln!(console.out(), "  shortest path from the function to the value:")?;
                print_steps(&group.cycle, console)?;
            }
        }
        let values: Vec<_> = group.values.iter().map(|value| format!("@{}", value.node)).collect();
        writeln!(console.out(), "  values    {}", values.join(" "))?;
    }
    if groups.len() < answer.row_count {
        let left = answer.row_count - groups.len();
        writeln!(console.out(), "{left} more; -n 0 shows all")?;
    }
    Ok(())
}
