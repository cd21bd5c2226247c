//! The program does not notice: its children, signals, descriptors and output are as without us.

use bactrian_fixtures::{BOTH, Compiler, Variant, program, whole_table};

use crate::runs::{Place, Run, difference};

/// Runs a program plainly and with snapshots at all moments that need no outside request.
fn compare(name: &str, arguments: &[&str], compiler: Compiler, variant: Variant) {
    let place = Place::new();
    let run = Run::new(program(name, compiler, variant), arguments);
    let plain = place.run(&run);
    for more in [&["--no-trace"][..], &["--rate", "1e-3"]] {
        let mut options = vec!["--snapshots", "major,exit,every=50ms"];
        options.extend(more);
        let observed = place.run(&run.observed(&options, &place.trace("run.ctf")));
        let what = format!("{name} {arguments:?} {compiler:?} {variant:?} {more:?}");
        assert_eq!(difference(&plain, &observed), "", "{what}");
        let files = place.traces().read_dir().expect("a folder").flatten();
        let names: Vec<_> = files.filter_map(|file| file.file_name().into_string().ok()).collect();
        assert!(names.iter().any(|name| name.ends_with(".heap")), "{what}: {names:?}");
        let is_ours = |name: &String| name.ends_with(".heap") || name.ends_with(".ctf");
        assert!(names.iter().all(is_ours), "{what}: half a file was left: {names:?}");
    }
}

#[test]
fn children_and_descriptors_are_its_own() {
    compare("heap_parent", &[], Compiler::OCaml4, Variant::Plain);
    compare("heap_parent", &[], Compiler::OCaml5, Variant::Plain);
    // Copying a process does not depend on the kind of code.
    if whole_table() {
        compare("heap_parent", &[], Compiler::OCaml4, Variant::Bytecode);
    }
}

#[test]
fn programs_of_all_kinds_behave_the_same() {
    for name in ["exceptions", "threads", "signals", "finalisers", "compaction", "bigarrays"] {
        for compiler in BOTH {
            compare(name, &[], compiler, Variant::Plain);
        }
    }
    for name in ["domains", "effects"] {
        compare(name, &[], Compiler::OCaml5, Variant::Plain);
    }
}
