//! Programs without symbols: linked statically, or exporting nothing, and stripped. `snapshot PID` recognises
//! the code of the runtime that they were linked with, or uses their debug file; with neither, it says what
//! helps.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use bactrian_fixtures::{Compiler, Variant, program, run, stripped};
use bactrian_snapshot::Snapshot;
use tempfile::TempDir;

use crate::programs::{Kind, Waiting};
use crate::table::check;

/// Programs that depend on symbols: modules, threads and their stacks, finalisers, domains.
const PROGRAMS: [&str; 4] = ["heap_lists", "heap_threads", "heap_finalisers", "heap_stack"];

/// A directory that contains only this compiler.
fn path_with(compiler: Option<Compiler>) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    if let Some(compiler) = compiler {
        let tool = run(Command::new("which").arg(compiler.tool("ocamlopt")));
        let script = format!("#!/bin/sh\nPATH=/usr/bin:/bin exec {} \"$@\"\n", tool.trim());
        let path = folder.path().join("ocamlopt");
        fs::write(&path, script).expect("room");
        run(Command::new("chmod").arg("+x").arg(path));
    }
    folder
}

fn snapshot(process: u32, path: &Path, output: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bactrian"));
    command.arg("snapshot").arg(process.to_string()).arg("-o").arg(output);
    command.env("PATH", path).env_remove("OPAMROOT").env("HOME", path).stdin(Stdio::null());
    command.output().expect("bactrian starts")
}

fn is_right(kind: Kind, executable: &Path, compiler: Option<Compiler>) {
    let what = format!("{} {kind:?} {compiler:?}", executable.display());
    let tools = path_with(compiler);
    let heap = tools.path().join("nameless.heap");
    let program = Waiting::plain(executable).expect("it starts");
    let output = snapshot(program.process, tools.path(), &heap);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{what}: {said}");
    let live = program.live;
    program.end().unwrap_or_else(|why| panic!("{what}: {why}"));
    check(kind, live, &heap).unwrap_or_else(|why| panic!("{what}: {why}\n{said}"));
}

#[test]
fn modules_are_named_as_they_were_linked() {
    let tools = path_with(Some(Compiler::OCaml4));
    let names = |executable: &Path| {
        let heap = tools.path().join("modules.heap");
        let program = Waiting::plain(executable).expect("it starts");
        let output = snapshot(program.process, tools.path(), &heap);
        program.end().expect("it is unharmed");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let snapshot = Snapshot::open(&heap).expect("a snapshot");
        let tables = snapshot.tables();
        let modules = tables.modules.iter();
        modules.map(|module| tables.names.get(module.name).to_owned()).collect::<Vec<_>>()
    };
    let whole = program("heap_threads", Compiler::OCaml4, Variant::Static);
    let expected = names(&whole);
    assert!(expected.iter().any(|name| name == "Heap_threads"), "{expected:?}");
    assert_eq!(names(&stripped(&whole)), expected);
}

fn nameless(name: &str, compiler: Compiler, variant: Variant) -> PathBuf {
    stripped(&program(name, compiler, variant))
}

#[test]
fn static_ocaml4_programs_are_recognised_by_their_code() {
    for name in PROGRAMS {
        let executable = nameless(name, Compiler::OCaml4, Variant::Static);
        is_right(Kind::Native4, &executable, Some(Compiler::OCaml4));
    }
}

#[test]
fn static_ocaml5_programs_are_recognised_by_their_code() {
    for name in PROGRAMS.iter().chain(&["heap_domains"]) {
        let executable = nameless(name, Compiler::OCaml5, Variant::Static);
        is_right(Kind::Native5, &executable, Some(Compiler::OCaml5));
    }
}

#[test]
fn programs_that_export_nothing_are_recognised_by_their_code() {
    for (kind, compiler) in [(Kind::Native4, Compiler::OCaml4), (Kind::Native5, Compiler::OCaml5)] {
        let executable = nameless("heap_threads", compiler, Variant::Hidden);
        is_right(kind, &executable, Some(compiler));
    }
}

#[test]
fn debug_file_provides_the_symbols() {
    for variant in [Variant::Static, Variant::Hidden] {
        let whole = program("heap_lists", Compiler::OCaml4, variant);
        let folder = tempfile::tempdir().expect("a folder");
        let executable = folder.path().join("server");
        fs::copy(stripped(&whole), &executable).expect("room");
        let mut objcopy = Command::new("objcopy");
        objcopy.arg("--only-keep-debug").arg(&whole).arg(folder.path().join("server.debug"));
        run(&mut objcopy);
        is_right(Kind::Native4, &executable, None);
    }
}

#[test]
fn refusal_without_symbols_says_what_helps() {
    let executable = nameless("heap_lists", Compiler::OCaml4, Variant::Static);
    // Another runtime does not help.
    for compiler in [None, Some(Compiler::OCaml5)] {
        let tools = path_with(compiler);
        let heap = tools.path().join("nameless.heap");
        let program = Waiting::plain(&executable).expect("it starts");
        let output = snapshot(program.process, tools.path(), &heap);
        program.end().expect("it is unharmed");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(4), "{said}");
        assert!(said.contains("stripped. Do not strip it"), "{said}");
        assert!(!heap.exists());
    }
}
