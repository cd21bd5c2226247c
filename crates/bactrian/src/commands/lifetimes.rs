//! `bactrian lifetimes`: what dies young and what never dies.

use std::io::Write;

use bactrian_analysis::units::show_bytes;
use bactrian_analysis::{
    Estimate, LIFETIME_CLASSES, LifetimeRow, LifetimesAnswer, LifetimesQuestion, SIZE_CLASSES, Unit,
};

use super::arguments::{about, long_about, say_more};
use crate::derived_args::DerivedArgs;
use crate::failure::{Failure, Status};
use crate::file_args::TraceArg;
use crate::output::{Align, Console, HEADING, INTERVAL, Table, show_error, show_estimate};

#[derive(clap::Args, Debug)]
#[command(about = about::<LifetimesQuestion>(), long_about = long_about::<LifetimesQuestion>())]
#[command(after_help = "Examples:
  bactrian lifetimes trace.ctf
  bactrian lifetimes trace.ctf --sort never        what is never freed first
  bactrian lifetimes trace.ctf --size 1kB..        large objects only
  bactrian lifetimes trace.ctf --sizes             sizes of objects instead")]
pub struct Args {
    #[command(flatten)]
    trace: TraceArg,
    #[command(flatten)]
    question: DerivedArgs<LifetimesQuestion>,
    /// Show sizes instead of lifetimes
    #[arg(long)]
    sizes: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args, console: &mut Console) -> Result<Status, Failure> {
    let DerivedArgs(question) = &args.question;
    let asked = args.trace.files().ask(question, console)?;
    asked.tell("lifetimes", args.json, console, |answer, console| {
        print(answer, args.sizes, console)?;
        say_more(&question.rows, answer.rows.len(), answer.row_count, console)
    })
}

const LIFETIME_TITLES: [&str; LIFETIME_CLASSES.len() + 1] =
    ["0.1 ms", "1 ms", "10 ms", "0.1 s", "1 s", "10 s", "100 s", "longer"];
const SIZE_TITLES: [&str; SIZE_CLASSES.len() + 1] =
    ["1-2", "3-4", "5-16", "17-64", "65-256", "257-4096", "more"];

fn print(answer: &LifetimesAnswer, sizes: bool, console: &mut Console) -> Result<(), Failure> {
    let (all, by) = (&answer.all, answer.by.title());
    let allocated = show_estimate(Unit::Bytes, &all.allocated);
    let (what, titles, explained) = match sizes {
        true => ("sizes", &SIZE_TITLES[..], "share by block size in words, without header"),
        false => ("lifetimes", &LIFETIME_TITLES[..], "share by lifetime, in steps up to"),
    };
    writeln!(
        console.out(),
        "{HEADING}{what} by {by}{HEADING:#}: {allocated} allocated; {explained}"
    )?;
    let classes =
        |life: &LifetimeRow| if sizes { life.sizes.clone() } else { life.lifetimes.clone() };
    // Classes without any objects need no column.
    let used: Vec<_> = (0..titles.len()).filter(|&class| classes(all)[class].value > 0.0).collect();
    let mut headings = vec![("allocated", Align::Right), (INTERVAL, Align::Right)];
    headings.extend(used.iter().map(|&class| (titles[class], Align::Right)));
    headings.extend((!sizes).then_some(("never", Align::Right)));
    headings.push((by, Align::Left));
    let mut table = Table::new(&headings);
    for life in std::iter::once(all).chain(&answer.rows) {
        let mut cells = vec![show_bytes(life.allocated.value), show_error(&life.allocated)];
        let classes = classes(life);
        cells.extend(used.iter().map(|&class| share(&classes[class], life)));
        cells.extend((!sizes).then(|| share(&life.never, life)));
        cells.push(life.label.text());
        let style = if std::ptr::eq(life, all) { HEADING } else { anstyle::Style::new() };
        table.styled(cells, style);
    }
    table.print(console)?;
    Ok(())
}

/// A part of a row's bytes, in percent; a dot for nothing.
fn share(part: &Estimate, life: &LifetimeRow) -> String {
    match part.value > 0.0 {
        true => format!("{:.0} %", part.value / life.allocated.value * 100.0),
        false => "·".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bactrian_analysis::units::show_time;
    use bactrian_trace::Micros;

    #[test]
    fn titles_name_the_classes() {
        for (title, end) in LIFETIME_TITLES.iter().zip(LIFETIME_CLASSES) {
            let digits = |text: &str| text.parse::<f64>().expect("a number");
            let (number, unit) = title.split_once(' ').expect("a unit");
            let scale = if unit == "ms" { 1e3 } else { 1e6 };
            assert_eq!((digits(number) * scale) as u64, end, "{}", show_time(Micros(end)));
        }
        for (title, end) in SIZE_TITLES.iter().zip(SIZE_CLASSES) {
            assert!(title.ends_with(&end.to_string()), "{title}");
        }
    }
}
