//! `bactrian lifetimes`: what dies young and what never dies.

use std::io::Write;

use bactrian_analysis::units::show_bytes;
use bactrian_analysis::{
    Estimate, LIFETIME_CLASSES, Life, Lifetimes, SIZE_CLASSES, Unit, lifetimes,
};
use bactrian_trace::Micros;
use serde_json::json;

use super::arguments::{ByArg, TableArgs};
use crate::failure::{Failure, Status};
use crate::filters::FilterArgs;
use crate::open::TraceArg;
use crate::output::{
    Align, Console, HEADING, INTERVAL, Table, print_json, show_error, show_estimate,
};

/// What dies young and what never dies; how big objects are.
///
/// Each row shows which share of its bytes dies within each span of time, and which is still there when
/// the trace ends.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  bactrian lifetimes trace.ctf
  bactrian lifetimes trace.ctf --sort never        what never dies first
  bactrian lifetimes trace.ctf --size 1kB..        large objects only
  bactrian lifetimes trace.ctf --sizes             how big objects are instead")]
pub struct Args {
    #[command(flatten)]
    trace: TraceArg,
    /// What to tell apart
    #[arg(long, value_name = "WHAT", default_value = "site")]
    by: ByArg,
    /// What to sort by
    #[arg(long, value_name = "ORDER", default_value = "allocated")]
    sort: Sort,
    /// Show sizes instead of lifetimes
    #[arg(long)]
    sizes: bool,
    #[command(flatten)]
    table: TableArgs,
    #[command(flatten)]
    filters: FilterArgs,
}

/// What rows are sorted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Sort {
    /// Bytes allocated
    Allocated,
    /// Bytes that never die
    Never,
}

pub fn run(args: &Args, console: &mut Console) -> Result<Status, Failure> {
    let trace = args.trace.open()?;
    let filter = args.filters.filter()?;
    let mut answer = lifetimes(&trace, &filter, args.by.by());
    if args.sort == Sort::Never {
        answer.rows.sort_by(|a, b| b.never.value.total_cmp(&a.never.value));
    }
    let all_rows = args.table.cut(&mut answer.rows);
    if args.table.json {
        let result = json!({
            "by": args.by.by(),
            "filter": filter,
            "lifetime_classes": LIFETIME_CLASSES.map(|end| Micros(end).seconds()),
            "size_classes": SIZE_CLASSES,
            "all": answer.all,
            "row_count": all_rows,
            "rows": answer.rows,
        });
        print_json(console, "lifetimes", &args.trace.file, &answer.losses, &result)?;
    } else {
        print(&answer, args, console)?;
        args.table.say_more(all_rows, console)?;
    }
    args.filters.warn_if_empty(&filter, &answer.all.allocated, console)?;
    args.trace.account(&answer.losses, console)?;
    Ok(Status::Done)
}

const LIFETIME_TITLES: [&str; LIFETIME_CLASSES.len() + 1] =
    ["0.1 ms", "1 ms", "10 ms", "0.1 s", "1 s", "10 s", "100 s", "longer"];
const SIZE_TITLES: [&str; SIZE_CLASSES.len() + 1] =
    ["1-2", "3-4", "5-16", "17-64", "65-256", "257-4096", "more"];

fn print(answer: &Lifetimes, args: &Args, console: &mut Console) -> Result<(), Failure> {
    let (all, by) = (&answer.all, args.by.title());
    let allocated = show_estimate(Unit::Bytes, &all.allocated);
    let (what, titles, explained) = match args.sizes {
        true => ("sizes", &SIZE_TITLES[..], "share in blocks of so many words, without header"),
        false => ("lifetimes", &LIFETIME_TITLES[..], "share that dies within"),
    };
    writeln!(
        console.out(),
        "{HEADING}{what} by {by}{HEADING:#}: {allocated} allocated; {explained}"
    )?;
    let classes =
        |life: &Life| if args.sizes { life.sizes.clone() } else { life.lifetimes.clone() };
    // Classes that nothing falls into need no column.
    let used: Vec<_> = (0..titles.len()).filter(|&class| classes(all)[class].value > 0.0).collect();
    let mut headings = vec![("allocated", Align::Right), (INTERVAL, Align::Right)];
    headings.extend(used.iter().map(|&class| (titles[class], Align::Right)));
    headings.extend((!args.sizes).then_some(("never", Align::Right)));
    headings.push((by, Align::Left));
    let mut table = Table::new(&headings);
    for life in std::iter::once(all).chain(&answer.rows) {
        let mut cells = vec![show_bytes(life.allocated.value), show_error(&life.allocated)];
        let classes = classes(life);
        cells.extend(used.iter().map(|&class| share(&classes[class], life)));
        cells.extend((!args.sizes).then(|| share(&life.never, life)));
        cells.push(life.label.text());
        let style = if std::ptr::eq(life, all) { HEADING } else { anstyle::Style::new() };
        table.styled(cells, style);
    }
    table.print(console)?;
    Ok(())
}

/// A part of a row's bytes, in percent; a dot for nothing.
fn share(part: &Estimate, life: &Life) -> String {
    match part.value > 0.0 {
        true => format!("{:.0} %", part.value / life.allocated.value * 100.0),
        false => "·".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bactrian_analysis::units::show_time;

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
