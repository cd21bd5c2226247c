//! The OCaml library: without the agent it does nothing, and with it takes snapshots.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use bactrian_fixtures::{BOTH, Compiler, Variant, ocaml_library, program, repository};
use bactrian_snapshot::Reason;

use crate::heaps::{Heap, heaps_of};
use crate::programs::Live;
use crate::runs::{Place, Run, difference};

const VARIANTS: [(Compiler, Variant); 4] = [
    (Compiler::OCaml4, Variant::Plain),
    (Compiler::OCaml4, Variant::Bytecode),
    (Compiler::OCaml4, Variant::Custom),
    (Compiler::OCaml5, Variant::Plain),
];

#[test]
fn a_call_does_nothing_when_no_agent_is_there() {
    for (compiler, variant) in VARIANTS {
        let executable = program("heap_called", compiler, variant);
        let seen = Place::new().run(&Run::new(&executable, &[]));
        let said = String::from_utf8_lossy(&seen.stdout);
        assert!(said.starts_with("live ") && said.ends_with("\ndone\n"), "{compiler:?}: {said}");
        assert_eq!((seen.end.as_str(), seen.stderr.as_slice()), ("exit status 0", &[][..]));
        assert!(seen.files.is_empty());
    }
    // A static program cannot contain the agent, and needs no symbol of it.
    let executable = program("heap_called", Compiler::OCaml4, Variant::Static);
    assert_eq!(Place::new().run(&Run::new(&executable, &[])).end, "exit status 0");
}

#[test]
fn a_call_takes_a_snapshot_with_a_name() {
    for (compiler, variant) in VARIANTS {
        let what = format!("{compiler:?} {variant:?}");
        let place = Place::new();
        let run = Run::new(program("heap_called", compiler, variant), &[]);
        let plain = place.run(&run);
        let output = place.trace("run.ctf");
        let options = ["--snapshots", "call", "--no-trace"];
        let seen = place.run(&run.observed(&options, &output));
        assert_eq!(difference(&plain, &seen), "", "{what}");
        let said = String::from_utf8_lossy(&seen.stdout);
        let live = Live::parse(said.lines().next().expect("a line")).expect("what is alive");
        let heaps = heaps_of(&output);
        assert_eq!(heaps.len(), 2, "{what}: {heaps:?}");
        for ((number, path), name) in heaps.iter().zip([None, Some("after loading")]) {
            let heap = Heap::read(path).expect("a whole snapshot");
            assert_eq!(heap.info.name.as_deref(), name, "{what}");
            assert_eq!((heap.info.reason, heap.info.sequence), (Reason::Call, *number), "{what}");
            assert_eq!(heap.major.blocks, live.blocks, "{what}");
        }
    }
}

/// The results of several snapshots in a row, as the program prints them, and the number of files.
fn in_a_row(compiler: Compiler, busy: &[&str]) -> (Vec<String>, usize) {
    let place = Place::new();
    let run = Run::new(program("heap_called", compiler, Variant::Plain), &["6"]);
    let output = place.trace("run.ctf");
    let options = [&["--snapshots", "call", "--no-trace"], busy].concat();
    let seen = place.run(&run.observed(&options, &output));
    let said = String::from_utf8_lossy(&seen.stdout);
    (said.lines().map(str::to_owned).collect(), heaps_of(&output).len())
}

