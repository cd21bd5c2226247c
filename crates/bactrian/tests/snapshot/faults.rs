//! Everything around the program fails: the program is unharmed, no partial file appears, and the failure is
//! reported.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use bactrian_fixtures::{BOTH, Compiler, Variant, program};

use crate::heaps::{Heap, heaps_of};
use crate::programs::{KINDS, Waiting, only_child, until};
use crate::runs::{Place, Run, Seen, difference, finish, signal};

/// In megabytes; walking this much takes a good part of a second.
const LARGE: &str = "200";

/// The directory of ledgers, within that of snapshots.
const LEDGERS: &str = "ledgers";

/// A run with a snapshot at the exit and messages.
fn at_exit(run: &Run, place: &Place) -> Run {
    told(run, place, "exit")
}

/// A run with snapshots at some moments and messages.
fn told(run: &Run, place: &Place, moments: &str) -> Run {
    let options = ["--snapshots", moments, "--no-trace"];
    let mut observed = run.observed(&options, &place.trace("run"));
    observed.arguments.retain(|argument| argument != "--quiet");
    observed
}

/// Walkers for snapshots of this place that have not ended, according to the ledger.
fn walkers(place: &Place) -> Vec<u32> {
    let folders = fs::read_dir(place.traces().join(LEDGERS)).into_iter().flatten().flatten();
    let ledgers = folders.filter_map(|run| fs::read_to_string(run.path().join("ledger")).ok());
    let text: String = ledgers.collect();
    let told = text.lines().filter_map(|line| line.strip_prefix("walker ")?.split(' ').nth(2));
    let is_at_work = |process: &u32| {
        let words = fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
        words.split(|byte| *byte == 0).any(|word| word == b"walk-frozen")
    };
    told.filter_map(|process| process.parse().ok()).filter(is_at_work).collect()
}

/// Makes `record` keep its ledger where the test finds it.
fn with_ledger(run: Run, place: &Place) -> Run {
    let folder = place.traces().join(LEDGERS);
    fs::create_dir_all(&folder).expect("a folder");
    run.with("TMPDIR", folder)
}

/// The names in the directory of snapshots.
fn names(place: &Place) -> Vec<String> {
    let files = place.traces().read_dir().expect("a folder").flatten();
    let names = files.filter_map(|file| file.file_name().into_string().ok());
    names.filter(|name| name != LEDGERS).collect()
}

fn said(seen: &mut Seen) -> String {
    String::from_utf8_lossy(&std::mem::take(&mut seen.stderr)).into_owned()
}

#[test]
fn killed_walker_loses_only_its_snapshot() {
    for compiler in BOTH {
        let place = Place::new();
        let run = Run::new(program("bench_formulas", compiler, Variant::Plain), &[LARGE]);
        let plain = place.run(&run);
        let child = place.start(&with_ledger(at_exit(&run, &place), &place));
        until("a walker", || !walkers(&place).is_empty()).expect("a walker");
        for walker in walkers(&place) {
            signal("KILL", &walker.to_string());
        }
        let mut seen = finish(child, &place.work());
        let said = said(&mut seen);
        assert_eq!(difference(&plain, &seen), "", "{compiler:?}: {said}");
        assert!(said.contains("snapshot 1 failed: "), "{compiler:?}: {said}");
        assert_eq!(heaps_of(&place.trace("run")), [], "{compiler:?}");
        assert_eq!(walkers(&place), [0_u32; 0], "{compiler:?}");
    }
}

#[test]
fn killed_program_leaves_complete_snapshots_or_none() {
    for compiler in BOTH {
        for milliseconds in [0, 30, 300] {
            let place = Place::new();
            let run = Run::new(program("bench_formulas", compiler, Variant::Plain), &[LARGE]);
            let options = ["--snapshots", "major", "--no-trace"];
            let observed = run.observed(&options, &place.trace("run"));
            let child = place.start(&with_ledger(observed, &place));
            until("a walker", || !walkers(&place).is_empty()).expect("a walker");
            // On a busy machine it may have exited by itself.
            if let Ok(process) = only_child(child.id()) {
                thread::sleep(Duration::from_millis(milliseconds));
                signal("KILL", &process.to_string());
            }
            let mut seen = finish(child, &place.work());
            let what = format!("{compiler:?} after {milliseconds} ms: {}", said(&mut seen));
            assert!(["signal 9", "exit status 0"].contains(&seen.end.as_str()), "{what}");
            until("the end of all walkers", || walkers(&place).is_empty()).expect("their end");
            for (_, path) in heaps_of(&place.trace("run")) {
                Heap::read(&path).unwrap_or_else(|reason| panic!("{what}: {reason}"));
            }
            let is_snapshot = |name: &String| name.ends_with(".heap");
            assert!(names(&place).iter().all(is_snapshot), "{what}: {:?}", names(&place));
        }
    }
}

