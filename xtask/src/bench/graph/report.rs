//! Report against report: the same heap as a snapshot and as Java's heap dump, and what Bactrian and tools for Java take
//! to say who holds it. `cargo xtask bench graph --against hprof-analyzer,hprof-slurp`.

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
use crate::Outcome;
use crate::bench::measure::{Run, Usage, measure};
use crate::command::succeed;

/// What Bactrian is asked, which together is what the others tell in one report.
const QUESTIONS: [&str; 4] = ["summary", "roots", "types", "dominators"];

/// Who reads Java's heap dumps, with the arguments that come before and after the file.
pub const READERS: [Reader; 2] = [
    Reader { name: "hprof-analyzer", before: &[], after: &["report.html"] },
    Reader { name: "hprof-slurp", before: &["-i"], after: &[] },
];

/// A tool that reads Java's heap dumps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reader {
    pub name: &'static str,
    before: &'static [&'static str],
    after: &'static [&'static str],
}

/// Writes a graph as a snapshot: what points to something is a block of ordinary tag, what does not is a string.
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
        tables.modules.push(Module { name: tables.names.add(&format!("Module{number}")) });
        let kind = RootKind::Global { module: ModuleId(number), field: 0 };
        tables.roots.push(Root { kind, target: Pointer::to(BlockId(target)) });
    }
    writer.tables(&tables)?;
    writer.finish()?;
    Ok(())
}

/// Measures all on the graph in a file, as a table.
pub fn table(
    xtask: &Path,
    bactrian: &Path,
    folder: &Path,
    graph: &Path,
    readers: &[Reader],
) -> Result<String, String> {
    let [heap, dump] = ["report.heap", "report.hprof"].map(|name| folder.join(name));
    let made = make(xtask, bactrian, graph, &heap, &dump)
        .and_then(|exporting| rows(bactrian, folder, &heap, &dump, exporting, readers));
    for file in [&heap, &dump, &folder.join("report.heap.index"), &folder.join("report.html")] {
        // They may not be there.
        let _ = fs::remove_file(file);
    }
    made
}

/// Makes the snapshot and the heap dump; gives what exporting takes.
fn make(
    xtask: &Path,
    bactrian: &Path,
    graph: &Path,
    heap: &Path,
    dump: &Path,
) -> Result<Usage, String> {
    eprintln!("writing the snapshot and the heap dump");
    succeed(Command::new(xtask).args(["bench", "graph-heap"]).arg(graph).arg(heap))?;
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
    readers: &[Reader],
) -> Result<String, String> {
    let size = |file: &Path| file.metadata().map_or(0, |metadata| metadata.len()) as f64 / 1e6;
    let mut text = format!(
        "| the same heap, as a snapshot ({:.0} MB) and as HPROF ({:.0} MB) | CPU | memory | times our CPU |\n\
         |---|--:|--:|--:|\n",
        size(heap),
        size(dump)
    );
    let mut ours = Usage { cpu_seconds: 0.0, max_rss_bytes: 0 };
    for question in QUESTIONS {
        eprintln!("bactrian heap {question}");
        let words = ["heap".into(), question.into(), heap.into()];
        let usage = measure(&Run::new(bactrian.to_path_buf(), words.to_vec()))?;
        ours.cpu_seconds += usage.cpu_seconds;
        ours.max_rss_bytes = ours.max_rss_bytes.max(usage.max_rss_bytes);
        text.push_str(&row(&format!("bactrian heap {question}"), usage, None));
    }
    text.push_str(&row("all of these", ours, None));
    for reader in readers {
        eprintln!("{}", reader.name);
        let after = reader.after.iter().map(|name| folder.join(name).into_os_string());
        let words = reader.before.iter().map(OsString::from).chain([dump.into()]).chain(after);
        match measure(&Run::new(PathBuf::from(reader.name), words.collect())) {
            Ok(usage) => text.push_str(&row(reader.name, usage, Some(ours))),
            Err(why) => text.push_str(&format!("| {} | {why} | | |\n", reader.name)),
        }
    }
    text.push_str(&row("bactrian heap export --to hprof", exporting, None));
    Ok(text)
}

fn row(name: &str, usage: Usage, ours: Option<Usage>) -> String {
    let times = ours.map_or(String::new(), |ours| {
        format!("{:.1}", usage.cpu_seconds / ours.cpu_seconds.max(1e-3))
    });
    let megabytes = usage.max_rss_bytes as f64 / 1e6;
    format!("| {name} | {:.2} s | {megabytes:.0} MB | {times} |\n", usage.cpu_seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn others_are_compared_with_all_our_answers() {
        let usage = |cpu_seconds| Usage { cpu_seconds, max_rss_bytes: 2_000_000 };
        assert_eq!(row("x", usage(1.5), None), "| x | 1.50 s | 2 MB |  |\n");
        assert_eq!(row("x", usage(3.0), Some(usage(1.5))), "| x | 3.00 s | 2 MB | 2.0 |\n");
    }
}
