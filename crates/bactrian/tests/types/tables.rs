//! `bactrian types`: tables made from available files, and messages about others.

use std::path::Path;
use std::process::{Command, Output};

use bactrian_fixtures::Compiler;

use crate::truth::annotated;

fn bactrian(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bactrian"));
    command.args(arguments).current_dir(folder).output().expect("it starts")
}

/// The exit status and the error message.
fn refused(folder: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let output = bactrian(folder, arguments);
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn table_summary_lists_its_contents() {
    let folder = tempfile::tempdir().expect("a folder");
    let built = annotated("leaky_cache", Compiler::OCaml4);
    for file in ["leaky_cache.ml", "leaky_cache.cmt", "leaky_cache.cmi", "leaky_cache.cmx"] {
        std::fs::copy(built.join(file), folder.path().join(file)).expect("room");
    }
    std::fs::write(folder.path().join("cut.cmt"), "Caml1999T030").expect("room");
    let built = bactrian(folder.path(), &["types", "build", ".", "-o", "x.types"]);
    let said = String::from_utf8_lossy(&built.stderr);
    assert!(built.status.success(), "{said}");
    assert!(said.contains("1 file could not be read"), "{said}");
    let info = bactrian(folder.path(), &["types", "info", "x.types", "--json"]);
    let info: serde_json::Value = serde_json::from_slice(&info.stdout).expect("JSON");
    assert_eq!(info["command"], "types info");
    assert_eq!(info["result"]["not_readable"], 1);
    assert!(info["result"]["modules"].as_u64().is_some_and(|modules| modules > 40), "{info}");
    let full = bactrian(folder.path(), &["types", "info", "x.types", "--full"]);
    let full = String::from_utf8_lossy(&full.stdout).into_owned();
    assert!(full.contains("not readable: ") && full.contains("Leaky_cache  "), "{full}");
}

#[test]
fn invalid_builds_and_tables_are_reported() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    std::fs::write(path.join("text"), "no table").expect("room");
    for (arguments, expected) in [
        (["types", "build", "nothere"], "no such folder"),
        (["types", "build", "."], "no .cmt files"),
        (["types", "info", "text"], "not a table of types"),
        (["types", "info", "nothere"], "No such file"),
    ] {
        let (status, said) = refused(path, &arguments);
        assert_eq!(status, Some(3), "{arguments:?}: {said}");
        assert!(said.contains(expected), "{arguments:?}: {said}");
    }
}
