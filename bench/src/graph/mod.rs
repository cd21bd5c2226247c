//! How fast the algorithms of crates/graph are, alone and compared with others: `cargo xtask bench graph`.

mod file;
mod generate;
mod others;
mod phases;
mod report;
mod table;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::rounds;
use others::Other;
use phases::Measured;
use report::READERS;
use xtask::Outcome;
use xtask::command::{cargo, output, succeed};

/// Default sizes in millions of nodes.
const SIZES: &str = "1,10";

/// Entry points of the subprocesses that generate and measure, by the word after `bench graph-`.
pub fn inner(what: &str, arguments: &[String]) -> Outcome {
    match (what, arguments) {
        ("phases", [file]) => phases::run(Path::new(file)),
        ("generate", [kind, nodes, file]) => {
            let nodes = nodes.parse().map_err(|_| format!("{nodes}: not a number of nodes"))?;
            let heap = match kind.as_str() {
                "trap" => generate::trap(nodes),
                _ => generate::mixed(nodes),
            };
            heap.write(Path::new(file))
        }
        ("heap", [graph, heap]) => report::write_heap(Path::new(graph), Path::new(heap)),
        ("petgraph", [file, rest @ ..]) => {
            others::petgraph::run(Path::new(file), rest.first().map(Path::new))
        }
        _ => Err(format!("there is nothing to run by the name of {what}")),
    }
}

pub fn run(arguments: &[String]) -> Outcome {
    let (mut sizes, mut count, mut others, mut readers) = (SIZES, 1, Vec::new(), Vec::new());
    let mut arguments = arguments.iter();
    while let Some(option) = arguments.next() {
        let value = arguments.next().ok_or_else(|| format!("{option} needs a value"))?;
        match option.as_str() {
            "--sizes" => sizes = value,
            "--rounds" => count = rounds::number(value, 1)?,
            "--against" => {
                for name in value.split(',') {
                    match READERS.iter().find(|reader| reader.name == name) {
                        Some(reader) => readers.push(*reader),
                        None => others.push(Other::by_name(name)?),
                    }
                }
            }
            _ => return Err(format!("there is no option {option}")),
        }
    }
    let nodes = |size: &str| match size.parse::<f64>() {
        Ok(millions) if millions > 0.0 && millions <= 1000.0 => Ok((millions * 1e6) as usize),
        _ => Err(format!("--sizes {size}: not a number of millions of nodes")),
    };
    let sizes: Vec<usize> = sizes.split(',').map(nodes).collect::<Result<_, _>>()?;
    let mut bench = Bench { program: build(&others)?, folder: folder()?, rounds: count, others };
    let bactrian = if readers.is_empty() { None } else { Some(super::build()?.join("bactrian")) };
    for nodes in sizes {
        println!("{}", bench.size(nodes)?);
        if let Some(bactrian) = &bactrian {
            let report = bench.with_graph("mixed", nodes, |bench, graph| {
                let how = (&*readers, bench.rounds);
                report::table(&bench.program, bactrian, &bench.folder, graph, how)
            });
            println!("{}", report?);
        }
    }
    Ok(())
}

struct Bench {
    program: PathBuf,
    folder: PathBuf,
    rounds: usize,
    others: Vec<Other>,
}

impl Bench {
    /// A table for graphs of one size.
    fn size(&mut self, nodes: usize) -> Result<String, String> {
        let trap = self.with_graph("trap", nodes, |bench, file| bench.ours(file))?;
        self.with_graph("mixed", nodes, |bench, file| {
            let mixed = bench.ours(file)?;
            let mut theirs = Vec::new();
            let (program, folder) = (&bench.program, &bench.folder);
            // An implementation that failed is skipped for larger graphs.
            bench.others.retain(|other| {
                eprintln!("{} on {nodes} nodes", other.name());
                let result = other.measure(program, folder, file, mixed.checksum);
                let ended = result.is_ok();
                theirs.push((other.name(), result));
                ended
            });
            Ok(table::markdown(&mixed, &trap, &theirs))
        })
    }

    /// Generates a graph and removes it afterwards: large ones are gigabytes.
    fn with_graph<T>(
        &mut self,
        kind: &str,
        nodes: usize,
        work: impl FnOnce(&mut Bench, &Path) -> Result<T, String>,
    ) -> Result<T, String> {
        let file = self.folder.join(format!("{kind}-{nodes}"));
        eprintln!("generating the {kind} graph of {nodes} nodes");
        let mut command = Command::new(&self.program);
        command.args(["graph-generate", kind, &nodes.to_string()]).arg(&file);
        let result = succeed(&mut command).and_then(|()| work(self, &file));
        // It may not exist.
        let _ = fs::remove_file(&file);
        result
    }

    /// The best of all rounds.
    fn ours(&self, file: &Path) -> Result<Measured, String> {
        let mut best: Option<Measured> = None;
        for round in 1..=self.rounds {
            eprintln!("round {round} of {}", self.rounds);
            let mut command = Command::new(&self.program);
            let said = output(command.args(["graph-phases"]).arg(file))?;
            let measured = Measured::parse(&said)?;
            best = Some(best.map_or(measured.clone(), |best| best.or_better(&measured)));
        }
        best.ok_or_else(|| "no rounds".to_owned())
    }
}

fn folder() -> Result<PathBuf, String> {
    let folder = super::folder()?.join("graph");
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    Ok(folder)
}

/// Builds what is measured, including other implementations that are libraries.
fn build(others: &[Other]) -> Result<PathBuf, String> {
    eprintln!("building");
    let mut command = cargo("build --quiet --profile dist --package bactrian-bench");
    if others.contains(&Other::Petgraph) {
        command.args(["--features", "petgraph"]);
    }
    succeed(&mut command)?;
    Ok(super::build_folder()?.join("bactrian-bench"))
}
