//! Fiber stacks (OCaml 5): all are in the snapshot with the sizes that the runtime allocates, and holders of
//! continuations retain their stacks.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Command, Stdio};

use bactrian_fixtures::Compiler;
use bactrian_snapshot::{FiberOwner, FiberStack, Snapshot, ThreadId};

use crate::graph::{ask, ask_plainly};
use crate::heaps::snapshot;
use crate::programs::{Kind, Waiting};

/// What the runtime requests from `malloc` for a stack of this many words: its `struct stack_info` of 7, a
/// word for aligning the handler, and the handler of 4.
const fn allocated(words: u64) -> u64 {
    8 * (7 + words + 1 + 4)
}

/// Words of a new stack: twice the red zone of 32.
const NEW: u64 = 64;

/// The size of a stack that has grown this often. Each time the number of words doubles; before 5.4 this
/// includes the alignment word.
fn grown(times: u32) -> u64 {
    let counted = u64::from(Compiler::OCaml5.version() < (5, 4));
    allocated((0..times).fold(NEW, |words, _| 2 * (words + counted)))
}

/// The stacks in heap_fibers.
const SMALL: u64 = 1_500;
const GROWN: u64 = 500;
const CACHED: u64 = 99;

fn stacks(path: &Path) -> Vec<FiberStack> {
    let file = Snapshot::open(path).expect("a snapshot");
    assert!(file.verify(&mut |_| {}).is_clean());
    assert_eq!(file.tables().gaps, [""; 0]);
    file.tables().fibers.clone().expect("known")
}

/// The number of stacks of each size whose owner satisfies `is_one`.
fn sizes(all: &[FiberStack], is_one: impl Fn(&FiberOwner) -> bool) -> BTreeMap<u64, u64> {
    let mut sizes = BTreeMap::new();
    for fiber in all.iter().filter(|fiber| is_one(&fiber.owner)) {
        *sizes.entry(fiber.bytes).or_default() += 1;
    }
    sizes
}

fn is_suspended(owner: &FiberOwner) -> bool {
    matches!(owner, FiberOwner::Continuation(_))
}

fn is_running(owner: &FiberOwner) -> bool {
    matches!(owner, FiberOwner::Thread(_))
}

fn is_cached(owner: &FiberOwner) -> bool {
    matches!(owner, FiberOwner::Cache { .. })
}

/// Checks the stacks in a snapshot of heap_fibers.
fn check(path: &Path) {
    let all = stacks(path);
    // A hundred frames of two words, and the red zone, fit into a stack that has grown twice.
    let suspended = BTreeMap::from([(grown(0), SMALL), (grown(2), GROWN)]);
    assert_eq!(sizes(&all, is_suspended), suspended);
    let mut cached = BTreeMap::from([(grown(0), CACHED)]);
    if Compiler::OCaml5.version() >= (5, 4) {
        // The former stack of a fiber that grew.
        cached.insert(grown(1), 1);
    }
    assert_eq!(sizes(&all, is_cached), cached);
    // The main stack of 4,096 words, and the one on which the program waits.
    let running = BTreeMap::from([(grown(0), 1), (allocated(4096), 1)]);
    assert_eq!(sizes(&all, is_running), running);

    let bytes = SMALL * grown(0) + GROWN * grown(2);
    let summary = ask_plainly("summary", path).expect("a summary");
    let sum = |of: &str| summary["fiber_stacks"][of].clone();
    assert_eq!(sum("suspended"), serde_json::json!({ "stacks": SMALL + GROWN, "bytes": bytes }));
    assert_eq!(sum("running")["stacks"], 2);
    let total = all.iter().map(|fiber| fiber.bytes).sum::<u64>();
    assert_eq!(sum("all"), serde_json::json!({ "stacks": all.len(), "bytes": total }));
    let text = Command::new(env!("CARGO_BIN_EXE_bactrian"))
        .args(["heap", "summary", "--no-index"])
        .arg(path)
        .output()
        .expect("it starts");
    let text = String::from_utf8(text.stdout).expect("text");
    let line = match Compiler::OCaml5.version() {
        (5, 3) => {
            "fiber stacks  2.10 MB in 2101 (2000 of suspended continuations: 2.01 MB, 2 of threads: 33.5 kB, \
             99 kept for new fibers: 60.2 kB)"
        }
        _ => {
            "fiber stacks  2.08 MB in 2102 (2000 of suspended continuations: 1.98 MB, 2 of threads: 33.5 kB, \
             100 kept for new fibers: 61.3 kB)"
        }
    };
    assert!(text.lines().any(|one| one == line), "{text}");
    let lines = summary["process"]["lines"].as_array().expect("lines");
    let line = lines.iter().find(|line| line["what"] == "fiber stacks").expect("a line of its own");
    assert_eq!(line["mapped"], total);

    // Holders of continuations retain their stacks.
    let roots = ask("roots", path, &["--depth", "3"]).expect("roots");
    let kinds = roots["all"]["rows"].as_array().expect("kinds of roots").iter();
    let modules = kinds.flat_map(|kind| kind["rows"].as_array().into_iter().flatten());
    let mut modules = modules.filter(|row| row["name"] == "Heap_fibers");
    let module = modules.next().expect("the module")["retained"].as_u64().expect("bytes");
    assert!(module > bytes && module < bytes + 200_000, "{module} of {bytes}");
    let types = ask("types", path, &[]).expect("types");
    let mut rows = types["rows"].as_array().expect("rows").iter();
    let row = rows.find(|row| row["name"] == "continuation").expect("continuations");
    let own = bytes + (SMALL + GROWN) * 24;
    assert_eq!(row["shallow"]["value"].as_f64(), Some(own as f64), "{row}");
    let suspects = ask_plainly("suspects", path).expect("suspects");
    let found = suspects["suspects"].as_array().expect("a list").iter();
    let mut found = found.filter(|one| one["kind"] == "continuation");
    let sentence = found.next().expect("a leak of continuations is told")["sentence"].clone();
    assert!(sentence.as_str().is_some_and(|it| it.contains("of it their stacks")), "{sentence}");
}

