//! Who holds the memory of real programs: `bactrian heap` on snapshots of `programs/heap_*.ml`, compiled by
//! OCaml 4 and 5.

mod finalisers;
mod suspects;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use bactrian_fixtures::{Compiler, Variant, program};
use serde_json::Value;
use tempfile::TempDir;

/// A snapshot at a program's exit.
pub struct Snapshot {
    folder: TempDir,
}

impl Snapshot {
    /// Runs a program to its end with a snapshot at the exit.
    pub fn of(name: &str, compiler: Compiler, options: &[&str]) -> Snapshot {
        let program = program(name, compiler, Variant::Plain);
        let folder = tempfile::tempdir().expect("a folder");
        let mut command = Command::new(env!("CARGO_BIN_EXE_bactrian"));
        command.args(["record", "--quiet", "--snapshots", "exit", "-o", "run"]).args(options);
        command.arg("--").arg(program).current_dir(folder.path());
        let output = command.stdin(Stdio::null()).output().expect("bactrian starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Snapshot { folder }
    }

    /// The file.
    pub fn path(&self) -> PathBuf {
        self.folder.path().join("run.1.heap")
    }

    /// The output and exit status of a verb of `bactrian heap`.
    pub fn ask(&self, verb: &str, arguments: &[&str]) -> (String, i32) {
        ask(verb, &[&self.path()], arguments)
    }

    /// The result as JSON.
    pub fn json(&self, verb: &str, arguments: &[&str]) -> Value {
        let (text, _) = self.ask(verb, &[arguments, &["--json"]].concat());
        let mut whole: Value = serde_json::from_str(&text).expect("JSON");
        whole["result"].take()
    }
}

/// The output and exit status of a verb of `bactrian heap` for files.
pub fn ask(verb: &str, files: &[&Path], arguments: &[&str]) -> (String, i32) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bactrian"));
    command.args(["heap", verb]).args(files).args(arguments).stdin(Stdio::null());
    command.env("XDG_CACHE_HOME", bactrian_fixtures::scratch("cache"));
    let output = command.output().expect("bactrian starts");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(errors, "", "{verb} {arguments:?}");
    (String::from_utf8(output.stdout).expect("UTF-8"), output.status.code().expect("a status"))
}
