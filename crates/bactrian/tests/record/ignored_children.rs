//! SIGCHLD is ignored, by the program or by our parent: no wait hangs, and every exit status is known.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output};
use std::thread;
use std::time::{Duration, Instant};

use bactrian_fixtures::{BOTH, Compiler, Variant, program, until_it_worked};

use crate::runs::{Place, Run, TOO_LONG, difference, signal, text};

/// Not with the shell's trap: some shells need the signal themselves.
pub const IGNORED: &str = "set -- env --ignore-signal=CHLD \"$@\"";

/// The processes of a program, by its path.
fn processes_of(program: &Path) -> Vec<String> {
    let program = program.canonicalize().expect("it is there");
    let all = fs::read_dir("/proc").expect("processes").flatten();
    let is_one = |process: &fs::DirEntry| {
        fs::read_link(process.path().join("exe")).is_ok_and(|exe| exe == program)
    };
    let of_it = all.filter(is_one);
    of_it.filter_map(|process| process.file_name().into_string().ok()).collect()
}

/// A copy of a program, so that its processes can be recognised.
fn copied(place: &Place, program: &Path) -> PathBuf {
    let copy = place.trace("program");
    fs::copy(program, &copy).expect("room");
    copy
}

#[test]
fn program_that_ignores_its_children_has_all_its_snapshots() {
    for compiler in BOTH {
        let place = Place::new();
        let executable = copied(&place, &program("ignores_children", compiler, Variant::Plain));
        // One at a time: a copy that does not end blocks all others.
        let run = Run::new(&executable, &["3", text(&place.traces())]);
        let options = ["--snapshots", "major", "--no-trace"];
        let seen = place.run(&run.observed(&options, &place.trace("run.ctf")));
        let begin = Instant::now();
        let mut left = processes_of(&executable);
        while !left.is_empty() && begin.elapsed() < TOO_LONG {
            thread::sleep(Duration::from_millis(20));
            left = processes_of(&executable);
        }
        left.iter().for_each(|copy| signal("KILL", copy));
        assert!(left.is_empty(), "{compiler:?}: copies wait for ever: {left:?}");
        assert_eq!(seen.end, "exit status 0", "{compiler:?}: {seen:?}");
        assert_eq!(seen.stdout, b"enough: true\n", "{compiler:?}: too few snapshots");
    }
}

#[test]
fn starter_that_ignores_its_children_gets_the_status_of_the_program() {
    for compiler in BOTH {
        let place = Place::new();
        let executable = program("exits", compiler, Variant::Plain);
        for words in ["end", "exit", "kill"] {
            let run = Run { first: IGNORED, ..Run::new(&executable, &[words]) };
            let plain = place.run(&run);
            for options in [&["--rate", "1e-2"][..], &["--snapshots", "exit", "--no-trace"]] {
                let observed = place.run(&run.observed(options, &place.trace("run.ctf")));
                let what = difference(&plain, &observed);
                assert_eq!(what, "", "{compiler:?}, {words}, {options:?}");
            }
        }
    }
}

/// Runs our binary with SIGCHLD ignored.
fn bactrian(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new("sh");
    let script = format!("{IGNORED}\nexec \"$@\"");
    command.args(["-c", &script, "sh", env!("CARGO_BIN_EXE_bactrian")]).args(arguments);
    command.current_dir(folder).env("HOME", folder).env("XDG_CACHE_HOME", folder);
    command.output().expect("a shell")
}

#[test]
fn live_ends_with_the_status_of_the_program() {
    let folder = tempfile::tempdir().expect("room");
    let executable = program("exits", Compiler::OCaml4, Variant::Plain);
    let plain = Command::new(&executable).arg("exit").output().expect("it starts");
    let output = bactrian(folder.path(), &["live", "--json", "--", text(&executable), "exit"]);
    assert_eq!(output.status.code(), plain.status.code(), "{output:?}");
}

#[test]
fn helper_of_types_is_waited_for() {
    let folder = tempfile::tempdir().expect("room");
    fs::write(folder.path().join("a.ml"), "let x = [1]").expect("room");
    let mut compiler = Command::new("ocamlopt");
    compiler.args(["-bin-annot", "-c", "a.ml"]).current_dir(folder.path());
    assert!(compiler.status().is_ok_and(|status| status.success()));
    let output = bactrian(folder.path(), &["types", "build", "a.cmt", "-o", "a.types"]);
    assert!(output.status.success(), "{output:?}");
    assert!(folder.path().join("a.types").is_file());
}

/// A process that is killed with the test.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        // It may have exited already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn snapshot_of_a_process_is_taken() {
    for compiler in BOTH {
        let folder = tempfile::tempdir().expect("room");
        let executable = program("steady", compiler, Variant::Plain);
        let started = Command::new(executable).args(["60", "idle"]).spawn().expect("it starts");
        let process = Ended(started);
        until_it_worked(process.0.id(), Duration::from_millis(20));
        let pid = process.0.id().to_string();
        let output = bactrian(folder.path(), &["snapshot", &pid, "-o", "a.heap"]);
        assert!(output.status.success(), "{compiler:?}: {output:?}");
        assert!(folder.path().join("a.heap").is_file(), "{compiler:?}: {output:?}");
    }
}