#[test]
fn stacks_of_fibers_are_in_exit_snapshots() {
    let folder = tempfile::tempdir().expect("a folder");
    let options = ["--snapshots", "exit", "--no-trace"];
    let program = Kind::Native5.program("heap_fibers");
    let waiting = Waiting::recorded(&program, &options, &folder.path().join("run"));
    waiting.expect("it starts").end().expect("it ends");
    check(&folder.path().join("run.1.heap"));
}

#[test]
fn fiber_stack_sizes_match_malloc_chunks() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("attached.heap");
    let program = Waiting::plain(&Kind::Native5.program("heap_fibers")).expect("it starts");
    let process = program.process;
    snapshot(&[&process.to_string()], &path).expect("a snapshot");
    check(&path);
    // The word before a chunk of glibc's malloc is the chunk's length, a multiple of 16, with three flags.
    let memory = File::open(format!("/proc/{process}/mem")).expect("its memory");
    for fiber in stacks(&path) {
        let mut word = [0; 8];
        memory.read_exact_at(&mut word, fiber.address - 8).expect("mapped");
        let chunk = u64::from_le_bytes(word) & !7;
        assert_eq!(chunk, (fiber.bytes + 8).next_multiple_of(16), "{fiber:?}");
    }
    program.end().expect("it ends");
}

#[test]
fn stacks_of_fibers_are_in_cores() {
    let folder = tempfile::tempdir().expect("a folder");
    let executable = Kind::Native5.program("heap_fibers");
    let program = Waiting::plain(&executable).expect("it starts");
    let (prefix, process) = (folder.path().join("core"), program.process.to_string());
    let mut gcore = Command::new("gcore");
    gcore.arg("-o").arg(&prefix).arg(&process).stdin(Stdio::null());
    gcore.output().expect("gcore: scripts/setup installs gdb");
    program.end().expect("it ends");
    let core = folder.path().join(format!("core.{process}"));
    let path = core.with_extension("heap");
    let text = |path: &Path| path.to_str().expect("paths of tests are UTF-8").to_owned();
    snapshot(&["--core", &text(&core), "--exe", &text(&executable)], &path).expect("a snapshot");
    check(&path);
}

/// Nested handlers, threads and domains.
#[test]
fn every_fiber_belongs_to_a_continuation_or_a_thread() {
    let folder = tempfile::tempdir().expect("a folder");
    let take = |name: &str| {
        let path = folder.path().join(name);
        let program = Waiting::plain(&Kind::Native5.program(name)).expect("it starts");
        snapshot(&[&program.process.to_string()], &path).expect("a snapshot");
        program.end().expect("it ends");
        let threads = Snapshot::open(&path).expect("a snapshot").tables().threads.len();
        (stacks(&path), threads)
    };
    let (all, _) = take("heap_continuations");
    let count = |is_one: fn(&FiberOwner) -> bool| sizes(&all, is_one).values().sum::<u64>();
    // A hundred continuations with one stack each, and fifty with two. The program waits inside a handler.
    assert_eq!((count(is_suspended), count(is_running)), (200, 2));
    for name in ["heap_threads", "heap_domains"] {
        let (all, threads) = take(name);
        assert!(threads > 1, "{name}");
        for thread in (0..threads as u32).map(ThreadId) {
            let of_it = sizes(&all, |owner| *owner == FiberOwner::Thread(thread));
            assert_eq!(of_it.into_values().sum::<u64>(), 1, "{name}: {thread:?}");
        }
    }
}
