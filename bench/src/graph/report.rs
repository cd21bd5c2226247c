//! Report against report: the same heap as a snapshot and as a Java heap dump, and how long Bactrian and tools
//! for Java take to say who holds it. `cargo xtask bench graph --against hprof-analyzer,hprof-slurp`.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::process::Command;

use bactrian_snapshot::{
    BlockId, Columns, GROUP_BLOCKS, GroupBuilder, Info, Module, ModuleId, Pointer, Root, RootKind,
    Tables, Writer, tag,
};

use super::file::Opened;
use crate::measure::{Run, Usage, measure};
use xtask::Outcome;
use xtask::command::succeed;

/// The questions for Bactrian, one after the other with an index; together they correspond to hprof-analyzer's
/// single report.
const QUESTIONS: [&str; 4] = ["dominators", "types", "summary", "suspects"];
/// What the others do not report: what each root reaches, and its fair share.
const BESIDES: &str = "roots";

/// Readers of Java heap dumps, and the files that they write. They are expected in `PATH`: `cargo install
/// --locked`.
pub const READERS: [Reader; 2] = [
    Reader { name: "hprof-analyzer", report: Some("report.html") },
    Reader { name: "hprof-slurp", report: None },
];

/// A tool that reads Java heap dumps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reader {
    pub name: &'static str,
    report: Option<&'static str>,
}

/// Writes a graph as a snapshot: nodes with pointers become blocks of an ordinary tag, the others become
/// strings.
pub fn write_heap(graph: &Path, heap: &Path) -> Outcome {
    let opened = Opened::open(graph)?;
    write(&opened, heap).map_err(|error| format!("{}: {error}", heap.display()))
}

fn write(
    Opened { graph, weights, root, .. }: &Opened,
    heap: &Path,
) -> Result<(), Box<dyn std::error::Error>> {
    let blocks = *root;
    if blocks as usize + 1 != graph.nodes() {
        return Err("the root is not the last node".into());
    }
    let columns = Columns::default();
    let out = BufWriter::with_capacity(1 << 20, File::create(heap)?);
    let info = Info { program: "generated".to_owned(), ..Info::default() };
    let mut writer = Writer::new(out, columns, blocks, &info)?;
    let mut group = GroupBuilder::new(columns)?;
    let mut address = 0x7f00_0000_0008;
    for node in 0..blocks {
        if node % GROUP_BLOCKS == 0 {
            if node > 0 {
                writer.group(group.finish()?)?;
            }
            group.start(BlockId(node));
        }
        let targets = graph.successors(node);
        let words = u64::from(weights[node as usize]).saturating_sub(1).max(targets.len() as u64);
        if targets.is_empty() {
            group.block(address, words.max(1), tag::STRING);
            group.string(0, b"");
        } else {
            group.block(address, words, (node % 5) as u8);
            targets.iter().for_each(|&target| group.pointer(BlockId(target)));
            (targets.len() as u64..words).for_each(|_| group.immediate(0));
        }
        address += 8 * (words.max(1) + 1);
    }
    if blocks > 0 {
        writer.group(group.finish()?)?;
    }
    let mut tables = Tables::default();
    for (number, &target) in (0..).zip(graph.successors(*root)) {
        tables.modules.push(Module::named(tables.names.add(&format!("Module{number}"))));
        let kind = RootKind::Global { module: ModuleId(number), field: 0 };
        tables.roots.push(Root { kind, target: Pointer::to(BlockId(target)) });
    }
    writer.tables(&tables)?;
    writer.finish()?;
    Ok(())
}

/// Measures everything on the graph in a file and returns a table.
pub fn table(
    bench: &Path,
    bactrian: &Path,
    folder: &Path,
    graph: &Path,
    (readers, rounds): (&[Reader], usize),
) -> Result<String, String> {
    let [heap, dump] = ["report.heap", "report.hprof"].map(|name| folder.join(name));
    let made = make(bench, bactrian, graph, &heap, &dump)
        .and_then(|exporting| rows(bactrian, folder, &heap, &dump, exporting, (readers, rounds)));
    for file in [&heap, &dump, &folder.join("report.html")] {
        // They may not exist.
        let _ = fs::remove_file(file);
    }
    let _ = fs::remove_dir_all(cache(folder));
    made
}

/// The folder of our indexes.
fn cache(folder: &Path) -> PathBuf {
    folder.join("report-cache")
}

/// Makes the snapshot and the heap dump; returns the cost of the export.
fn make(
    bench: &Path,
    bactrian: &Path,
    graph: &Path,
    heap: &Path,
    dump: &Path,
) -> Result<Usage, String> {
    eprintln!("writing the snapshot and the heap dump");
    succeed(Command::new(bench).args(["graph-heap"]).arg(graph).arg(heap))?;
    let words = ["heap", "export", "--no-index", "--to", "hprof", "-o"].map(OsString::from);
    let files = [dump, heap].map(OsString::from);
    measure(&Run::new(bactrian.to_path_buf(), words.into_iter().chain(files).collect()))
}