#[test]
fn snapshot_survives_sigkill_of_recorder() {
    for compiler in BOTH {
        let place = Place::new();
        let run = Run::new(program("bench_formulas", compiler, Variant::Plain), &["30"]);
        let child = place.start(&at_exit(&run, &place));
        until("the program", || only_child(child.id()).is_ok()).expect("the program");
        signal("KILL", &child.id().to_string());
        let seen = finish(child, &place.work());
        assert!(seen.stdout.starts_with(b"built "), "{compiler:?}: {seen:?}");
        let output = place.trace("run");
        until("a snapshot", || !heaps_of(&output).is_empty()).expect("a snapshot");
        Heap::read(&heaps_of(&output)[0].1).expect("a whole snapshot");
    }
}

/// Runs a command with a small disk mounted on the directory of snapshots; None if that is not permitted
/// here.
fn on_a_small_disk(place: &Place, kilobytes: u32, run: &Run) -> Option<Seen> {
    // If not root: root in a private user namespace may mount there.
    let is_root = bactrian_fixtures::is_root();
    let options: &[&str] = if is_root { &["--mount"] } else { &["--mount", "--map-root-user"] };
    let mount = |folder: &Path| {
        let mut command = Command::new("unshare");
        command.args(options).args(["mount", "-t", "tmpfs", "none"]).arg(folder);
        command.status().is_ok_and(|status| status.success())
    };
    let mounted = place.traces();
    if !mount(&mounted) {
        let what = "NOT TESTED: this machine allows no mounts, so no disk could be full\n";
        // Bypasses the test's output capture, so that nobody thinks that it ran.
        std::io::stderr().write_all(what.as_bytes()).ok();
        return None;
    }
    let script = format!(
        "mount -t tmpfs -o size={kilobytes}k none \"$1\" || exit 99
         mounted=$1; shift
         \"$@\"; status=$?
         ls -A \"$mounted\" > ../left; exit $status"
    );
    let mut wrapped = run.clone();
    wrapped.program = "unshare".into();
    wrapped.arguments = options.iter().map(Into::into).collect();
    wrapped.arguments.extend(["sh", "-c", &script, "sh"].map(Into::into));
    wrapped.arguments.push(mounted.into());
    wrapped.arguments.push(run.program.clone().into());
    wrapped.arguments.extend(run.arguments.iter().cloned());
    Some(place.run(&wrapped))
}

#[test]
fn full_disk_harms_the_snapshot_not_the_program() {
    for kind in KINDS {
        for kilobytes in [8, 64] {
            let place = Place::new();
            let run = Run::new(kind.program("heap_hashtables"), &[]);
            let plain = place.run(&run);
            let observed = at_exit(&run, &place);
            let Some(mut seen) = on_a_small_disk(&place, kilobytes, &observed) else { return };
            let said = said(&mut seen);
            let what = format!("{kind:?}, {kilobytes} kB: {said}");
            assert_eq!(difference(&plain, &seen), "", "{what}");
            let is_told = said.contains("No space left") || said.contains("no room");
            assert!(is_told, "{what}");
            let left = fs::read_to_string(place.work().join("../left")).expect("a list");
            assert_eq!(left, "", "{what}");
        }
    }
}

#[test]
fn memory_limit_harms_the_snapshot_not_the_program() {
    // OCaml 5 reserves more address space than it uses.
    let cases = [(Compiler::OCaml4, "ulimit -v 150000"), (Compiler::OCaml5, "ulimit -v 800000")];
    for (compiler, first) in cases {
        let place = Place::new();
        let executable = program("bench_formulas", compiler, Variant::Plain);
        let run = Run { first, ..Run::new(&executable, &["60"]) };
        let plain = place.run(&run);
        assert_eq!(plain.end, "exit status 0", "{compiler:?}: {plain:?}");
        let mut seen = place.run(&at_exit(&run, &place));
        let said = said(&mut seen);
        assert_eq!(difference(&plain, &seen), "", "{compiler:?}: {said}");
        // Whether the walker manages with this memory does not matter: there is a snapshot, or a reason.
        match &heaps_of(&place.trace("run"))[..] {
            [] => assert!(said.contains("failed: ") || said.contains("skipped: "), "{said}"),
            [(_, path), ..] => drop(Heap::read(path).expect("a whole snapshot")),
        }
        // A killed walker cannot remove its unfinished file, which has a different name.
        let may_stay = |name: &String| name.ends_with(".heap") || name.ends_with(".unfinished");
        assert!(names(&place).iter().all(may_stay), "{:?}", names(&place));
    }
}

/// A control group with a memory limit, removed on drop.
struct Group(PathBuf);

impl Group {
    /// None where we may not create one.
    fn new(most_bytes: u64) -> Option<Group> {
        let name = format!("bactrian-test-{}", std::process::id());
        let trees = [("memory", "memory.limit_in_bytes"), ("", "memory.max")];
        trees.iter().find_map(|(tree, limit)| {
            let path = Path::new("/sys/fs/cgroup").join(tree).join(&name);
            fs::create_dir(&path).ok()?;
            let group = Group(path);
            fs::write(group.0.join(limit), most_bytes.to_string()).ok()?;
            Some(group)
        })
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // Killed walkers may be in it for a moment.
        for _ in 0..100 {
            if fs::remove_dir(&self.0).is_ok() {
                break;
            }
            thread::sleep(Duration::from_millis(50));
        }
    }
}

