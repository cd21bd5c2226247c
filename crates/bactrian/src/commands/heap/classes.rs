//! `bactrian heap types`, `tags`, `sites`, `functions` and `modules`: blocks by class.

use std::io::Write;

use bactrian_analysis::heap::{ClassBy, ClassFilter, ClassSort, ClassTable, Heap, told_classes};
use bactrian_analysis::units::{show_bytes, show_count};

use super::{HeapArg, say_coverage};
use crate::commands::arguments::TableArgs;
use crate::failure::{Failure, Status};
use crate::output::{
    Align, Console, FAINT, HEADING, INTERVAL, SHARE, Table, show_error, show_number, show_share,
};

/// Which snapshot, which blocks of it, and how the table is printed.
#[derive(clap::Args, Debug)]
pub struct ClassArgs {
    #[command(flatten)]
    pub heap: HeapArg,
    #[command(flatten)]
    filter: ClassFilterArgs,
    /// What to sort by
    #[arg(long, value_name = "ORDER", default_value = "shallow")]
    sort: Sort,
    #[command(flatten)]
    pub table: TableArgs,
}

/// Which blocks; all conditions must hold. Where blocks were allocated is known of sampled ones only.
#[derive(clap::Args, Debug)]
struct ClassFilterArgs {
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
}

impl ClassFilterArgs {
    fn filter(&self, arg: &HeapArg, heap: &Heap) -> Result<ClassFilter, Failure> {
        let find = |text: &String| heap.find_classes(text).map_err(|error| arg.not_found(&error));
        Ok(ClassFilter {
            classes: self.class.as_ref().map(find).transpose()?,
            module: self.module.clone(),
            function: self.function.clone(),
            site: self.site.clone(),
        })
    }
}

/// What rows are sorted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Sort {
    /// Bytes of the blocks themselves
    Shallow,
    /// Bytes that would be free without them
    Dominated,
    /// How many blocks there are
    Blocks,
}

impl Sort {
    fn sort(self) -> ClassSort {
        match self {
            Sort::Shallow => ClassSort::Shallow,
            Sort::Dominated => ClassSort::Dominated,
            Sort::Blocks => ClassSort::Blocks,
        }
    }
}

pub fn run(args: &ClassArgs, by: ClassBy, console: &mut Console) -> Result<Status, Failure> {
    let heap = args.heap.open(console)?;
    let filter = args.filter.filter(&args.heap, &heap)?;
    let answer = told_classes(&heap, by, &filter, args.sort.sort(), args.table.number());
    if args.table.json {
        args.heap.print_json(verb(by), &heap, &answer, console)?;
    } else {
        print(&answer.table, console)?;
        args.table.say_more(answer.row_count, console)?;
        if by == ClassBy::Type {
            say_coverage(&heap, console)?;
        }
    }
    args.heap.finish(&heap, console)
}

fn verb(by: ClassBy) -> &'static str {
    match by {
        ClassBy::Type => "types",
        ClassBy::Tag => "tags",
        ClassBy::Site => "sites",
        ClassBy::Function => "functions",
        ClassBy::Module => "modules",
    }
}

fn print(answer: &ClassTable, console: &mut Console) -> Result<(), Failure> {
    let title = match answer.by {
        ClassBy::Type => "type",
        ClassBy::Tag => "tag",
        ClassBy::Site => "site",
        ClassBy::Function => "function",
        ClassBy::Module => "module",
    };
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
        exact.then_some([("dominated", Align::Right), (SHARE, Align::Right)]).into_iter().flatten(),
    );
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
            let dominated = row.dominated.map_or(0.0, |bytes| bytes as f64);
            cells.extend([show_bytes(dominated), show_share(dominated / all)]);
        }
        cells.push(row.label.text());
        table.row(cells);
    }
    Ok(table.print(console)?)
}
