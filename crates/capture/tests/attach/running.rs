//! Programs that run while tests examine them.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use bactrian_capture::heap::target::{Files, Target};
use bactrian_capture::memory::{Memory, ProcessMemory};
use bactrian_fixtures::{Compiler, Recipe, Variant};
use tempfile::TempDir;

/// A running program.
pub struct Running {
    child: Child,
    /// The process id of the program, which another may have started for us.
    pid: u32,
    output: BufReader<ChildStdout>,
    /// The directory where a file appears that ends the program.
    stop: TempDir,
    /// The first instructions of functions of its runtime.
    places: Vec<u64>,
}

impl Running {
    /// Compiles and starts a program, and waits until it is ready.
    pub fn start(name: &str, source: &str, compiler: Compiler, variant: Variant) -> Running {
        Running::start_in(name, source, compiler, variant, Path::new("."))
    }

    /// The same in a directory.
    pub fn start_in(
        name: &str,
        source: &str,
        compiler: Compiler,
        variant: Variant,
        folder: &Path,
    ) -> Running {
        let program = compile(name, source, compiler, variant);
        Running::start_by(Command::new(&program).current_dir(folder), &program)
    }

    /// Starts a compiled program through a command, which may be another program that starts it. The
    /// program's argument is appended.
    pub fn start_by(command: &mut Command, program: &Path) -> Running {
        let stop = tempfile::tempdir().expect("a folder");
        let mut child = command
            .arg(stop.path().join("stop"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts");
        let mut output = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut line = String::new();
        output.read_line(&mut line).expect("it says so");
        assert_eq!(line, "ready\n");
        let pid = descendants(child.id()).into_iter().find(|&pid| is_program(pid, program));
        let pid = pid.expect("it runs");
        let memory = ProcessMemory::open(pid).expect("its memory");
        let target = Target::find(&memory, &Files::of_process(pid)).expect("OCaml");
        let names = [
            "caml_garbage_collection",
            "caml_alloc_small_dispatch",
            "caml_process_pending_actions",
            "caml_try_run_on_all_domains_with_spin_work",
        ];
        let places: Vec<_> = names.iter().filter_map(|name| target.global(name)).collect();
        assert!(places.len() >= 2);
        Running { child, pid, output, stop, places }
    }

    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// The code in which jumps are set.
    pub fn code(&self) -> Vec<u64> {
        let memory = ProcessMemory::open(self.pid()).expect("its memory");
        self.places.iter().map(|&place| memory.word(place).expect("code")).collect()
    }

    /// The number of zombies among its children that are copies made by us.
    pub fn zombies(&self) -> usize {
        // A copy has no exit signal, which is a field near the end.
        let is_copy = |fields: &[String]| fields.get(35).is_some_and(|field| field == "0");
        let children = processes().into_iter().filter(|(_, parent, _)| *parent == self.pid());
        children.filter(|(.., fields)| is_copy(fields)).count()
    }

    /// The state of its main thread, as one letter and a word.
    pub fn state(&self) -> String {
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid())).expect("there");
        let state = status.lines().find_map(|line| line.strip_prefix("State:"));
        state.expect("a state").trim().to_owned()
    }

    /// Asserts that it has not ended.
    pub fn is_there(&mut self) {
        let ended = self.child.try_wait().expect("a child");
        assert!(ended.is_none(), "it ended: {ended:?}");
    }

    /// Ends it by a signal that dumps core.
    pub fn abort(&mut self) {
        let status = Command::new("kill").arg("-ABRT").arg(self.pid().to_string()).status();
        assert!(status.expect("kill").success());
        self.child.wait().expect("a child");
    }

    /// Sends it a line; returns the line that it answers.
    #[allow(dead_code, reason = "not every test speaks with its programs")]
    pub fn ask(&mut self, line: &str) -> String {
        let input = self.child.stdin.as_mut().expect("a pipe");
        writeln!(input, "{line}").expect("it listens");
        let mut answer = String::new();
        self.output.read_line(&mut answer).expect("it answers");
        answer.trim().to_owned()
    }

    /// Lets it end; returns its output and its exit status.
    pub fn finish(mut self) -> (String, i32) {
        fs::write(self.stop.path().join("stop"), "").expect("room");
        drop(self.child.stdin.take());
        let mut said = String::new();
        self.output.read_to_string(&mut said).expect("it speaks");
        let status = self.child.wait().expect("a child");
        (said, status.code().unwrap_or(-1))
    }
}

/// All processes: id, parent, and the fields of its stat file from the state on.
fn processes() -> Vec<(u32, u32, Vec<String>)> {
    let folder = fs::read_dir("/proc").expect("/proc").flatten();
    let look = |entry: fs::DirEntry| {
        let pid = entry.file_name().to_str()?.parse().ok()?;
        let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
        let fields: Vec<_> = stat.rsplit_once(") ")?.1.split(' ').map(str::to_owned).collect();
        Some((pid, fields.get(1)?.parse().ok()?, fields))
    };
    folder.filter_map(look).collect()
}

/// A process and its descendants.
pub fn descendants(pid: u32) -> Vec<u32> {
    let all = processes();
    let mut found = vec![pid];
    let mut next = 0;
    while let Some(&parent) = found.get(next) {
        found.extend(all.iter().filter(|process| process.1 == parent).map(|process| process.0));
        next += 1;
    }
    found
}

/// Whether a process runs a program.
fn is_program(pid: u32, program: &Path) -> bool {
    let mapped = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let runs = fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|file| file == program);
    // Bytecode is run by another executable.
    runs || mapped.split('\0').take(2).any(|word| Path::new(word) == program)
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Compiles a program.
pub fn compile(name: &str, source: &str, compiler: Compiler, variant: Variant) -> PathBuf {
    let file = format!("{name}.ml");
    let mut recipe = Recipe::new(format!("{name}-{compiler:?}-{variant:?}")).file(&file, source);
    let mut files = format!("-I +unix -I +threads {}", variant.library("unix"));
    if source.contains("Thread.") {
        files += &format!(" {}", variant.library("threads"));
    }
    if source.contains("external") {
        recipe = recipe.file("stubs.c", crate::programs::C);
        files += " stubs.c";
    }
    let files = format!("{files} {file}");
    variant.link(recipe, compiler, &files, "program").build().join("program")
}
