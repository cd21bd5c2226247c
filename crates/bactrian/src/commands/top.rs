//! `bactrian top`: what allocates or holds most.

use std::io::Write;
use std::sync::LazyLock;

use bactrian_analysis::units::show_time;
use bactrian_analysis::{Estimate, Filter, Row, Top, TopTypes, TraceFile, TypeRow, top, top_types};
use bactrian_ocaml::bytecode::Program;
use bactrian_types::Allocations;
use clap::ValueEnum;
use clap::builder::PossibleValue;
use serde_json::json;

use super::arguments::{ByArg, Metric, TableArgs};
use super::instructions::{Header, instructions, program_file};
use crate::failure::{Failure, Status};
use crate::filters::FilterArgs;
use crate::open::TraceArg;
use crate::output::{
    Align, Console, HEADING, INTERVAL, Table, print_json, show_error, show_estimate, show_share,
    show_value, visible,
};
use crate::types::{Linked, TypesArg};

/// Sites, lines, functions, files, modules or types that allocate or hold most.
///
/// `self` is what a row allocates itself, `total` what is allocated in it and in all it calls, however
/// deep, counted once if it recurs. Beside each stands the 95 % interval from sampling.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  bactrian top trace.ctf                               functions by bytes allocated
  bactrian top trace.ctf --by site --metric live       where what is never freed was allocated
  bactrian top trace.ctf --metric peak --in Main.load  what Main.load holds at its peak
  bactrian top trace.ctf --by type --metric live       of which types what is never freed is
  bactrian top trace.ctf --hide '/^Stdlib/'            the standard library counted to its callers")]
pub struct Args {
    #[command(flatten)]
    trace: TraceArg,
    /// What to tell apart
    #[arg(long, value_name = "WHAT", default_value = "function")]
    by: TopBy,
    /// What to measure
    #[arg(long, short, value_name = "METRIC", default_value = "allocated")]
    metric: Metric,
    /// What to sort by
    #[arg(long, value_name = "ORDER", default_value = "self")]
    sort: Sort,
    /// Whether words count the header of each block; with --by instruction
    #[arg(long, value_name = "WHICH", default_value = "without-header")]
    words: Header,
    #[command(flatten)]
    types: TypesArg,
    #[command(flatten)]
    table: TableArgs,
    #[command(flatten)]
    filters: FilterArgs,
}

/// What is told apart: a place, or what was allocated there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TopBy {
    Place(ByArg),
    Type,
}

impl ValueEnum for TopBy {
    fn value_variants<'a>() -> &'a [TopBy] {
        static ALL: LazyLock<Vec<TopBy>> = LazyLock::new(|| {
            let places = ByArg::value_variants().iter().copied().map(TopBy::Place);
            places.chain([TopBy::Type]).collect()
        });
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        match self {
            TopBy::Place(by) => by.to_possible_value(),
            TopBy::Type => {
                Some(PossibleValue::new("type").help("OCaml types, as far as they are known"))
            }
        }
    }
}

/// What rows are sorted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Sort {
    /// What a row allocates itself
    #[value(name = "self")]
    Own,
    /// What is allocated in it and in all it calls
    Total,
}

pub fn run(args: &Args, console: &mut Console) -> Result<Status, Failure> {
    let trace = args.trace.open()?;
    let filter = args.filters.filter()?;
    let by = match args.by {
        TopBy::Place(ByArg::Instruction) => {
            return by_instruction(args, &trace, &filter, console);
        }
        TopBy::Type => return by_type(args, &trace, &filter, console),
        TopBy::Place(by) => by,
    };
    let mut answer = top(&trace, &filter, by.by(), args.metric.measure());
    if args.sort == Sort::Total {
        answer.rows.sort_by(|a, b| b.total.value.total_cmp(&a.total.value));
    }
    let all_rows = args.table.cut(&mut answer.rows);
    if args.table.json {
        let result = json!({
            "by": answer.by,
            "measure": answer.measure,
            "filter": filter,
            "all": answer.all,
            "peak_time": answer.peak.map(|peak| peak.time.seconds()),
            "row_count": all_rows,
            "rows": answer.rows,
        });
        print_json(console, "top", &args.trace.file, &answer.losses, &result)?;
    } else {
        print(&answer, by, console)?;
        args.table.say_more(all_rows, console)?;
    }
    args.filters.warn_if_empty(&filter, &answer.all, console)?;
    args.trace.account(&answer.losses, console)?;
    Ok(Status::Done)
}

