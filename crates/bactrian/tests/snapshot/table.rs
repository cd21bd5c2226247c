//! Every program with every compiler in every way: the snapshot contains exactly what the runtime counts.
//!
//! The quick set omits, for bytecode and core files, programs that look the same as in running native code
//! (see [`is_telling`]); and at major collections, of which each run has dozens, programs on which a
//! collection has no other effect than on a list.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use bactrian_fixtures::whole_table;

use crate::heaps::{Heap, heaps_of, snapshot};
use crate::programs::{Kind, Live, Waiting, each, is_telling, until};
use crate::runs::signal;

/// Checks that a snapshot equals what the program announced. OCaml 5 counts two more words for each large
/// block, the header that its allocator adds.
pub fn check(kind: Kind, live: Live, path: &Path) -> Result<(), String> {
    let heap = Heap::read(path)?;
    let extra = if kind.is_of_5() { 2 * heap.large_blocks } else { 0 };
    let found = Live { blocks: heap.major.blocks, words: heap.major.words + extra };
    match found == live {
        true => Ok(()),
        false => {
            Err(format!("the runtime counts {live:?}, the snapshot holds {found:?}: {heap:?}"))
        }
    }
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder")
}

fn by_signal(kind: Kind, name: &str) -> Result<(), String> {
    let folder = folder();
    let output = folder.path().join("run");
    let options = ["--snapshots", "signal", "--no-trace"];
    let mut program = Waiting::recorded(&kind.program(name), &options, &output)?;
    signal("USR2", &program.process.to_string());
    if name == "heap_domains" {
        // Several domains that all wait: the snapshot is taken when one of them continues.
        program.tell("\n");
    }
    let first = folder.path().join("run.1.heap");
    until("a snapshot after the signal", || first.exists())?;
    let live = program.live;
    program.end()?;
    check(kind, live, &first)
}

fn at_exit(kind: Kind, name: &str) -> Result<(), String> {
    let folder = folder();
    let output = folder.path().join("run");
    let options = ["--snapshots", "exit", "--no-trace"];
    let program = Waiting::recorded(&kind.program(name), &options, &output)?;
    let live = program.live;
    let said = program.end()?;
    let first = folder.path().join("run.1.heap");
    check(kind, live, &first).map_err(|reason| format!("{reason}\n{said}"))
}

/// The programs that the quick set collects: those with something that a collection clears, calls, moves or
/// scans specially, and a plain one.
const COLLECTED: [&str; 8] = [
    "heap_lists",
    "heap_bigarrays",
    "heap_weak",
    "heap_threads",
    "heap_finalisers",
    "heap_stack",
    "heap_continuations",
    "heap_domains",
];

/// For a collection, bytecode differs from native code in its stacks.
const COLLECTED_IN_BYTECODE: [&str; 2] = ["heap_stack", "heap_threads"];

/// With a trace, at major collections.
fn at_major_collections(kind: Kind, name: &str) -> Result<(), String> {
    let is_bytecode = matches!(kind, Kind::Bytecode4 | Kind::Bytecode5);
    let quick = if is_bytecode { &COLLECTED_IN_BYTECODE[..] } else { &COLLECTED };
    if !quick.contains(&name) && !whole_table() {
        return Ok(());
    }
    let folder = folder();
    let output = folder.path().join("run.ctf");
    let options = ["--snapshots", "major", "--snapshot-limits", "copies=16"];
    let mut program = Waiting::recorded(&kind.program(name), &options, &output)?;
    let before = heaps_of(&output).last().map_or(0, |(number, _)| *number);
    program.tell("m");
    let line = program.line();
    if line != "again\n" {
        return Err(format!("it says {line:?}: {}", program.end()?));
    }
    let live = program.live;
    let said = program.end()?;
    // Snapshots after the ones that existed when the idle program was told to collect again: then it made
    // twelve collections.
    let heaps = heaps_of(&output);
    match heaps.last() {
        Some((number, last)) if *number > before + 2 => check(kind, live, last),
        _ => Err(format!("there are {heaps:?}, {before} before: {said}")),
    }
}

fn by_attaching(kind: Kind, name: &str) -> Result<(), String> {
    let folder = folder();
    let path = folder.path().join("attached.heap");
    let program = Waiting::plain(&kind.program(name))?;
    snapshot(&[&program.process.to_string()], &path)?;
    // A second time: the first has left no traces.
    let again = folder.path().join("again.heap");
    snapshot(&[&program.process.to_string()], &again)?;
    let live = program.live;
    program.end()?;
    check(kind, live, &path)?;
    check(kind, live, &again)
}

