//! The programs whose heaps are known, and a running one at the moment that it announces.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use bactrian_fixtures::{Compiler, Variant, program, whole_table};

/// Longer than anything here takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A compiler and a kind of code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Native4,
    Bytecode4,
    Native5,
    Bytecode5,
}

/// Kinds that differ in more than the contents of their stacks and their list of modules.
pub const KINDS: [Kind; 3] = [Kind::Native4, Kind::Bytecode4, Kind::Native5];

/// Programs for every compiler.
const EVERYWHERE: [&str; 13] = [
    "heap_lists",
    "heap_trees",
    "heap_hashtables",
    "heap_closures",
    "heap_objects",
    "heap_lazies",
    "heap_exceptions",
    "heap_bigarrays",
    "heap_weak",
    "heap_strings",
    "heap_threads",
    "heap_finalisers",
    "heap_stack",
];
/// Programs that only OCaml 5 supports.
const ONLY_IN_5: [&str; 2] = ["heap_continuations", "heap_domains"];
/// The programs whose closures, exceptions, stacks, threads, domains or finalisers depend on the kind of code
/// or on how memory is read, and a plain one. The heaps of the others look the same everywhere.
const TELLING: [&str; 8] = [
    "heap_lists",
    "heap_closures",
    "heap_exceptions",
    "heap_threads",
    "heap_finalisers",
    "heap_stack",
    "heap_continuations",
    "heap_domains",
];

/// The programs with much on their stacks: everything else in bytecode of OCaml 5 is as in native code, or as
/// in bytecode of OCaml 4.
const ON_STACKS: [&str; 4] = ["heap_threads", "heap_stack", "heap_continuations", "heap_domains"];

/// Whether a program is tested in those ways for which the quick set has only the telling programs.
pub fn is_telling(name: &str) -> bool {
    TELLING.contains(&name) || whole_table()
}

impl Kind {
    /// The programs that it supports, within the current set.
    pub fn fixtures(self) -> Vec<&'static str> {
        let more = if self.is_of_5() { &ONLY_IN_5[..] } else { &[] };
        let all = EVERYWHERE.iter().chain(more).copied();
        let is_in_set = |name: &&str| match self {
            Kind::Native4 | Kind::Native5 => true,
            Kind::Bytecode4 => is_telling(name),
            Kind::Bytecode5 => ON_STACKS.contains(name) || whole_table(),
        };
        all.filter(is_in_set).collect()
    }

    pub fn is_of_5(self) -> bool {
        matches!(self, Kind::Native5 | Kind::Bytecode5)
    }

    pub fn program(self, name: &str) -> PathBuf {
        let (compiler, variant) = match self {
            Kind::Native4 => (Compiler::OCaml4, Variant::Plain),
            Kind::Bytecode4 => (Compiler::OCaml4, Variant::Bytecode),
            Kind::Native5 => (Compiler::OCaml5, Variant::Plain),
            Kind::Bytecode5 => (Compiler::OCaml5, Variant::Bytecode),
        };
        program(name, compiler, variant)
    }
}

/// What a program says about its heap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Live {
    pub blocks: u64,
    pub words: u64,
}

impl Live {
    /// Parses `live BLOCKS WORDS`.
    pub fn parse(line: &str) -> Option<Live> {
        let mut words = line.trim_end().split(' ');
        if words.next() != Some("live") {
            return None;
        }
        let mut number = || words.next()?.parse().ok();
        Some(Live { blocks: number()?, words: number()? })
    }
}

/// A program that has announced the contents of its heap and waits for input.
pub struct Waiting {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    /// What it announced.
    pub live: Live,
    /// The process id of the program itself.
    pub process: u32,
}

impl Waiting {
    /// Starts a program plainly.
    pub fn plain(program: &Path) -> Result<Waiting, String> {
        Waiting::start(&mut Command::new(program))
    }

    /// Starts a program under `bactrian record` with these options; snapshots are named after `output`.
    pub fn recorded(program: &Path, options: &[&str], output: &Path) -> Result<Waiting, String> {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bactrian"));
        command.arg("record").args(options).arg("-o").arg(output).arg("--").arg(program);
        let mut waiting = Waiting::start(&mut command)?;
        waiting.process = only_child(waiting.child.id())?;
        Ok(waiting)
    }

    /// Starts a command that becomes a program that announces its heap.
    pub fn start(command: &mut Command) -> Result<Waiting, String> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| format!("{command:?}: {error}"))?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let process = child.id();
        let output = BufReader::new(output.expect("a pipe"));
        let live = Live { blocks: 0, words: 0 };
        let mut waiting = Waiting { child, input, output, live, process };
        loop {
            let line = waiting.line();
            match Live::parse(&line) {
                Some(live) => waiting.live = live,
                None if line == "ready\n" => return Ok(waiting),
                None => return Err(format!("it says {line:?}: {}", waiting.end()?)),
            }
        }
    }

    /// The file that its process executes: in bytecode, the runtime.
    pub fn executable(&self) -> PathBuf {
        fs::read_link(format!("/proc/{}/exe", self.process)).expect("a process")
    }

    /// The next line that it prints; empty at the end.
    pub fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("text of the program");
        line
    }

    /// Writes to its input.
    pub fn tell(&mut self, text: &str) {
        let input = self.input.as_mut().expect("it is not ended");
        input.write_all(text.as_bytes()).expect("the program reads");
        input.flush().expect("the program reads");
    }

    /// Lets it run to its end, and returns its standard error; an unsuccessful exit is an error.
    pub fn end(mut self) -> Result<String, String> {
        drop(self.input.take());
        let mut errors = String::new();
        let mut pipe = self.child.stderr.take().expect("a pipe");
        let reader = thread::spawn(move || pipe.read_to_string(&mut errors).map(|_| errors));
        let mut rest = String::new();
        self.output.read_to_string(&mut rest).expect("text of the program");
        let start = Instant::now();
        let status = loop {
            match self.child.try_wait().expect("our child") {
                Some(status) => break status,
                None if start.elapsed() > PATIENCE => {
                    self.child.kill().expect("our child");
                    return Err("it does not end".to_owned());
                }
                None => thread::sleep(Duration::from_millis(2)),
            }
        };
        let errors = reader.join().expect("a reader").expect("text");
        match status.success() {
            true => Ok(errors),
            false => Err(format!("{status}: {errors}")),
        }
    }
}

/// The process that another one started.
pub fn only_child(parent: u32) -> Result<u32, String> {
    let path = format!("/proc/{parent}/task/{parent}/children");
    let children = fs::read_to_string(path).expect("a kernel that lists children");
    let first = children.split_whitespace().next().and_then(|child| child.parse().ok());
    first.ok_or_else(|| format!("{parent} has no child"))
}

/// Waits until a condition holds.
pub fn until(what: &str, mut is_so: impl FnMut() -> bool) -> Result<(), String> {
    let start = Instant::now();
    while !is_so() {
        if start.elapsed() > PATIENCE {
            return Err(format!("{what}: not in {PATIENCE:?}"));
        }
        thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

/// Runs a check on every program of a kind and reports all failures, not only the first.
pub fn each(kind: Kind, check: impl Fn(Kind, &str) -> Result<(), String>) {
    let mut failures = Vec::new();
    for name in kind.fixtures() {
        if let Err(reason) = check(kind, name) {
            failures.push(format!("{kind:?} {name}: {reason}"));
        }
    }
    assert!(failures.is_empty(), "\n{}", failures.join("\n"));
}
