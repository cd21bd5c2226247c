//! The OCaml library and programs that use it, compiled by both compilers.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

/// An OCaml compiler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compiler {
    OCaml4,
    OCaml5,
}

/// What a program is compiled to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    Native,
    /// With the stubs as a library that is loaded.
    Bytecode,
    /// With the stubs in it.
    Custom,
}

pub const BOTH: [Compiler; 2] = [Compiler::OCaml4, Compiler::OCaml5];

impl Compiler {
    fn tool(self, name: &str) -> PathBuf {
        match self {
            Compiler::OCaml4 => format!("{name}.opt").into(),
            Compiler::OCaml5 => {
                let path = repository().join(".cache/ocaml5/bin").join(name);
                assert!(path.exists(), "there is no OCaml 5 here: run cargo xtask ocaml5 first");
                path
            }
        }
    }
}

pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository")
}

pub fn cache() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("observed")
}

pub fn run(command: &mut Command) -> String {
    let output = command
        .output()
        .unwrap_or_else(|error| panic!("{command:?}: {error}: scripts/setup installs it"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {said}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// A folder with the library, built without dune.
pub fn library(compiler: Compiler) -> PathBuf {
    static MADE: Mutex<Vec<Compiler>> = Mutex::new(Vec::new());
    let mut made = MADE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let folder = cache().join(format!("library-{compiler:?}"));
    // Once in each run of the tests: make does not know what others left there.
    if !made.contains(&compiler) {
        let assign = |name: &str, path: &Path| format!("{name}={}", path.display());
        run(Command::new("make")
            .arg("-C")
            .arg(repository().join("ocaml"))
            .arg(assign("BUILD", &folder))
            .arg(assign("OCAMLC", &compiler.tool("ocamlc")))
            .arg(assign("OCAMLOPT", &compiler.tool("ocamlopt"))));
        made.push(compiler);
    }
    folder
}

/// The ppx as a program of its own.
pub fn ppx() -> PathBuf {
    static MADE: Mutex<bool> = Mutex::new(false);
    let mut made = MADE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if !*made {
        let folder = format!("BUILD={}", cache().display());
        run(Command::new("make").arg("-C").arg(repository().join("ocaml")).args([&folder, "ppx"]));
        *made = true;
    }
    cache().join("ppx/ppx_bactrian")
}

/// A program of the folder `programs`, compiled once in each run of the tests.
pub fn program(name: &str, compiler: Compiler, code: Code) -> PathBuf {
    static MADE: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());
    let library = library(compiler);
    let mut made = MADE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let folder = cache().join(format!("{name}-{compiler:?}-{code:?}"));
    if made.contains(&folder) {
        return folder.join(name);
    }
    // There may be none.
    fs::remove_dir_all(&folder).ok();
    fs::create_dir_all(&folder).expect("a folder for a program");
    let source = format!("{name}.ml");
    fs::copy(repository().join("programs").join(&source), folder.join(&source)).expect("a program");
    let (tool, archive) = match code {
        Code::Native => ("ocamlopt", "cmxa"),
        Code::Bytecode | Code::Custom => ("ocamlc", "cma"),
    };
    let mut command = Command::new(compiler.tool(tool));
    command.current_dir(&folder).args(["-g", "-I", "+unix", "-I", "+threads", "-I"]).arg(&library);
    match code {
        Code::Native => {}
        Code::Bytecode => drop(command.arg("-dllpath").arg(&library)),
        Code::Custom => drop(command.arg("-custom")),
    }
    if name == "observe_compat" {
        // What was written for Ocamlviz finds ours under its names.
        let names = "observe_names.ml";
        fs::copy(repository().join("programs").join(names), folder.join(names)).expect("a program");
        let mut first = Command::new(compiler.tool(tool));
        run(first.current_dir(&folder).arg("-I").arg(&library).args(["-c", names]));
        command.args(["-open", "Observe_names"]);
    }
    if name == "observe_ppx" {
        command.arg("-ppx").arg(format!("{} --as-ppx", ppx().display()));
    }
    command.arg(format!("unix.{archive}"));
    if name.contains("threads") {
        command.arg(format!("threads.{archive}"));
    }
    command.arg(format!("bactrian.{archive}"));
    if name == "observe_compat" {
        command.arg("observe_names.cmx");
    }
    command.arg(&source).args(["-o", name]);
    run(&mut command);
    made.push(folder.clone());
    folder.join(name)
}
