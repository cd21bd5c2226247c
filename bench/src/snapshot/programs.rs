//! The program whose heap is measured, and how it is started with the agent.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::Tools;
use super::ledger::Ledger;
use xtask::command::output;

const SOURCE: &str = include_str!("../../../programs/bench_formulas.ml");

/// `programs/bench_formulas.ml`, compiled.
pub struct Formulas {
    pub program: PathBuf,
    /// The version of OCaml.
    pub version: String,
}

impl Formulas {
    /// Compiles it with both compilers.
    pub fn all(folder: &Path) -> Result<Vec<Formulas>, String> {
        let five = xtask::compilers::V5_3.program("ocamlopt")?;
        let compilers = [PathBuf::from("ocamlopt.opt"), five];
        let compile = |compiler: &PathBuf| {
            let version = output(Command::new(compiler).arg("-version"))?.trim().to_owned();
            let folder = folder.join(&version);
            let context = |error| format!("{}: {error}", folder.display());
            fs::create_dir_all(&folder).map_err(context)?;
            let source = folder.join("bench_formulas.ml");
            fs::write(&source, SOURCE).map_err(context)?;
            let program = source.with_extension("");
            let mut command = Command::new(compiler);
            command.args(["-g", "-I", "+unix", "unix.cmxa"]).arg(source).arg("-o").arg(&program);
            output(&mut command)?;
            Ok(Formulas { program, version })
        };
        compilers.iter().map(compile).collect()
    }
}

/// Makes a program take snapshots without `record` as its parent; the ledger records them.
pub fn observe(command: &mut Command, when: &str, tools: &Tools) -> Result<Ledger, String> {
    let ledger = Ledger::new(&tools.folder)?;
    let mut agent = Command::new(&tools.bactrian);
    agent.args(["agent", "--no-trace", "--snapshots", when, "--output"]);
    agent.arg(tools.folder.join("run")).arg("--install").arg(&tools.folder);
    let variables = output(&mut agent)?;
    command.envs(variables.lines().filter_map(|line| line.split_once('=')));
    command.env("BACTRIAN_LEDGER", &ledger.path);
    Ok(ledger)
}
