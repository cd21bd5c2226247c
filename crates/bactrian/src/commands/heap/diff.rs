//! `bactrian heap diff`: what changed from snapshot to snapshot.

use std::io::Write;
use std::path::PathBuf;

use bactrian_analysis::heap::{ClassChange, Counted, HeapDiff, Series, type_coverage};
use bactrian_analysis::units::{Bytes, show_bytes, show_count, show_time};
use bactrian_trace::Micros;
use serde_json::json;

use super::{HeapsArg, say_coverage_of};
use crate::failure::{Failure, Status};
use crate::indexes::IndexArg;
use crate::output::{Align, BAD, Console, GOOD, HEADING, Table, show_number};
use crate::types::TypesArg;

/// What changed from snapshot to snapshot: classes that grow, blocks that came, went and stayed.
///
/// Blocks of the first and the last snapshot are the same if they have the same address, class and size; if the heap was
/// compacted in between they cannot be compared. Rates are by least squares over all snapshots. Status 1 if the last
/// heap is larger than the first.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  bactrian heap diff before.heap after.heap
  bactrian heap diff server.*.heap --max 2GB      when it will have that size, if it goes on like this")]
pub struct Args {
    #[command(flatten)]
    heaps: HeapsArg,
    /// Say when all blocks together will have this size
    #[arg(long, value_name = "SIZE")]
    max: Option<Bytes>,
    /// How many rows; 0 for all
    #[arg(short, long, visible_alias = "limit", value_name = "ROWS", default_value_t = 20)]
    number: usize,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Args {
    /// The arguments of `bactrian diff` on two snapshots.
    pub fn of_two(files: Vec<PathBuf>, strict: bool, number: usize, json: bool) -> Args {
        let heaps =
            HeapsArg { files, strict, types: TypesArg::default(), index: IndexArg::default() };
        Args { heaps, max: None, number, json }
    }
}

pub fn run(args: &Args, console: &mut Console) -> Result<Status, Failure> {
    let files = args.heaps.each();
    if files.len() < 2 {
        return Err(Failure::Usage("to compare, name at least two snapshots".to_owned()));
    }
    let mut series = Series::default();
    let mut losses = Vec::new();
    // How well types of the last one are known; tables are the same for all.
    let mut coverage = None;
    for (at, file) in files.iter().enumerate() {
        let heap = file.open(console)?;
        losses.push(heap.losses().clone());
        coverage = type_coverage(&heap);
        series.add(heap, at + 1 == files.len());
    }
    let mut answer = series.finish();
    let row_count = answer.rows.len();
    cut(&mut answer.rows, args.number);
    match args.json {
        true => {
            let limit =
                args.max.map(|max| json!({ "bytes": max, "seconds": answer.time_to(max.0) }));
            let result = json!({
                "diff": answer, "row_count": row_count, "limit": limit, "coverage": coverage,
            });
            args.heaps.print_json("diff", &losses, &result, console)?;
        }
        false => {
            print(&answer, row_count, args.max, console)?;
            say_coverage_of(coverage.as_ref(), console)?;
        }
    }
    console.flush()?;
    for (file, losses) in files.iter().zip(&losses) {
        file.account(losses, console)?;
    }
    Ok(if answer.all.change > 0 { Status::Finding } else { Status::Done })
}

/// Keeps the rows that changed most, whichever way, in their order.
fn cut(rows: &mut Vec<ClassChange>, number: usize) {
    if number == 0 || rows.len() <= number {
        return;
    }
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.sort_by_key(|&at| std::cmp::Reverse(rows[at].change.unsigned_abs()));
    let mut is_kept = vec![false; rows.len()];
    order.iter().take(number).for_each(|&at| is_kept[at] = true);
    let mut is_kept = is_kept.into_iter();
    rows.retain(|_| is_kept.next().unwrap_or(false));
}

fn signed(bytes: f64) -> String {
    format!("{}{}", if bytes > 0.0 { "+" } else { "" }, show_bytes(bytes))
}

fn print(
    answer: &HeapDiff,
    row_count: usize,
    max: Option<Bytes>,
    console: &mut Console,
) -> Result<(), Failure> {
    let sizes: Vec<_> = answer.all.bytes.iter().map(|bytes| show_bytes(*bytes as f64)).collect();
    let change = signed(answer.all.change as f64);
    writeln!(console.out(), "{HEADING}Heaps{HEADING:#}: {}; change {change}", sizes.join(", "))?;
    let all = &answer.all;
    match (&answer.not_matched, all.new, all.gone, all.surviving) {
        (None, Some(new), Some(gone), Some(surviving)) => {
            let show = |of: Counted| {
                format!("{} in {}", show_bytes(of.bytes as f64), show_number(of.blocks, "block"))
            };
            let (new, gone, surviving) = (show(new), show(gone), show(surviving));
            writeln!(console.out(), "{new} are new, {gone} are gone, {surviving} are still there")?;
        }
        (reason, ..) => {
            let reason = reason.as_deref().unwrap_or("it is not known why");
            writeln!(console.out(), "blocks cannot be compared one by one: {reason}")?;
        }
    }
    if let Some(rate) = all.rate {
        let points = answer.snapshots.len();
        let rate = signed(rate);
        writeln!(
            console.out(),
            "rate: {rate} in a second, by least squares over {points} snapshots"
        )?;
    }
    if let Some(max) = max {
        let size = show_bytes(max.0 as f64);
        let when = match answer.time_to(max.0) {
            None => "not at this rate".to_owned(),
            Some(0.0) => "it is there".to_owned(),
            Some(seconds) => {
                let micros = (seconds * 1e6).min(u64::MAX as f64) as u64;
                format!(
                    "in {} after the last snapshot, if it goes on like this",
                    show_time(Micros(micros))
                )
            }
        };
        writeln!(console.out(), "{size}: {when}")?;
    }
    print_rows(answer, console)?;
    match row_count.saturating_sub(answer.rows.len()) {
        0 => Ok(()),
        left => Ok(writeln!(console.out(), "{left} more changed less; -n 0 shows all")?),
    }
}

fn print_rows(answer: &HeapDiff, console: &mut Console) -> Result<(), Failure> {
    let is_matched = answer.not_matched.is_none();
    let mut headings = vec![("first", Align::Right), ("last", Align::Right)];
    headings.extend([("change", Align::Right), ("blocks", Align::Right)]);
    if answer.all.rate.is_some() {
        headings.push(("per second", Align::Right));
    }
    if is_matched {
        headings.extend([("new", Align::Right), ("gone", Align::Right), ("still", Align::Right)]);
    }
    if answer.snapshots.len() > 2 {
        headings.push(("grows", Align::Left));
    }
    headings.push(("class", Align::Left));
    let mut table = Table::new(&headings);
    let bytes = |of: Option<Counted>| show_bytes(of.unwrap_or_default().bytes as f64);
    for row in &answer.rows {
        let [first, last] = [row.bytes.first(), row.bytes.last()]
            .map(|bytes| show_bytes(*bytes.unwrap_or(&0) as f64));
        let [before, after] =
            [row.blocks.first(), row.blocks.last()].map(|count| *count.unwrap_or(&0));
        let blocks = after as f64 - before as f64;
        let sign = if blocks > 0.0 { "+" } else { "" };
        let mut cells =
            vec![first, last, signed(row.change as f64), format!("{sign}{}", show_count(blocks))];
        if answer.all.rate.is_some() {
            cells.push(row.rate.map_or(String::new(), signed));
        }
        if is_matched {
            cells.extend([bytes(row.new), bytes(row.gone), bytes(row.surviving)]);
        }
        if answer.snapshots.len() > 2 {
            cells.push(if row.grows_always { "always" } else { "" }.to_owned());
        }
        cells.push(row.class.clone());
        let style = match row.change {
            1.. => BAD,
            0 => anstyle::Style::new(),
            _ => GOOD,
        };
        table.styled(cells, style);
    }
    Ok(table.print(console)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_that_changed_most_are_kept_in_their_order() {
        let row = |change: i64| ClassChange {
            class: String::new(),
            blocks: Vec::new(),
            bytes: Vec::new(),
            change,
            grows_always: false,
            rate: None,
            new: None,
            gone: None,
            surviving: None,
        };
        let check = |changes: &[i64], number: usize, expected: &[i64]| {
            let mut rows: Vec<_> = changes.iter().copied().map(row).collect();
            cut(&mut rows, number);
            assert_eq!(rows.iter().map(|row| row.change).collect::<Vec<_>>(), expected);
        };
        check(&[5, 3, 3, -10], 2, &[5, -10]);
        // Of equal ones the first; none of them in the place of what changed more.
        check(&[3, 3, -10], 2, &[3, -10]);
        check(&[3, 3, -10], 0, &[3, 3, -10]);
        check(&[3], 2, &[3]);
    }
}
