//! `bactrian heap summary`: what the memory of a heap is used for.

use bactrian_analysis::heap::{FiberStacks, Summary, SummaryQuestion, WORD};
use bactrian_analysis::units::show_bytes;

use crate::commands::arguments::{about, long_about};
use crate::failure::{Failure, Status};
use crate::file_args::HeapArg;
use crate::output::{Align, Console, Table, line, show_number, show_share};

#[derive(clap::Args, Debug)]
#[command(about = about::<SummaryQuestion>(), long_about = long_about::<SummaryQuestion>())]
pub struct Args {
    #[command(flatten)]
    heap: HeapArg,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args, console: &mut Console) -> Result<Status, Failure> {
    let asked = args.heap.files().ask(&SummaryQuestion::default(), console)?;
    asked.tell("heap summary", args.json, console, print)
}

fn print(answer: &Summary, console: &mut Console) -> Result<(), Failure> {
    let blocks = show_number(answer.blocks, "block");
    let pointers = show_number(answer.pointers, "pointer");
    let size = show_bytes(answer.bytes as f64);
    line(console, "blocks", &format!("{blocks}, {size} with headers, {pointers}"))?;
    let live = show_number(answer.live_blocks, "block");
    let size = show_bytes(answer.live_bytes as f64);
    line(console, "live", &format!("{size} in {live}, without static data"))?;
    line(console, "largest block", &show_bytes(answer.largest as f64))?;
    line(
        console,
        "external",
        &format!("{} held by custom blocks", show_bytes(answer.external_bytes as f64)),
    )?;
    if let Some(stacks) = fibers(answer) {
        line(console, "fiber stacks", &fiber_stacks(&stacks))?;
    }
    print_uses(answer, console)?;
    print_blocks(answer, console)?;
    print_major(answer, console)?;
    print_sizes(answer, console)?;
    print_collector(answer, console)?;
    print_process(answer, console)
}

/// The fiber stacks, if there are any.
fn fibers(answer: &Summary) -> Option<FiberStacks> {
    answer.fiber_stacks.filter(|stacks| stacks.all.stacks > 0)
}

fn fiber_stacks(stacks: &FiberStacks) -> String {
    let parts = [
        (stacks.suspended, "of suspended continuations"),
        (stacks.running, "of threads"),
        (stacks.cached, "kept for new fibers"),
    ];
    let parts = parts.into_iter().filter(|(sum, _)| sum.stacks > 0);
    let parts =
        parts.map(|(sum, what)| format!("{} {what}: {}", sum.stacks, show_bytes(sum.bytes as f64)));
    let parts: Vec<_> = parts.collect();
    let FiberStacks { all, .. } = stacks;
    format!("{} in {} ({})", show_bytes(all.bytes as f64), all.stacks, parts.join(", "))
}

const NUMBERS: [(&str, Align); 2] = [("bytes", Align::Right), ("share", Align::Right)];

fn share(part: u64, whole: u64) -> String {
    show_share(part as f64 / (whole as f64).max(1.0))
}

fn print_uses(answer: &Summary, console: &mut Console) -> Result<(), Failure> {
    let words = [("words", Align::Right)];
    let mut table = Table::new(&[&words, &NUMBERS[..], &[("used for", Align::Left)]].concat());
    for used in &answer.uses {
        let bytes = used.words.saturating_mul(WORD);
        let what = match used.what {
            "strings" => {
                let padding = bytes.saturating_sub(answer.string_bytes);
                format!("strings, {} of it padding", show_bytes(padding as f64))
            }
            "empty" => "empty: None, [], (), false, 0".to_owned(),
            what => what.to_owned(),
        };
        let size = show_bytes(bytes as f64);
        table.row(vec![used.words.to_string(), size, share(bytes, answer.bytes), what]);
    }
    Ok(table.print_apart(console)?)
}

