//! `bactrian heap types`, `tags`, `sites`, `functions` and `modules`: blocks by class.

use std::io::Write;

use bactrian_analysis::heap::{ClassBy, ClassRow, ClassTable, ClassesQuestion};
use bactrian_analysis::units::{show_bytes, show_count, show_time};

use crate::commands::arguments::say_more;
use crate::derived_args::DerivedArgs;
use crate::failure::{Failure, Status};
use crate::file_args::HeapArg;
use crate::output::{
    Align, Console, FAINT, HEADING, INTERVAL, SHARE, Table, show_error, show_number, show_share,
};

/// Which snapshot, which blocks of it, and how the table is printed.
#[derive(clap::Args, Debug)]
pub struct ClassArgs {
    #[command(flatten)]
    pub heap: HeapArg,
    #[command(flatten)]
    pub question: DerivedArgs<ClassesQuestion>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

pub fn run(args: &ClassArgs, by: ClassBy, console: &mut Console) -> Result<Status, Failure> {
    let question = ClassesQuestion { by, ..args.question.0.clone() };
    let asked = args.heap.files().ask(&question, console)?;
    asked.tell(&format!("heap {}", by.verb()), args.json, console, |answer, console| {
        print(&answer.table, console)?;
        say_more(&question.rows, answer.table.rows.len(), answer.row_count, console)?;
        match by {
            ClassBy::Type => asked.say_coverage(console),
            _ => Ok(()),
        }
    })
}

fn print(answer: &ClassTable, console: &mut Console) -> Result<(), Failure> {
    let title = answer.by.title();
    writeln!(
        console.out(),
        "{HEADING}blocks by {title}{HEADING:#}: {} of {}{}",
        show_number(answer.blocks, "block"),
        show_bytes(answer.bytes as f64),
        match answer.exact {
            true => String::new(),
            false => format!(", {} sampled", answer.sampled_blocks),
        }
    )?;
    if let Some(note) = answer.note {
        writeln!(console.out(), "{FAINT}{note}{FAINT:#}")?;
    }
    if answer.rows.is_empty() {
        return Ok(());
    }
    let exact = answer.exact;
    let mut headings = vec![("blocks", Align::Right)];
    headings.extend([("shallow", Align::Right), (SHARE, Align::Right)]);
    headings.extend((!exact).then_some((INTERVAL, Align::Right)));
    headings.extend(
        exact.then_some([("retained", Align::Right), (SHARE, Align::Right)]).into_iter().flatten(),
    );
    let has_ages = answer.rows.iter().any(|row| row.age.is_some());
    headings.extend(has_ages.then_some(("age", Align::Right)));
    let has_growth = answer.rows.iter().any(|row| row.growth().is_some());
    headings.extend(has_growth.then_some(("grows", Align::Right)));
    headings.push((title, Align::Left));
    let mut table = Table::new(&headings);
    let all = (answer.total as f64).max(1.0);
    for row in &answer.rows {
        let count = row.blocks.value;
        let blocks = if exact { format!("{count:.0}") } else { show_count(count.round()) };
        let size = row.shallow.value;
        let mut cells = vec![blocks, show_bytes(size), show_share(size / all)];
        cells.extend((!exact).then(|| show_error(&row.shallow)));
        if exact {
            let retained = row.retained.map_or(0.0, |bytes| bytes as f64);
            cells.extend([show_bytes(retained), show_share(retained / all)]);
        }
        let age = |row: &ClassRow| row.age.map_or(String::new(), |age| show_time(age.median.0));
        cells.extend(has_ages.then(|| age(row)));
        let growth = |rate: f64| format!("{}/s", show_bytes(rate));
        cells.extend(has_growth.then(|| row.growth().map_or(String::new(), growth)));
        cells.push(row.label.text());
        table.row(cells);
    }
    Ok(table.print(console)?)
}