fn by_instruction(
    args: &Args,
    trace: &TraceFile,
    filter: &Filter,
    console: &mut Console,
) -> Result<Status, Failure> {
    if args.metric != Metric::Allocated || args.sort != Sort::Own {
        let what = "instructions are told by the words they allocate: no --metric, no --sort";
        return Err(Failure::Usage(what.to_owned()));
    }
    let (path, file) = program_file(trace);
    let program = Program::read(&file).ok();
    let mut answer = instructions(trace, filter, args.words, program.as_ref());
    let all_rows = args.table.cut(&mut answer.rows);
    if args.table.json {
        print_json(console, "top", &args.trace.file, &answer.losses, &answer)?;
    } else {
        answer.print(console)?;
        args.table.say_more(all_rows, console)?;
        answer.warn(&path, program.is_some(), console)?;
    }
    args.trace.account(&answer.losses, console)?;
    Ok(Status::Done)
}

fn by_type(
    args: &Args,
    trace: &TraceFile,
    filter: &Filter,
    console: &mut Console,
) -> Result<Status, Failure> {
    if args.sort != Sort::Own {
        return Err(Failure::Usage("types have no total: no --sort".to_owned()));
    }
    let (path, file) = program_file(trace);
    let linked = Linked::read(&file);
    let table = args.types.for_trace(&args.trace.file, &path, &linked, console)?;
    let Some(table) = table else {
        return Err(Failure::Usage(
            "types need a table: make one with `bactrian types build DIRECTORY`, and name it with --types".to_owned(),
        ));
    };
    if linked.units.is_empty() {
        let path = path.display();
        console
            .warn(&format!("{path} does not say what it was linked from: the table is believed"))?;
    }
    let used = linked.used(&table);
    let types = Allocations::new(&table, &used);
    let mut answer = top_types(trace, filter, args.metric.measure(), types);
    let all_rows = args.table.cut(&mut answer.rows);
    if args.table.json {
        let result = json!({
            "by": "type",
            "measure": answer.measure,
            "filter": filter,
            "all": answer.all,
            "typed": answer.typed,
            "peak_time": answer.peak.map(|peak| peak.time.seconds()),
            "row_count": all_rows,
            "rows": answer.rows,
        });
        print_json(console, "top", &args.trace.file, &answer.losses, &result)?;
    } else {
        print_types(&answer, console)?;
        args.table.say_more(all_rows, console)?;
    }
    args.filters.warn_if_empty(filter, &answer.all, console)?;
    args.trace.account(&answer.losses, console)?;
    Ok(Status::Done)
}

fn print_types(answer: &TopTypes, console: &mut Console) -> Result<(), Failure> {
    let unit = answer.measure.unit;
    let whole = answer.all.value.max(f64::MIN_POSITIVE);
    writeln!(
        console.out(),
        "{HEADING}{} by type{HEADING:#}: {} in all, {} of it of known types",
        answer.measure.title(),
        show_estimate(unit, &answer.all),
        show_share(answer.typed.value / whole),
    )?;
    let exact = answer.all.low == answer.all.high;
    let mut headings = vec![("self", Align::Right), ("", Align::Right)];
    headings.extend((!exact).then_some((INTERVAL, Align::Right)));
    headings.push(("type", Align::Left));
    let mut table = Table::new(&headings);
    for TypeRow { name, own, .. } in &answer.rows {
        let mut cells = vec![show_value(unit, own.value), show_share(own.value / whole)];
        cells.extend((!exact).then(|| show_error(own)));
        cells.push(visible(name).into_owned());
        table.row(cells);
    }
    Ok(table.print(console)?)
}

fn print(answer: &Top, by: ByArg, console: &mut Console) -> Result<(), Failure> {
    let unit = answer.measure.unit;
    let at_peak = answer.peak.map(|peak| format!(" at {}", show_time(peak.time)));
    writeln!(
        console.out(),
        "{HEADING}{} by {}{HEADING:#}: {} in all{}",
        answer.measure.title(),
        by.title(),
        show_estimate(unit, &answer.all),
        at_peak.unwrap_or_default(),
    )?;
    let share = |estimate: &Estimate| match answer.all.value > 0.0 {
        true => show_share(estimate.value / answer.all.value),
        false => String::new(),
    };
    let exact = answer.all.low == answer.all.high;
    let mut headings = vec![("self", Align::Right), ("", Align::Right)];
    headings.extend((!exact).then_some((INTERVAL, Align::Right)));
    headings.extend([("total", Align::Right), ("", Align::Right)]);
    headings.extend((!exact).then_some((INTERVAL, Align::Right)));
    headings.push((by.title(), Align::Left));
    let mut table = Table::new(&headings);
    for Row { label, own, total } in &answer.rows {
        let mut cells = Vec::new();
        for estimate in [own, total] {
            cells.extend([show_value(unit, estimate.value), share(estimate)]);
            cells.extend((!exact).then(|| show_error(estimate)));
        }
        cells.push(label.text());
        table.row(cells);
    }
    table.print(console)?;
    Ok(())
}