fn of_a_core_of_gdb(kind: Kind, name: &str) -> Result<(), String> {
    if !is_telling(name) {
        return Ok(());
    }
    let folder = folder();
    let executable = kind.program(name);
    let program = Waiting::plain(&executable)?;
    let executable = program.executable();
    let prefix = folder.path().join("core");
    let process = program.process.to_string();
    let mut gcore = Command::new("gcore");
    gcore.arg("-o").arg(&prefix).arg(&process).stdin(Stdio::null());
    let output = gcore.output().expect("gcore: scripts/setup installs gdb");
    let live = program.live;
    program.end()?;
    let core = folder.path().join(format!("core.{process}"));
    if !core.exists() {
        return Err(format!("gcore: {}", String::from_utf8_lossy(&output.stderr)));
    }
    of_a_core(kind, &core, &executable, live)
}

fn of_a_core(kind: Kind, core: &Path, executable: &Path, live: Live) -> Result<(), String> {
    let path = core.with_extension("heap");
    let executable = executable.to_str().expect("paths of tests are UTF-8");
    let core = core.to_str().expect("paths of tests are UTF-8");
    snapshot(&["--core", core, "--exe", executable], &path)?;
    check(kind, live, &path)
}

/// Whether the kernel writes core files into the program's directory.
fn kernel_writes_cores() -> bool {
    let pattern = fs::read_to_string("/proc/sys/kernel/core_pattern").unwrap_or_default();
    let pattern = pattern.trim_end();
    let is_plain = pattern == "core" || pattern == "core.%p";
    if !is_plain {
        let what = format!("NOT TESTED: cores of the kernel: they go to {pattern:?} here\n");
        // Bypasses the test's output capture, so that nobody thinks that it ran.
        std::io::stderr().write_all(what.as_bytes()).ok();
    }
    is_plain
}

fn of_a_core_of_the_kernel(kind: Kind, name: &str) -> Result<(), String> {
    if !is_telling(name) {
        return Ok(());
    }
    let folder = folder();
    let executable = kind.program(name);
    let mut shell = Command::new("sh");
    shell.args(["-c", "ulimit -c unlimited && exec \"$0\""]).arg(&executable);
    let program = Waiting::start(shell.current_dir(folder.path()))?;
    let (live, executable) = (program.live, program.executable());
    signal("ABRT", &program.process.to_string());
    // It ends by the signal.
    program.end().expect_err("it was to be killed");
    let cores = fs::read_dir(folder.path()).expect("the folder").flatten();
    let core = cores.map(|entry| entry.path()).next().ok_or("there is no core")?;
    of_a_core(kind, &core, &executable, live)
}

/// From inside and from outside; other ways differ in the moment, not in what they read.
const QUICK_OF_BYTECODE5: [&str; 2] = ["exit_bytecode5", "attach_bytecode5"];

macro_rules! table {
    ($($native4:ident $bytecode4:ident $native5:ident $bytecode5:ident: $way:ident;)*) => {$(
        #[test]
        fn $native4() {
            each(Kind::Native4, $way);
        }

        #[test]
        fn $bytecode4() {
            each(Kind::Bytecode4, $way);
        }

        #[test]
        fn $native5() {
            each(Kind::Native5, $way);
        }

        #[test]
        fn $bytecode5() {
            if whole_table() || QUICK_OF_BYTECODE5.contains(&stringify!($bytecode5)) {
                each(Kind::Bytecode5, $way);
            }
        }
    )*};
}

table! {
    signal_native4 signal_bytecode4 signal_native5 signal_bytecode5: by_signal;
    exit_native4 exit_bytecode4 exit_native5 exit_bytecode5: at_exit;
    major_native4 major_bytecode4 major_native5 major_bytecode5: at_major_collections;
    attach_native4 attach_bytecode4 attach_native5 attach_bytecode5: by_attaching;
    gcore_native4 gcore_bytecode4 gcore_native5 gcore_bytecode5: of_a_core_of_gdb;
}

#[test]
fn kernel_core_native4() {
    if kernel_writes_cores() {
        each(Kind::Native4, of_a_core_of_the_kernel);
    }
}

#[test]
fn kernel_core_bytecode4() {
    if kernel_writes_cores() {
        each(Kind::Bytecode4, of_a_core_of_the_kernel);
    }
}

#[test]
fn kernel_core_native5() {
    if kernel_writes_cores() {
        each(Kind::Native5, of_a_core_of_the_kernel);
    }
}