fn rows(
    bactrian: &Path,
    folder: &Path,
    heap: &Path,
    dump: &Path,
    exporting: Usage,
    (readers, rounds): (&[Reader], usize),
) -> Result<String, String> {
    let size = |file: &Path| file.metadata().map_or(0, |metadata| metadata.len()) as f64 / 1e6;
    let mut text = format!(
        "| the same heap, as a snapshot ({:.0} MB) and as HPROF ({:.0} MB) | CPU | memory | times our report | \
         with roots |\n|---|--:|--:|--:|--:|\n",
        size(heap),
        size(dump)
    );
    let asked: Vec<&str> = QUESTIONS.into_iter().chain([BESIDES]).collect();
    let mut ours: Vec<Option<Usage>> = vec![None; asked.len()];
    let mut theirs: Vec<Result<Option<Usage>, String>> = vec![Ok(None); readers.len()];
    // Interleaved, so that the load of the machine affects all alike.
    for round in 1..=rounds {
        eprintln!("round {round} of {rounds}");
        // Each round begins without an index, if there is one.
        let _ = fs::remove_dir_all(cache(folder));
        for (question, best) in asked.iter().zip(&mut ours) {
            let words = ["heap".into(), question.into(), heap.into()];
            let mut run = Run::new(bactrian.to_path_buf(), words.to_vec());
            run.environment.push(("XDG_CACHE_HOME".into(), cache(folder).into()));
            let usage = measure(&run)?;
            *best = Some(best.map_or(usage, |best| better(best, usage)));
        }
        for (reader, best) in readers.iter().zip(&mut theirs) {
            let report = reader.report.map(|name| folder.join(name).into_os_string());
            let words = [OsString::from(dump)].into_iter().chain(report).collect();
            let usage = measure(&Run::new(PathBuf::from(reader.name), words));
            *best = match (usage, best.clone()) {
                (Ok(usage), Ok(best)) => Ok(Some(best.map_or(usage, |best| better(best, usage)))),
                (Err(why), _) | (_, Err(why)) => Err(why),
            };
        }
    }
    let mut sum = Usage { cpu_seconds: 0.0, max_rss_bytes: 0 };
    let mut report = sum;
    for (question, usage) in asked.iter().zip(ours.into_iter().flatten()) {
        text.push_str(&row(&format!("bactrian heap {question}"), usage, &[]));
        sum.cpu_seconds += usage.cpu_seconds;
        sum.max_rss_bytes = sum.max_rss_bytes.max(usage.max_rss_bytes);
        if *question != BESIDES {
            report = sum;
        }
    }
    text.push_str(&row("our report: all but roots", report, &[]));
    text.push_str(&row("with roots", sum, &[]));
    for (reader, usage) in readers.iter().zip(theirs) {
        match usage {
            Ok(Some(usage)) => text.push_str(&row(reader.name, usage, &[report, sum])),
            Ok(None) => {}
            Err(why) => text.push_str(&format!("| {} | {why} | | | |\n", reader.name)),
        }
    }
    text.push_str(&row("bactrian heap export --to hprof", exporting, &[]));
    Ok(text)
}

/// The least time of two runs, and the greatest memory.
fn better(one: Usage, other: Usage) -> Usage {
    Usage {
        cpu_seconds: one.cpu_seconds.min(other.cpu_seconds),
        max_rss_bytes: one.max_rss_bytes.max(other.max_rss_bytes),
    }
}

fn row(name: &str, usage: Usage, ours: &[Usage]) -> String {
    let times = ours.iter().map(|ours| usage.cpu_seconds / ours.cpu_seconds.max(1e-3));
    let times: Vec<String> = times.map(|times| format!("{times:.1}")).collect();
    let times = if ours.is_empty() { " | ".to_owned() } else { times.join(" | ") };
    let megabytes = usage.max_rss_bytes as f64 / 1e6;
    format!("| {name} | {:.2} s | {megabytes:.0} MB | {times} |\n", usage.cpu_seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn others_are_compared_with_all_our_answers() {
        let usage = |cpu_seconds| Usage { cpu_seconds, max_rss_bytes: 2_000_000 };
        assert_eq!(row("x", usage(1.5), &[]), "| x | 1.50 s | 2 MB |  |  |\n");
        let ours = [usage(1.5), usage(2.0)];
        assert_eq!(row("x", usage(3.0), &ours), "| x | 3.00 s | 2 MB | 2.0 | 1.5 |\n");
    }
}