fn print_blocks(answer: &Summary, console: &mut Console) -> Result<(), Failure> {
    let kinds = answer.kinds.iter().map(|row| (row.blocks, row.bytes, row.kind.title()));
    let spaces = answer.spaces.iter().map(|row| (row.blocks, row.bytes, row.space));
    let tables: [(&'static str, Vec<_>); 2] =
        [("what", kinds.collect()), ("where", spaces.collect())];
    for (title, rows) in tables {
        let blocks = [("blocks", Align::Right)];
        let mut table = Table::new(&[&blocks, &NUMBERS[..], &[(title, Align::Left)]].concat());
        for (blocks, bytes, name) in rows {
            let size = show_bytes(bytes as f64);
            table.row(vec![blocks.to_string(), size, share(bytes, answer.bytes), name.to_owned()]);
        }
        table.print_apart(console)?;
    }
    Ok(())
}

fn print_major(answer: &Summary, console: &mut Console) -> Result<(), Failure> {
    let major = &answer.major;
    let Some(mapped) = major.mapped else { return Ok(()) };
    let mut table = Table::new(&[&NUMBERS[..], &[("of the major heap", Align::Left)]].concat());
    for (bytes, what) in [
        (Some(mapped), "mapped"),
        (Some(major.live), "live blocks"),
        (major.unreachable, "unreachable and not yet swept"),
        (major.free, "free"),
        (major.fragments, "fragments: too small for any block"),
    ] {
        if let Some(bytes) = bytes {
            table.row(vec![show_bytes(bytes as f64), share(bytes, mapped), what.to_owned()]);
        }
    }
    if let Some(rest) = major.rest {
        let part = show_share(rest as f64 / (mapped as f64).max(1.0));
        table.row(vec![show_bytes(rest as f64), part, "rest: the runtime's own".to_owned()]);
    }
    table.print_apart(console)?;
    if let (Some(slack), Some(fragmentation)) = (major.slack, major.fragmentation) {
        let what = format!(
            "{} of the major heap is not live; {} of what is unused is too small to be used",
            show_share(slack),
            show_share(fragmentation)
        );
        line(console, "fragmentation", &what)?;
    }
    Ok(())
}

/// The most size classes listed by free memory.
const TOLD_SIZES: usize = 8;

fn print_sizes(answer: &Summary, console: &mut Console) -> Result<(), Failure> {
    let free = answer.sizes.iter().fold(0_u64, |sum, row| sum.saturating_add(row.free));
    let mut rows: Vec<_> = answer.sizes.iter().filter(|row| row.free > 0).collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.free));
    rows.truncate(TOLD_SIZES);
    rows.sort_by_key(|row| row.most);
    let headings = [
        ("free", Align::Right),
        ("share", Align::Right),
        ("pieces", Align::Right),
        ("used", Align::Right),
        ("of blocks up to", Align::Left),
    ];
    let mut table = Table::new(&headings);
    for row in rows {
        table.row(vec![
            show_bytes(row.free as f64),
            share(row.free, free),
            row.free_blocks.to_string(),
            show_bytes(row.used as f64),
            show_bytes(row.most as f64),
        ]);
    }
    Ok(table.print_apart(console)?)
}

fn print_collector(answer: &Summary, console: &mut Console) -> Result<(), Failure> {
    let mut table = Table::new(&[("number", Align::Right), ("of the collector", Align::Left)]);
    for number in &answer.collector {
        table.row(vec![show_exact(number.value), number.name.clone()]);
    }
    Ok(table.print_apart(console)?)
}

/// As `Gc.stat` prints it: integers in full.
fn show_exact(number: f64) -> String {
    if number.fract() == 0.0 { format!("{number:.0}") } else { format!("{number:.3}") }
}

fn print_process(answer: &Summary, console: &mut Console) -> Result<(), Failure> {
    let process = &answer.process;
    let headings = [
        ("mapped", Align::Right),
        ("resident", Align::Right),
        ("share", Align::Right),
        ("of the process", Align::Left),
    ];
    let mut table = Table::new(&headings);
    let show = |bytes: Option<u64>| bytes.map_or(String::new(), |b| show_bytes(b as f64));
    for row in &process.lines {
        let part = row.resident.zip(process.resident);
        let part = part.map_or(String::new(), |(bytes, all)| share(bytes, all));
        table.row(vec![show(row.mapped), show(row.resident), part, row.what.clone()]);
    }
    table.print_apart(console)?;
    if let (Some(resident), Some(beyond)) = (process.resident, process.beyond_live) {
        let what = format!(
            "{}; {} of it is neither live blocks nor held by custom blocks{}",
            show_bytes(resident as f64),
            show_bytes(beyond as f64),
            if fibers(answer).is_some() { ", nor stacks of fibers" } else { "" },
        );
        line(console, "resident", &what)?;
    }
    Ok(())
}
