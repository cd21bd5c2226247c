//! Other implementations on the same graph. Each runs twice, once only to build its graph; the difference is
//! the cost of dominators. Their results are compared with ours.

pub mod petgraph;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::measure::{Run, measure};
use xtask::command::succeed;

/// Timeout in seconds.
const PATIENCE: &str = "300";

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Other {
    Igraph,
    Petgraph,
}

/// The cost of another implementation.
#[derive(Clone, Debug, PartialEq)]
pub struct Taken {
    pub building_seconds: f64,
    pub dominators_seconds: f64,
    pub peak_bytes: u64,
}

impl Other {
    pub fn by_name(name: &str) -> Result<Other, String> {
        match name {
            "igraph" => Ok(Other::Igraph),
            "petgraph" => Ok(Other::Petgraph),
            _ => Err(format!(
                "--against {name}: there are igraph, petgraph, hprof-analyzer and hprof-slurp"
            )),
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Other::Igraph => "python-igraph",
            Other::Petgraph => "petgraph, `simple_fast`",
        }
    }

    /// Measures dominators of the graph in a file. It is an error if they differ from ours.
    pub fn measure(
        self,
        bench: &Path,
        folder: &Path,
        file: &Path,
        checksum: u64,
    ) -> Result<Taken, String> {
        let answer = folder.join("checksum");
        // The answer for another graph must not be taken for this one's.
        let _ = fs::remove_file(&answer);
        let (program, first) = match self {
            Other::Igraph => (python_with_igraph(folder)?, vec![script(folder)?]),
            Other::Petgraph => (bench.to_path_buf(), vec!["graph-petgraph".into()]),
        };
        let run = |last: Option<&Path>| {
            let words = [Path::new(PATIENCE), &program].into_iter();
            let words = words.chain(first.iter().map(PathBuf::as_path)).chain([file]).chain(last);
            let arguments = words.map(|word| word.into()).collect();
            measure(&Run::new("timeout".into(), arguments))
        };
        let building = run(None)?;
        let all = run(Some(&answer)).map_err(|why| match why.contains("status 124") {
            true => format!("no end in {PATIENCE} s"),
            false => why,
        })?;
        let found = fs::read_to_string(&answer).map_err(|error| format!("checksum: {error}"))?;
        if found.trim() != checksum.to_string() {
            return Err(format!("other dominators: {} and {checksum}", found.trim()));
        }
        Ok(Taken {
            building_seconds: building.cpu_seconds,
            dominators_seconds: all.cpu_seconds - building.cpu_seconds,
            peak_bytes: all.max_rss_bytes,
        })
    }
}

/// A checksum that for all practical purposes is equal only if the dominators are.
pub fn checksum(dominators: impl Iterator<Item = (u64, u64)>) -> u64 {
    dominators
        .fold(0, |sum, (node, dominator)| sum.wrapping_add((node + 1).wrapping_mul(dominator + 1)))
}

/// A Python environment with igraph, created on first use.
fn python_with_igraph(folder: &Path) -> Result<PathBuf, String> {
    let home = folder.join("python");
    let python = home.join("bin/python");
    if !home.join("ready").exists() {
        eprintln!("getting python-igraph");
        succeed(Command::new("python3").args(["-m", "venv"]).arg(&home))?;
        let mut pip = Command::new(&python);
        succeed(pip.args(["-m", "pip", "install", "--quiet", "igraph", "numpy"]))?;
        fs::write(home.join("ready"), "").map_err(|error| format!("python: {error}"))?;
    }
    Ok(python)
}

fn script(folder: &Path) -> Result<PathBuf, String> {
    let path = folder.join("igraph_dominators.py");
    let text = include_str!("igraph_dominators.py");
    fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(path)
}
