//! Files that another user has planted where we keep what is loaded and executed: they are refused with a
//! message. Most of this only root can test.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use bactrian_fixtures::{Compiler, Variant, program};
use tempfile::TempDir;

use crate::runs::text;

/// An unused user id.
const STRANGER: u32 = 12345;

/// A machine whose user has no home, so that files are kept in a world-writable `tmp`.
struct Machine {
    place: TempDir,
    user: String,
}

impl Machine {
    fn new() -> Machine {
        let place = tempfile::tempdir().expect("room");
        fs::create_dir(place.path().join("tmp")).expect("room");
        set_mode(&place.path().join("tmp"), 0o1777);
        let id = Command::new("id").arg("-u").output().expect("a number");
        let user = String::from_utf8(id.stdout).expect("a number").trim().to_owned();
        Machine { place, user }
    }

    fn is_root(&self) -> bool {
        self.user == "0"
    }

    fn at(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    /// The directory that another user can create before us.
    fn folder(&self) -> PathBuf {
        self.at("tmp").join(format!("bactrian-{}", self.user))
    }

    fn run(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bactrian"));
        command.args(arguments).current_dir(self.place.path()).env_clear();
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("TMPDIR", self.at("tmp")).output().expect("bactrian starts")
    }

    /// Expects that bactrian refuses the directory and says what, where and what to do.
    fn is_refused(&self, arguments: &[&str], why: &str, what: &str) {
        let output = self.run(arguments);
        let said = String::from_utf8_lossy(&output.stderr);
        let folder = self.folder();
        assert_eq!(output.status.code(), Some(3), "{what}: {said}{output:?}");
        for part in [why, text(&folder), "XDG_CACHE_HOME"] {
            assert!(said.contains(part), "{what}: nothing of {part}: {said}");
        }
    }
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, PermissionsExt::from_mode(mode)).expect("it is ours");
}

/// The files that we would put there, from a run in another directory: names and sizes are public knowledge.
fn kept(machine: &Machine) -> Vec<String> {
    let output = machine.run(&["agent", "--path"]);
    assert!(output.status.success(), "{output:?}");
    let sources = [("a.ml", "let () = print_string \"\""), ("a.mli", "")];
    for (name, text) in sources {
        fs::write(machine.at(name), text).expect("room");
    }
    let mut compiler = Command::new("ocamlopt");
    compiler.args(["-bin-annot", "-c", "a.mli", "a.ml"]).current_dir(machine.place.path());
    assert!(compiler.status().is_ok_and(|status| status.success()));
    let output = machine.run(&["types", "build", "a.cmt", "-o", "a.types"]);
    assert!(output.status.success(), "{output:?}");
    let files = fs::read_dir(machine.folder()).expect("it was made").flatten();
    let mut names: Vec<_> = files.filter_map(|file| file.file_name().into_string().ok()).collect();
    names.sort();
    assert!(names[0].starts_with("agent-") && names[1].starts_with("cmt-"), "{names:?}");
    names
}

#[test]
fn code_planted_by_another_user_is_never_run() {
    let machine = Machine::new();
    let names = kept(&machine);
    let executable = program("exceptions", Compiler::OCaml4, Variant::Plain);
    let script = format!("#!/bin/sh\ntouch {}\n", text(&machine.at("ran")));
    let plant = |folder: &Path, owner: Option<u32>| {
        fs::create_dir(folder).expect("room");
        for name in &names {
            fs::write(folder.join(name), &script).expect("room");
            set_mode(&folder.join(name), 0o755);
            chown(folder.join(name), owner, None).expect("root may");
        }
        chown(folder, owner, None).expect("root may");
    };
    let check = |why: &str, what: &str| {
        machine.is_refused(&["agent", "--path"], why, what);
        machine.is_refused(&["record", "-o", "x.ctf", "--", text(&executable)], why, what);
        machine.is_refused(&["types", "build", "a.cmt", "-o", "b.types"], why, what);
        assert!(!machine.at("ran").exists(), "{what}: planted code was run");
        assert!(!machine.at("b.types").exists(), "{what}");
    };
    let folder = machine.folder();
    let away = || fs::rename(&folder, machine.at("tmp").join(format!("away-{}", counted())));
    away().expect("it is ours");
    if machine.is_root() {
        plant(&folder, Some(STRANGER));
        check("belongs to user 12345", "a folder of another user");
        away().expect("root may");
        // Its files are root's, as if they had been moved there.
        plant(&folder, None);
        chown(&folder, Some(STRANGER), None).expect("root may");
        check("belongs to user 12345", "a folder of another user with files of ours");
        away().expect("root may");
    }
    plant(&folder, None);
    set_mode(&folder, 0o770);
    check("other users may write", "a folder that a group may write to");
    away().expect("it is ours");
    plant(&machine.at("elsewhere"), None);
    symlink(machine.at("elsewhere"), &folder).expect("room");
    check("symbolic link", "a link");
    away().expect("it is ours");
    // Our own directory may contain files that we did not write; they are verified.
    plant(&folder, None);
    let output = machine.run(&["agent", "--path"]);
    assert!(output.status.success(), "{output:?}");
    let agent = fs::read(folder.join(&names[0])).expect("it is there");
    assert_ne!(agent, script.as_bytes(), "an agent that is not itself is loaded");
    if machine.is_root() {
        chown(folder.join(&names[1]), Some(STRANGER), None).expect("root may");
        let output = machine.run(&["types", "build", "a.cmt", "-o", "b.types"]);
        assert!(output.status.success(), "{output:?}");
        assert!(!machine.at("ran").exists(), "another user's helper was run");
    }
}

/// A new number.
fn counted() -> u32 {
    use std::sync::atomic::{AtomicU32, Ordering};
    static COUNT: AtomicU32 = AtomicU32::new(0);
    COUNT.fetch_add(1, Ordering::Relaxed)
}
