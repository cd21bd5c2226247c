//! `bactrian heap duplicates`: duplicate structures, and what sharing them would save.

use std::io::Write;

use bactrian_analysis::heap::{Duplicates, DuplicatesQuestion};
use bactrian_analysis::question::Rows;
use bactrian_analysis::units::show_bytes;

use crate::commands::arguments::{about, long_about, say_more};
use crate::derived_args::DerivedArgs;
use crate::failure::{Failure, Status};
use crate::file_args::HeapArg;
use crate::output::{
    Align, Console, FAINT, HEADING, INTERVAL, SHARE, Table, show_error, show_number, show_share,
};

#[derive(clap::Args, Debug)]
#[command(about = about::<DuplicatesQuestion>(), long_about = long_about::<DuplicatesQuestion>())]
pub struct Args {
    #[command(flatten)]
    heap: HeapArg,
    #[command(flatten)]
    question: DerivedArgs<DuplicatesQuestion>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args, console: &mut Console) -> Result<Status, Failure> {
    let asked = args.heap.files().ask(&args.question.0, console)?;
    asked.tell("heap duplicates", args.json, console, |answer, console| {
        let found = &answer.duplicates;
        print_head(found, console)?;
        if found.saved > 0 {
            let rows = Rows::default();
            print_structures(found, console)?;
            say_more(&rows, found.structures.len(), found.structure_count as usize, console)?;
            print_classes(found, console)?;
            say_more(&rows, found.classes.len(), answer.class_count, console)?;
            print_sites(found, console)?;
            say_more(&rows, found.sites.len(), answer.site_count, console)?;
        }
        asked.say_coverage(console)
    })
}

fn print_head(answer: &Duplicates, console: &mut Console) -> Result<(), Failure> {
    let share = answer.saved as f64 / (answer.bytes as f64).max(1.0);
    let out = console.out();
    writeln!(
        out,
        "{HEADING}duplicates{HEADING:#}: {} of {} ({}) would be saved if equal structures were shared",
        show_bytes(answer.saved as f64),
        show_bytes(answer.bytes as f64),
        show_share(share).trim_start(),
    )?;
    let saved = show_number(answer.saved_blocks, "block");
    let mut notes = vec![match answer.mutable {
        None => format!(
            "and if none of them is mutated, which is unknown without types; {saved} are redundant"
        ),
        Some(blocks) => format!(
            "{saved} are redundant; not compared: {} of mutable types",
            show_number(blocks, "block")
        ),
    }];
    if answer.left_out > 0 {
        notes.push(format!(
            "not compared: {} (objects, lazy values, continuations, memory outside the heap, \
             unknown contents)",
            show_number(answer.left_out, "block")
        ));
    }
    if !answer.immediates_known {
        notes.push(
            "the snapshot has no immediate values: blocks with immediates were not \
            compared"
                .to_owned(),
        );
    }
    if !answer.contents_known {
        let note = "the snapshot has no digests of contents: strings and floats were not compared";
        notes.push(note.to_owned());
    }
    for note in notes {
        writeln!(out, "{FAINT}{note}{FAINT:#}")?;
    }
    Ok(())
}

const SAVED: (&str, Align) = ("saved", Align::Right);

fn print_classes(answer: &Duplicates, console: &mut Console) -> Result<(), Failure> {
    writeln!(console.out())?;
    let headings = [SAVED, (SHARE, Align::Right), ("blocks", Align::Right), ("type", Align::Left)];
    let mut table = Table::new(&headings);
    for row in &answer.classes {
        table.row(vec![
            show_bytes(row.saved as f64),
            show_share(row.saved as f64 / answer.saved as f64),
            row.blocks.to_string(),
            row.label.text(),
        ]);
    }
    Ok(table.print(console)?)
}

fn print_sites(answer: &Duplicates, console: &mut Console) -> Result<(), Failure> {
    if answer.sites.is_empty() {
        let note = "their allocation sites are unknown: none of them was sampled";
        writeln!(console.out(), "\n{FAINT}{note}{FAINT:#}")?;
        return Ok(());
    }
    writeln!(console.out())?;
    let exact = answer.sites_exact;
    let mut headings = vec![SAVED];
    headings.extend((!exact).then_some((INTERVAL, Align::Right)));
    headings.extend([(SHARE, Align::Right), ("sampled", Align::Right)]);
    headings.push((if exact { "site" } else { "site, estimated from samples" }, Align::Left));
    let mut table = Table::new(&headings);
    for row in &answer.sites {
        let mut cells = vec![show_bytes(row.saved.value)];
        cells.extend((!exact).then(|| show_error(&row.saved)));
        cells.extend([show_share(row.share), row.sampled_blocks.to_string(), row.label.text()]);
        table.row(cells);
    }
    Ok(table.print(console)?)
}

fn print_structures(answer: &Duplicates, console: &mut Console) -> Result<(), Failure> {
    writeln!(console.out())?;
    let headings = [
        SAVED,
        ("copies", Align::Right),
        ("each", Align::Right),
        ("one of them", Align::Right),
        ("topmost block", Align::Left),
        ("value", Align::Left),
    ];
    let mut table = Table::new(&headings);
    for row in &answer.structures {
        table.row(vec![
            show_bytes(row.saved as f64),
            row.copies.to_string(),
            show_bytes(row.each as f64),
            row.nodes.first().map_or(String::new(), |node| format!("@{node}")),
            row.what.clone(),
            row.value.clone(),
        ]);
    }
    Ok(table.print(console)?)
}
