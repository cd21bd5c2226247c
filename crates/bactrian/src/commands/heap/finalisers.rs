//! `bactrian heap finalisers`: those that can never run.

use std::io::Write;

use bactrian_analysis::heap::{Finalisers, finalisers};
use bactrian_analysis::units::show_bytes;

use super::HeapArg;
use super::paths::print_steps;
use crate::failure::{Failure, Status};
use crate::output::{BAD, Console, HEADING, show_number, visible};

/// Finalisers that can never run, because their functions hold their own values: certain leaks.
///
/// For each, the shortest way from the function to the value, block by block; finalisers with the same way are told once.
/// Status 1 if there are any.
#[derive(clap::Args, Debug)]
pub struct Args {
    #[command(flatten)]
    heap: HeapArg,
    /// How many different ways; 0 for all
    #[arg(short, long, visible_alias = "limit", value_name = "ROWS", default_value_t = 10)]
    number: usize,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args, console: &mut Console) -> Result<Status, Failure> {
    let heap = args.heap.open(console)?;
    let answer = finalisers(&heap);
    match args.json {
        true => args.heap.print_json("finalisers", &heap, &answer, console)?,
        false => print(&answer, args.number, console)?,
    }
    let ended = args.heap.finish(&heap, console)?;
    Ok(if answer.leaking > 0 { Status::Finding } else { ended })
}

fn print(answer: &Finalisers, number: usize, console: &mut Console) -> Result<(), Failure> {
    let Finalisers { first, last, pending, leaking, bytes, groups } = answer;
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
    let most = if number == 0 { usize::MAX } else { number };
    for group in groups.iter().take(most) {
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
            true => writeln!(console.out(), "  the way between them was not searched: too many")?,
            false => {
                writeln!(console.out(), "  shortest way from the function to the value:")?;
                print_steps(&group.cycle, console)?;
            }
        }
        let values: Vec<_> = group.values.iter().map(|value| format!("#{}", value.node)).collect();
        writeln!(console.out(), "  values    {}", values.join(" "))?;
    }
    if groups.len() > most {
        writeln!(console.out(), "{} more; -n 0 shows all", groups.len() - most)?;
    }
    Ok(())
}
