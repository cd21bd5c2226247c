//! `bactrian top`: what allocates most, or has most live.

use std::io::Write;

use bactrian_analysis::units::show_time;
use bactrian_analysis::{
    By, Estimate, Filter, Metric, Row, TopAnswer, TopBy, TopByWhat, TopQuestion, TopSort, TopTypes,
    TraceFile, TypeRow, keeps_little, top_types,
};
use bactrian_ocaml::bytecode::Program;
use bactrian_types::Allocations;
use serde_json::json;

use super::arguments::{about, long_about, say_more};
use super::instructions::{Header, instructions, program_file};
use crate::derived_args::DerivedArgs;
use crate::failure::{Failure, Status};
use crate::file_args::TraceArg;
use crate::filters::warn_if_empty;
use crate::output::{
    Align, Console, HEADING, INTERVAL, Table, print_json, show_error, show_estimate, show_share,
    show_value, visible,
};
use crate::types::{Linked, TypesArg};

#[derive(clap::Args, Debug)]
#[command(about = about::<TopQuestion>(), long_about = long_about::<TopQuestion>())]
#[command(after_help = "Examples:
  bactrian top trace.ctf                               functions by what they keep
  bactrian top trace.ctf --by site                     allocation sites of what is kept
  bactrian top trace.ctf --metric allocated            what makes the collector work
  bactrian top trace.ctf --metric peak --in Main.load  what Main.load keeps at its peak
  bactrian top trace.ctf --by type --metric live       types of the blocks that are never freed
  bactrian top trace.ctf --raw                         with the standard library and C primitives
  bactrian top trace.ctf --hide '/^(Base|Lwt)/'        also charges other libraries to their callers")]
pub struct Args {
    #[command(flatten)]
    trace: TraceArg,
    #[command(flatten)]
    question: DerivedArgs<TopQuestion>,
    /// Whether word counts include the header of each block; with --by instruction
    #[arg(long, value_name = "WHICH", default_value = "without-header")]
    words: Header,
    #[command(flatten)]
    types: TypesArg,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args, console: &mut Console) -> Result<Status, Failure> {
    let DerivedArgs(question) = &args.question;
    match question.by {
        TopBy::Place(By::Instruction) => return by_instruction(args, console),
        TopBy::What(TopByWhat::Type) => return by_type(args, console),
        TopBy::Place(_) => {}
    }
    let asked = args.trace.files().ask(question, console)?;
    asked.tell("top", args.json, console, |answer, console| {
        print(answer, console)?;
        say_more(&question.rows, answer.rows.len(), answer.row_count, console)
    })
}

/// Opens the trace and returns the filter.
fn opened(args: &Args) -> Result<(TraceFile, Filter), Failure> {
    let filter = args.question.0.filter.filter();
    Ok((args.trace.open()?, filter.map_err(|error| Failure::Usage(error.to_string()))?))
}

fn by_instruction(args: &Args, console: &mut Console) -> Result<Status, Failure> {
    let DerivedArgs(question) = &args.question;
    let (trace, filter) = opened(args)?;
    if !matches!(question.metric, Metric::Kept | Metric::Allocated) || question.sort != TopSort::Own
    {
        let what = "instructions are always listed by the words they allocate: --metric and \
            --sort do not apply";
        return Err(Failure::Usage(what.to_owned()));
    }
    let (path, file) = program_file(&trace);
    let program = Program::read(&file).ok();
    let mut answer = instructions(&trace, &filter, args.words, program.as_ref());
    let all_rows = question.rows.cut(&mut answer.rows, |row| row.function.clone());
    if args.json {
        print_json(console, "top", &args.trace.file, &answer.losses, &answer)?;
    } else {
        answer.print(console)?;
        say_more(&question.rows, answer.rows.len(), all_rows, console)?;
        answer.warn(&path, program.is_some(), console)?;
    }
    args.trace.account(&answer.losses, console)?;
    Ok(Status::Done)
}

fn by_type(args: &Args, console: &mut Console) -> Result<Status, Failure> {
    let DerivedArgs(question) = &args.question;
    let (trace, filter) = opened(args)?;
    if question.sort != TopSort::Own {
        return Err(Failure::Usage(
            "types are always listed by what they allocate: --sort does \
            not apply"
                .to_owned(),
        ));
    }
    let (path, file) = program_file(&trace);
    let linked = Linked::read(&file);
    let table = args.types.for_trace(&args.trace.file, &path, &linked, console)?;
    let Some(table) = table else {
        return Err(Failure::Usage(
            "types need a table: build one with `bactrian types build DIRECTORY`, and name it \
             with --types"
                .to_owned(),
        ));
    };
    if linked.units.is_empty() {
        let path = path.display();
        console.warn(&format!(
            "{path} does not say which modules it was linked from: the table of \
                types is used unchecked"
        ))?;
    }
    let used = linked.used(&table);
    let types = Allocations::new(&table, &used);
    let mut answer =
        top_types(&trace, &filter, question.metric.measure(|| keeps_little(&trace)), types);
    let all_rows = question.rows.cut(&mut answer.rows, |row| row.name.clone());
    if args.json {
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
        say_more(&question.rows, answer.rows.len(), all_rows, console)?;
    }
    warn_if_empty(&filter, &answer.all, console)?;
    args.trace.account(&answer.losses, console)?;
    Ok(Status::Done)
}

fn print_types(answer: &TopTypes, console: &mut Console) -> Result<(), Failure> {
    let unit = answer.measure.unit;
    let whole = answer.all.value.max(f64::MIN_POSITIVE);
    writeln!(
        console.out(),
        "{HEADING}{} by type{HEADING:#}: {} in all, {} of it of known types",
        answer.measure.long_title(),
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

fn print(answer: &TopAnswer, console: &mut Console) -> Result<(), Failure> {
    let unit = answer.measure.unit;
    let by = answer.by.title();
    let at_peak = answer.peak_time.map(|time| format!(" at {}", show_time(time.0)));
    writeln!(
        console.out(),
        "{HEADING}{} by {}{HEADING:#}: {} in all{}",
        answer.measure.long_title(),
        by,
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
    headings.push((by, Align::Left));
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
