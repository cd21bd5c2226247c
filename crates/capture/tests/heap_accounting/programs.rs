//! Programs that wait while they are looked at.

use std::collections::HashMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;

use bactrian_capture::heap::roots;
use bactrian_capture::heap::target::{Files, Target};

use bactrian_capture::memory::ProcessMemory;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compiler {
    OCaml4,
    OCaml5,
}

pub const BOTH: [Compiler; 2] = [Compiler::OCaml4, Compiler::OCaml5];

impl Compiler {
    fn ocamlopt(self) -> PathBuf {
        match self {
            Compiler::OCaml4 => "ocamlopt.opt".into(),
            Compiler::OCaml5 => repository().join(".cache/ocaml5/bin/ocamlopt"),
        }
    }
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository")
}

/// Compiles a program of `programs/`, after other sources that it needs.
pub fn compile(name: &str, compiler: Compiler, before: &[&str]) -> PathBuf {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let folder =
        Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("accounting-{name}-{compiler:?}"));
    fs::create_dir_all(&folder).expect("a folder");
    let program = folder.join(name);
    let files: Vec<_> = before.iter().chain([&name]).map(|unit| format!("{unit}.ml")).collect();
    let mut is_new = program.exists();
    for file in &files {
        let source = fs::read(repository().join("programs").join(file)).expect("a source");
        is_new &= fs::read(folder.join(file)).is_ok_and(|before| before == source);
        fs::write(folder.join(file), source).expect("room");
    }
    if is_new {
        return program;
    }
    let libraries = ["-I", "+unix", "-I", "+threads", "unix.cmxa", "threads.cmxa"];
    let mut command = Command::new(compiler.ocamlopt());
    command.arg("-g").args(libraries).args(files).args(["-o", name]);
    let output = command.current_dir(&folder).output().expect("the compiler starts");
    assert!(output.status.success(), "{compiler:?}: {}", String::from_utf8_lossy(&output.stderr));
    program
}

/// Compiles a program of `programs/` to bytecode of OCaml 4, in one file with its runtime or for one that is there.
pub fn compile_bytecode(name: &str, is_custom: bool) -> PathBuf {
    let folder =
        Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("accounting-{name}-{is_custom}"));
    fs::create_dir_all(&folder).expect("a folder");
    fs::copy(repository().join(format!("programs/{name}.ml")), folder.join(format!("{name}.ml")))
        .expect("room");
    let mut command = Command::new("ocamlc.opt");
    command
        .arg("-g")
        .args(is_custom.then_some("-custom"))
        .arg(format!("{name}.ml"))
        .args(["-o", name]);
    assert!(command.current_dir(&folder).status().expect("the compiler starts").success());
    folder.join(name)
}

/// The same program without its table of symbols.
pub fn stripped(program: &Path) -> PathBuf {
    let copy = program.with_extension("stripped");
    let status = Command::new("strip").arg(program).arg("-o").arg(&copy).status();
    assert!(status.expect("binutils are there").success());
    copy
}

/// A program that waits.
pub struct Waiting {
    child: Child,
    /// What it said of itself.
    pub said: HashMap<String, u64>,
    pub memory: ProcessMemory,
    pub target: Target,
}

impl Waiting {
    /// Starts a program, and reads `NAME NUMBER` until it says `ready`.
    pub fn start(program: &Path, arguments: &[&str]) -> Waiting {
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        let mut said = HashMap::new();
        for line in BufReader::new(child.stdout.take().expect("a pipe")).lines() {
            let line = line.expect("text");
            if line == "ready" {
                break;
            }
            // The last word is a number; of `live BLOCKS WORDS` the first two are a name.
            let (name, number) = line.rsplit_once(' ').expect("a name and a number");
            said.insert(name.to_owned(), number.parse().expect("a number"));
        }
        // It may not have come to its system call yet.
        std::thread::sleep(std::time::Duration::from_millis(100));
        let memory = ProcessMemory::open(child.id()).expect("its memory");
        let target = Target::find(&memory, &Files::of_process(child.id())).expect("OCaml");
        Waiting { child, said, memory, target }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn said(&self, name: &str) -> u64 {
        self.said[name]
    }

    /// The domain states.
    pub fn domains(&self) -> Vec<u64> {
        roots::find(&self.target, &self.memory, None).domains
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
