//! Snapshots are taken at the requested moments, with the right reason.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use bactrian_fixtures::{BOTH, Compiler, Variant, program};
use bactrian_snapshot::{Reason, SnapshotMethod};

use crate::heaps::{Heap, heaps_of};
use crate::programs::{KINDS, Kind, Waiting, until};
use crate::runs::{Place, Run, signal};

/// Takes snapshots of a program that runs to its end, and reads them.
fn taken(executable: &Path, arguments: &[&str], when: &str) -> Vec<Heap> {
    let place = Place::new();
    let output = place.trace("run.ctf");
    let run = Run::new(executable, arguments);
    // Enough copies that none is skipped, even on a busy machine.
    let limits = ["--snapshot-limits", "copies=64", "--snapshots-when-busy", "wait"];
    let options = [&["--snapshots", when, "--no-trace"][..], &limits].concat();
    let seen = place.run(&run.observed(&options, &output));
    assert_eq!(seen.end, "exit status 0", "{seen:?}");
    let heaps = heaps_of(&output);
    assert!(!heaps.is_empty(), "{seen:?}");
    for (_, path) in &heaps {
        let mode = path.metadata().expect("a file").permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "{}", path.display());
    }
    let files = place.traces().read_dir().expect("a folder").flatten().count();
    assert_eq!(files, heaps.len(), "something else was left there");
    heaps.iter().map(|(_, path)| Heap::read(path).expect("a whole snapshot")).collect()
}

#[test]
fn snapshots_are_taken_periodically() {
    for compiler in BOTH {
        for pace in ["busy", "idle"] {
            let executable = program("steady", compiler, Variant::Plain);
            let heaps = taken(&executable, &["2", pace], "every=300ms");
            // Six would fit; on a busy machine there are fewer.
            assert!((3..=7).contains(&heaps.len()), "{compiler:?} {pace}: {}", heaps.len());
            // One may be late, with the next one sooner after it; but never two within one interval.
            for three in heaps.windows(3) {
                let apart = three[2].info.taken - three[0].info.taken;
                assert!(apart >= 299_000, "{compiler:?} {pace}: {apart} microseconds apart");
                assert_eq!(three[1].info.reason, Reason::Every);
            }
        }
    }
}

#[test]
fn snapshots_are_taken_at_every_nth_collection() {
    for kind in KINDS {
        let count = |when: &str| taken(&kind.program("heap_lists"), &[], when).len();
        let [all, fifth] = ["major", "major=5"].map(count);
        assert!(all >= 8, "{kind:?}: {all} snapshots of four full collections and more");
        assert!(fifth.abs_diff(all / 5) <= 1, "{kind:?}: {fifth} of {all}");
    }
}

#[test]
fn snapshots_are_taken_at_peaks() {
    for compiler in BOTH {
        let executable = program("bench_formulas", compiler, Variant::Plain);
        let heaps = taken(&executable, &["60"], "peak=50");
        assert!(heaps.len() >= 3, "{compiler:?}: {}", heaps.len());
        for pair in heaps.windows(2) {
            let [before, after] = [&pair[0], &pair[1]].map(|heap| heap.major.words as f64);
            // The runtime's notion of the live size at that moment is not exact.
            assert!(after > 1.3 * before, "{compiler:?}: {before}, then {after}");
            assert_eq!(pair[1].info.reason, Reason::Peak);
        }
    }
}