#[test]
fn cgroup_memory_limit_harms_snapshots_not_the_program() {
    let Some(group) = Group::new(150 << 20) else {
        eprintln!("not tested: control groups cannot be made here");
        return;
    };
    // The program uses a little more than half of it, and nothing is reserved for copies.
    let first = "echo $$ > \"$GROUP\"/cgroup.procs";
    for compiler in [Compiler::OCaml4, Compiler::OCaml5] {
        let place = Place::new();
        let executable = program("bench_formulas", compiler, Variant::Plain);
        let run = Run { first, ..Run::new(&executable, &["60"]) }.with("GROUP", &group.0);
        let plain = place.run(&run);
        assert_eq!(plain.end, "exit status 0", "{compiler:?}: {plain:?}");
        let mut seen = place.run(&told(&run, &place, "major"));
        let said = said(&mut seen);
        assert_eq!(difference(&plain, &seen), "", "{compiler:?}: {said}");
        assert!(said.contains("failed: ") || said.contains("skipped: "), "{compiler:?}: {said}");
        for (_, path) in heaps_of(&place.trace("run")) {
            drop(Heap::read(&path).expect("a whole snapshot"));
        }
    }
}

#[test]
fn programs_file_size_limit_does_not_apply_to_the_walker() {
    // The agent is larger than the limit: it is installed before.
    let agent = Command::new(env!("CARGO_BIN_EXE_bactrian")).args(["agent", "--path"]).output();
    assert!(agent.expect("bactrian starts").status.success());
    for kind in KINDS {
        let place = Place::new();
        // The program is also found by a relative path.
        let first = "ulimit -S -f 8; ln -s \"$PROGRAM\" program";
        let run = Run { first, ignored: &["program"], ..Run::new("./program", &[]) };
        let run = run.with("PROGRAM", kind.program("heap_parent"));
        let plain = place.run(&run);
        let mut seen = place.run(&at_exit(&run, &place));
        let said = said(&mut seen);
        assert_eq!(difference(&plain, &seen), "", "{kind:?}: {said}");
        let heaps = heaps_of(&place.trace("run"));
        let (_, path) = heaps.first().unwrap_or_else(|| panic!("{kind:?}: {said}"));
        let heap = Heap::read(path).expect("a whole snapshot");
        assert_eq!(heap.gaps, Vec::<String>::new(), "{kind:?}");
    }
}

#[test]
fn without_a_walker_the_program_runs_all_the_same() {
    for compiler in BOTH {
        let place = Place::new();
        let run = Run::new(program("bench_formulas", compiler, Variant::Plain), &["20"]);
        let plain = place.run(&run);
        let mut agent = Command::new(env!("CARGO_BIN_EXE_bactrian"));
        agent.args(["agent", "--snapshots", "major,exit", "--no-trace", "-o"]);
        let output = agent.arg(place.trace("run")).output().expect("bactrian starts");
        let variables = String::from_utf8(output.stdout).expect("text");
        let mut run = run;
        for (name, value) in variables.lines().filter_map(|line| line.split_once('=')) {
            let value = if name == "BACTRIAN_WALKER" { "/nowhere/bactrian" } else { value };
            let names = ["LD_PRELOAD", "BACTRIAN_SNAPSHOTS", "BACTRIAN_HEAP", "BACTRIAN_WALKER"];
            if let Some(name) = names.into_iter().find(|known| *known == name) {
                run = run.with(name, value);
            }
        }
        let start = Instant::now();
        let seen = place.run(&run);
        assert_eq!(difference(&plain, &seen), "", "{compiler:?}");
        assert!(start.elapsed() < Duration::from_secs(60));
        assert_eq!(names(&place), Vec::<String>::new(), "{compiler:?}");
    }
}

#[test]
fn terminated_snapshot_leaves_nothing() {
    for kind in KINDS {
        let place = Place::new();
        let waiting = Waiting::plain(&kind.program("heap_lists")).expect("a program");
        let mut command = Command::new(env!("CARGO_BIN_EXE_bactrian"));
        command.args(["snapshot", "--quiet", &waiting.process.to_string(), "-o"]);
        let mut child = command.arg(place.trace("run.heap")).spawn().expect("bactrian");
        // By now it has the program's copy and is reading it.
        while names(&place).is_empty() && child.try_wait().expect("a child").is_none() {
            thread::yield_now();
        }
        signal("TERM", &child.id().to_string());
        let status = child.wait().expect("a child");
        // It may have completed already.
        assert!(matches!(status.code(), Some(0 | 143)), "{kind:?}: {status}");
        let left = names(&place).into_iter().filter(|name| name != "run.heap");
        assert_eq!(left.collect::<Vec<_>>(), Vec::<String>::new(), "{kind:?}");
        assert!(only_child(waiting.process).is_err(), "{kind:?}: a copy is left");
        assert_eq!(waiting.end(), Ok(String::new()), "{kind:?}");
    }
}
