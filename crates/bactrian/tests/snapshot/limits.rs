//! The budget: snapshots beyond it are skipped, counted and reported.

use bactrian_fixtures::{BOTH, Compiler, Variant, both_or, program};

use crate::heaps::{Heap, heaps_of};
use crate::runs::{Place, Run, difference};

/// Runs a program with many major collections under a limit. Returns the final message of `record`.
fn limited(limits: &str, variant: (Compiler, &str)) -> (Place, String) {
    let (compiler, megabytes) = variant;
    let executable = program("bench_formulas", compiler, Variant::Plain);
    let place = Place::new();
    let run = Run::new(&executable, &[megabytes]);
    let plain = place.run(&run);
    let options = ["--snapshots", "major,exit", "--no-trace", "--snapshot-limits", limits];
    let mut observed = run.observed(&options, &place.trace("run"));
    observed.arguments.retain(|argument| argument != "--quiet");
    let mut seen = place.run(&observed);
    let said = String::from_utf8_lossy(&std::mem::take(&mut seen.stderr)).into_owned();
    assert_eq!(difference(&plain, &seen), "", "{compiler:?}: {said}");
    (place, said)
}

#[test]
fn with_one_copy_at_a_time_some_are_skipped() {
    // Copies are counted in the same way for all compilers.
    for compiler in both_or(Compiler::OCaml4) {
        let (place, said) = limited("copies=1", (compiler, "150"));
        let heaps = heaps_of(&place.trace("run"));
        assert!(!heaps.is_empty(), "{compiler:?}: {said}");
        assert!(said.contains("skipped: the maximum number of copies"), "{compiler:?}: {said}");
        assert!(said.contains("run.1.heap: "), "{compiler:?}: {said}");
        // The file contains the number of skipped snapshots before it, too.
        let last = Heap::read(&heaps[heaps.len() - 1].1).expect("a whole snapshot");
        let told = said.lines().find(|line| line.contains("skipped")).expect("a line");
        assert!(told.contains("snapshot"), "{compiler:?}: {told}");
        assert!(last.info.skipped.copies > 0, "{compiler:?}: {:?}", last.info);
    }
}

#[test]
fn without_memory_for_copies_all_are_skipped() {
    for compiler in BOTH {
        let (place, said) = limited("memory=100k", (compiler, "30"));
        assert_eq!(heaps_of(&place.trace("run")), [], "{compiler:?}");
        assert!(
            said.contains("skipped: another copy of the program would exceed"),
            "{compiler:?}: {said}"
        );
    }
}

#[test]
fn files_do_not_grow_past_the_limit() {
    for compiler in BOTH {
        let (place, said) = limited("disk=300k,copies=1", (compiler, "60"));
        let heaps = heaps_of(&place.trace("run"));
        let size = |path: &std::path::Path| path.metadata().expect("a file").len();
        let total: u64 = heaps.iter().map(|(_, path)| size(path)).sum();
        let last = heaps.last().map_or(0, |(_, path)| size(path));
        assert!(total - last <= 300_000, "{compiler:?}: {total} bytes in {heaps:?}: {said}");
        // One that turns out too large while it is written is not kept.
        let is_told = said.contains("skipped: the files have reached")
            || said.contains("would exceed their disk limit");
        assert!(is_told, "{compiler:?}: {said}");
    }
}
