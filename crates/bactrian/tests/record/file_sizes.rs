//! With a file size limit (`ulimit -f`): the exit status is the program's, what could not be written is
//! reported, and no partial file interferes with later questions.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use bactrian_fixtures::{BOTH, Compiler, Recipe, Variant, program, whole_table};
use tempfile::TempDir;

/// A program with its `.cmt` file, so that a type table can be made.
fn annotated() -> PathBuf {
    let recipe = Recipe::new("leaky_cache-OCaml4-annotated".to_owned());
    let arguments = "-g -bin-annot leaky_cache.ml -o leaky_cache";
    let built = recipe.source("leaky_cache.ml").step(Compiler::OCaml4.ocamlopt(), arguments);
    built.build().join("leaky_cache")
}

/// Runs our binary in a directory that is also its user's home, after `first`.
fn bactrian(folder: &Path, first: &str, arguments: &[&str]) -> Output {
    shell(folder, first, &[&[env!("CARGO_BIN_EXE_bactrian")], arguments].concat())
}

/// Runs a command in a directory that is also its user's home, after `first`.
fn shell(folder: &Path, first: &str, words: &[&str]) -> Output {
    let mut command = Command::new("sh");
    command.args(["-c", &format!("{first}\nexec \"$@\""), "sh"]).args(words);
    command.current_dir(folder).env("HOME", folder).env_remove("XDG_CACHE_HOME");
    command.output().expect("a shell")
}

/// Records with snapshots and types, with a limit.
fn recorded(folder: &Path, first: &str) -> Output {
    let program = annotated();
    let program = program.to_str().expect("UTF-8");
    bactrian(folder, first, &["record", "--snapshots", "exit", "-o", "run.ctf", "--", program])
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A directory with a recording.
fn with_recording() -> TempDir {
    let folder = tempfile::tempdir().expect("room");
    let output = recorded(folder.path(), "");
    assert!(output.status.success(), "{}", said(&output));
    folder
}

#[test]
fn record_under_file_size_limit_keeps_the_programs_status() {
    let folder = with_recording();
    let types = folder.path().join("run.types");
    let size = fs::metadata(&types).expect("there are types").len();
    fs::remove_file(&types).expect("it is ours");
    // Half of what the table needs, in blocks of 512 bytes. The walker raises the limit as it needs.
    let output = recorded(folder.path(), &format!("ulimit -S -f {}", size / 1024));
    assert_eq!(output.status.code(), Some(0), "{:?}: {}", output.status, said(&output));
    assert!(said(&output).contains("File too large"), "lost in silence: {}", said(&output));
    let names: Vec<_> = fs::read_dir(folder.path()).expect("ours").flatten().collect();
    let is_left = |name: &fs::DirEntry| {
        let name = name.file_name().into_string().unwrap_or_default();
        name.ends_with(".types") || name.starts_with(".tmp")
    };
    let left: Vec<_> = names.iter().filter(|name| is_left(name)).collect();
    assert!(left.is_empty(), "half a file: {left:?}");
}

#[test]
fn live_under_file_size_limit_does_not_harm_the_program() {
    let folder = tempfile::tempdir().expect("room");
    // The agent is larger than the limit; it is installed before.
    assert!(bactrian(folder.path(), "", &["agent", "--path"]).status.success());
    for compiler in BOTH {
        let executable = program("steady", compiler, Variant::Plain);
        let executable = executable.to_str().expect("UTF-8");
        // OCaml 5's ring buffers would be larger.
        let output = bactrian(folder.path(), "ulimit -f 10000", &["live", "--", executable, "1"]);
        assert_eq!(output.status.code(), Some(0), "{compiler:?}: {}", said(&output));
    }
}

#[test]
fn live_that_cannot_write_keeps_the_programs_status() {
    let folder = tempfile::tempdir().expect("room");
    let executable = program("exits", Compiler::OCaml4, Variant::Plain);
    let executable = executable.to_str().expect("UTF-8");
    let full = "exec >/dev/full";
    let plain = shell(folder.path(), full, &[executable, "exit"]);
    for live in [&["live", "--json", "--"][..], &["live", "--for", "10s", "--"]] {
        let output = bactrian(folder.path(), full, &[live, &[executable, "exit"]].concat());
        assert_eq!(output.status.code(), plain.status.code(), "{live:?}: {}", said(&output));
        assert!(said(&output).contains("No space left"), "{live:?}: {}", said(&output));
    }
}

#[test]
fn damaged_table_of_types_is_ignored_with_a_warning() {
    let folder = with_recording();
    let types = folder.path().join("run.types");
    let whole = fs::read(&types).expect("there are types");
    for damaged in [&whole[..whole.len() / 2], b"no table", b""] {
        fs::write(&types, damaged).expect("room");
        for arguments in [
            &["heap", "roots", "run.1.heap"][..],
            &["heap", "types", "run.1.heap"],
            &["heap", "summary", "run.1.heap"],
            &["top", "run.ctf", "--by", "type"],
        ] {
            let output = bactrian(folder.path(), "", arguments);
            let what = format!("{arguments:?}, {} bytes: {}", damaged.len(), said(&output));
            assert!(output.status.success(), "{what}");
            assert!(said(&output).contains("run.types"), "not told: {what}");
        }
    }
    // It takes a tour through the page, and loads types as other commands do.
    if whole_table() {
        let report = bactrian(folder.path(), "", &["report", "run.1.heap", "-o", "report.html"]);
        let said = said(&report);
        assert!(report.status.success() && said.contains("run.types"), "{said}");
    }
    // A table named explicitly is required.
    let named = ["heap", "types", "run.1.heap", "--types", "run.types"];
    assert_eq!(bactrian(folder.path(), "", &named).status.code(), Some(3));
}

#[test]
fn damaged_table_in_the_cache_is_rebuilt() {
    let folder = with_recording();
    fs::remove_file(folder.path().join("run.types")).expect("it is ours");
    let tables = folder.path().join(".cache/bactrian/types");
    let ask = || bactrian(folder.path(), "", &["heap", "types", "run.1.heap"]);
    let sound = ask();
    let files = fs::read_dir(&tables).expect("a folder").flatten().map(|file| file.path());
    for table in files.collect::<Vec<_>>() {
        let whole = fs::read(&table).expect("ours");
        fs::write(&table, &whole[..whole.len() / 2]).expect("room");
    }
    let output = ask();
    assert!(output.status.success(), "{}", said(&output));
    assert!(said(&output).contains(tables.to_str().expect("UTF-8")), "{}", said(&output));
    assert_eq!(output.stdout, sound.stdout, "the types are there again");
    assert!(said(&ask()).is_empty(), "said once more: {}", said(&ask()));
}