#[test]
fn consecutive_calls_wait_and_return_their_result() {
    for compiler in BOTH {
        let start = Instant::now();
        let (said, files) = in_a_row(compiler, &[]);
        let taken = said.iter().filter(|line| *line == "taken").count();
        assert_eq!((taken, said.len()), (files, 6), "{compiler:?}: {said:?}");
        // On a busy machine ten seconds may not suffice.
        assert!(taken == 6 || start.elapsed() > Duration::from_secs(10), "{compiler:?}: {said:?}");
        let (said, files) = in_a_row(compiler, &["--snapshots-when-busy", "skip"]);
        let taken = said.iter().filter(|line| *line == "taken").count();
        // Mostly because too many copies are being read; on a busy machine also because nobody could say in time whether
        // the program may be copied.
        let skipped = said.iter().filter(|line| line.starts_with("skipped: "));
        assert_eq!((taken, taken + skipped.count()), (files, 6), "{compiler:?}: {said:?}");
        assert!(taken < 6, "{compiler:?}: {said:?}");
    }
    let run = Run::new(program("heap_called", Compiler::OCaml4, Variant::Plain), &["2"]);
    let seen = Place::new().run(&run);
    assert_eq!(seen.stdout, b"not wanted\nnot wanted\n");
}

#[test]
fn library_calls_work_with_other_moments() {
    let place = Place::new();
    let run = Run::new(program("heap_called", Compiler::OCaml4, Variant::Plain), &[]);
    let output = place.trace("run.ctf");
    place.run(&run.observed(&["--snapshots", "exit"], &output));
    assert_eq!(heaps_of(&output).len(), 3);
}

/// Copies the library without build products, so that nothing is built in the repository.
fn copy_of_library(folder: &Path) {
    let library = repository().join("ocaml");
    for part in ["dune-project", "src", "ppx"]
        .map(|part| library.join(part))
        .iter()
        .filter(|part| part.exists())
    {
        let copied = Command::new("cp").arg("-R").arg(part).arg(folder).status();
        assert!(copied.is_ok_and(|status| status.success()), "{}", part.display());
    }
}

#[test]
fn dune_and_findlib_know_the_library() {
    if Command::new("cargo").arg("--version").output().is_err() {
        // It may be in another user's home.
        return eprintln!("NOT TESTED: cargo cannot be started");
    }
    let folder = tempfile::tempdir().expect("a folder");
    copy_of_library(folder.path());
    let run = |command: &mut Command| {
        let output =
            command.current_dir(folder.path()).output().expect("scripts/setup installs it");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{command:?}: {said}");
    };
    // The Rust library is not in the copy.
    let sources = ("BACTRIAN_SOURCES", repository());
    run(Command::new("dune").args(["build", "--root", ".", "@install"]).env(sources.0, sources.1));
    let installed = folder.path().join("_build/install/default/lib");
    let plain = folder.path().join("plain");
    fs::create_dir(&plain).expect("a folder");
    let mut copy = Command::new("cp");
    run(copy.arg("-R").arg(ocaml_library(Compiler::OCaml4)).arg(plain.join("bactrian")));
    fs::write(
        folder.path().join("asks.ml"),
        "let () = ignore (Bactrian.snapshot ~name:\"x\" ())\n",
    )
    .expect("a program");
    for libraries in [&installed, &plain] {
        let mut compile = Command::new("ocamlfind");
        compile.args(["ocamlopt", "-package", "bactrian", "-linkpkg", "asks.ml", "-o", "asks"]);
        // The existing path comes after it.
        run(compile.env("OCAMLPATH", libraries));
        run(&mut Command::new("./asks"));
    }
}

#[test]
fn missing_sources_are_reported_in_paths_with_spaces() {
    let folder = tempfile::tempdir().expect("a folder");
    let inner = folder.path().join("a folder/_build/default/with spaces");
    fs::create_dir_all(&inner).expect("room");
    let script = repository().join("ocaml/src/stubs.sh");
    // It used to loop forever.
    let mut stubs = Command::new("timeout");
    stubs.args(["20", "sh"]).arg(script).arg("ocamlc").current_dir(inner);
    let output = stubs.env_remove("BACTRIAN_SOURCES").output().expect("it starts");
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("BACTRIAN_SOURCES"));
}

#[test]
fn the_library_has_our_version() {
    let meta = fs::read_to_string(repository().join("ocaml/META")).expect("META");
    let expected = format!("version = \"{}\"", env!("CARGO_PKG_VERSION"));
    assert!(meta.contains(&expected), "{meta}");
}