#[test]
fn snapshots_are_taken_at_several_kinds_of_moments() {
    let folder = tempfile::tempdir().expect("a folder");
    for kind in KINDS {
        let output = folder.path().join(format!("{kind:?}.ctf"));
        // Few samples: some of its stacks are too deep to be kept, which would cause a warning.
        let options = ["--rate", "1e-5", "--snapshots", "signal=USR1,exit"];
        let program = kind.program("heap_trees");
        let program = Waiting::recorded(&program, &options, &output).expect("a program");
        for number in 1..=2 {
            signal("USR1", &program.process.to_string());
            until("a snapshot", || heaps_of(&output).len() == number).expect("a snapshot");
        }
        let said = program.end().expect("a plain end");
        let heaps = heaps_of(&output);
        let heaps: Vec<_> =
            heaps.iter().map(|(_, path)| Heap::read(path).expect("whole")).collect();
        let reasons: Vec<_> = heaps.iter().map(|heap| heap.info.reason).collect();
        assert_eq!(reasons, [Reason::Signal, Reason::Signal, Reason::Exit], "{kind:?}: {said}");
        for (number, heap) in (1..).zip(&heaps) {
            assert_eq!(
                (heap.info.sequence, heap.info.way),
                (number, SnapshotMethod::Agent),
                "{kind:?}"
            );
            assert_eq!(heap.gaps, Vec::<String>::new(), "{kind:?}");
            // In bytecode it is an argument of the runtime.
            let info = &heap.info;
            let mut words = std::iter::once(&info.program).chain(&info.arguments);
            assert!(words.any(|word| word.ends_with("heap_trees")), "{kind:?}: {info:?}");
        }
        // The end of record tells of all of them.
        for name in ["1.heap: ", "2.heap: ", "3.heap: ", "was paused for "] {
            assert!(said.contains(name), "{kind:?}: {name} is not in {said}");
        }
        assert!(!said.contains("warning"), "{kind:?}: {said}");
    }
}

#[test]
fn snapshots_are_taken_of_a_program_without_its_parent() {
    for kind in KINDS {
        let folder = tempfile::tempdir().expect("a folder");
        let output = folder.path().join("daemon");
        let mut agent = Command::new(env!("CARGO_BIN_EXE_bactrian"));
        agent.args(["agent", "--snapshots", "exit", "--no-trace", "-o"]).arg(&output);
        let variables = agent.output().expect("bactrian starts");
        let variables = String::from_utf8(variables.stdout).expect("text");
        let mut shell = Command::new("sh");
        // The shell exits before the program has begun.
        shell.args(["-c", "(sleep 0.2; exec \"$0\" </dev/null >/dev/null 2>&1) &"]);
        shell.arg(kind.program("heap_lists")).stdin(Stdio::null());
        shell.envs(variables.lines().filter_map(|line| line.split_once('=')));
        assert!(shell.status().expect("a shell").success());
        let first = folder.path().join("daemon.1.heap");
        until("a snapshot", || first.exists()).expect("a snapshot");
        Heap::read(&first).expect("a whole snapshot");
    }
}

#[test]
fn snapshots_with_a_trace_contain_the_sampled_blocks() {
    for kind in [Kind::Native4, Kind::Native5] {
        let place = Place::new();
        let output = place.trace("run.ctf");
        let run = Run::new(kind.program("heap_hashtables"), &[]);
        let options = ["--snapshots", "exit", "--rate", "1e-2"];
        let seen = place.run(&run.observed(&options, &output));
        assert_eq!(seen.end, "exit status 0", "{seen:?}");
        let path = place.trace("run.1.heap");
        let heap = Heap::read(&path).expect("a whole snapshot");
        let snapshot = bactrian_snapshot::Snapshot::open(&path).expect("a snapshot");
        let tables = snapshot.tables();
        let expected = heap.major.words as f64 * 1e-2;
        let samples: f64 = tables.samples.iter().map(|sample| f64::from(sample.samples)).sum();
        // The standard error is a few percent.
        let is_near = samples > 0.8 * expected && samples < 1.2 * expected;
        assert!(is_near, "{kind:?}: {samples} samples, {expected} expected");
        assert!(!tables.stacks.is_empty(), "{kind:?}");
    }
}

#[test]
fn bad_moments_are_refused() {
    let executable = program("heap_lists", Compiler::OCaml4, Variant::Plain);
    for (options, expected) in [
        (&["--snapshots", "sometimes"][..], "sometimes"),
        (&["--snapshots", "every=0"], "every"),
        (&["--no-trace"], "--snapshots"),
        (&["--snapshots", "exit", "--no-trace", "--rate", "1e-3"], "--rate"),
        (&["--snapshots", "signal=USR1", "--signal", "USR1"], "different signals"),
        (&["--snapshots", "exit", "--snapshot-limits", "copies=0"], "copies"),
    ] {
        let place = Place::new();
        let run = Run::new(&executable, &[]).observed(options, &place.trace("run.ctf"));
        let seen = place.run(&run);
        let said = String::from_utf8_lossy(&seen.stderr);
        assert_eq!(seen.end, "exit status 2", "{options:?}: {said}");
        assert!(said.contains(expected), "{options:?}: {said}");
        assert!(seen.stdout.is_empty(), "{options:?}: the program was started");
    }
}
