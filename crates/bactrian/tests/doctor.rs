//! `bactrian doctor` on real files: one small program as compiled by different compilers with different
//! options, other programs of the system, and files that are not programs.
//!
//! Golden files contain its output and exit status; `UPDATE_GOLDEN=1 cargo test` rewrites them. They are for
//! Debian 12, whose OCaml is 4.13.1.

mod golden;

use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use bactrian_fixtures::{Compiler, Recipe, own_folder, run, runtime_of};
use serde_json::Value;

/// Prints its process id and waits until its input ends.
const SOURCE: &str = "\
let pairs = List.init 100 (fun i -> (i, string_of_int i))
let () =
  let self = open_in \"/proc/self/stat\" in
  print_endline (List.hd (String.split_on_char ' ' (input_line self)));
  try while true do ignore (input_line stdin) done
  with End_of_file -> print_endline (String.concat \",\" (List.map snd pairs))
";

/// The variants: file, compiler, options.
const COMPILED: &[(&str, &str, &str)] = &[
    ("native", "ocamlopt", "-g"),
    ("without_g", "ocamlopt", ""),
    ("static", "ocamlopt", "-g -ccopt -static"),
    ("hidden", "ocamlopt", "-g -ccopt -Wl,--no-export-dynamic"),
    ("library", "ocamlopt", "-g -output-complete-obj -ccopt -shared -runtime-variant _pic"),
    ("bytecode", "ocamlc", "-g"),
    ("bytecode_without_g", "ocamlc", ""),
    ("custom", "ocamlc", "-g -custom"),
    ("complete", "ocamlc", "-g -output-complete-exe"),
];

/// A directory with all programs, made once for all tests.
fn folder() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let folder = own_folder("doctor");
        for (name, tool, options) in COMPILED {
            compile(&folder, name, &Compiler::OCaml4.tool(tool), options);
        }
        let bytes = fs::read(folder.join("native")).expect("compiled");
        program(&folder, "truncated", &bytes[..10_000]);
        program(&folder, "empty", b"");
        program(&folder, "text", b"let there = be light\n");
        program(&folder, "script", b"#!/bin/sh\nexec ./native\n");
        program(&folder, "ocaml_script", b"#!/usr/bin/env ocaml\nprint_endline \"here\"\n");
        program(&folder, "lost_script", b"#!/no/such/interpreter\n");
        program(&folder, "without_x", &bytes);
        fs::set_permissions(folder.join("without_x"), Permissions::from_mode(0o644)).expect("ours");
        for (name, of) in
            [("stripped", "native"), ("static_stripped", "static"), ("hidden_stripped", "hidden")]
        {
            fs::copy(folder.join(of), folder.join(name)).expect("room");
            run(Command::new("strip").arg(folder.join(name)));
        }
        folder
    })
}

fn compile(folder: &Path, name: &str, tool: &Path, options: &str) {
    let arguments = format!("{options} waits.ml -o {name}.so");
    let recipe = Recipe::new(format!("doctor-{name}")).file("waits.ml", SOURCE);
    let made = recipe.step(tool, &arguments).build();
    fs::copy(made.join(format!("{name}.so")), folder.join(name)).expect("room");
    // One of the files that a compiler leaves.
    if name == "native" {
        let own = folder.join("native.build");
        fs::create_dir(&own).expect("room");
        fs::copy(made.join("waits.o"), own.join("waits.o")).expect("room");
    }
}

fn program(folder: &Path, name: &str, bytes: &[u8]) {
    let path = folder.join(name);
    fs::write(&path, bytes).expect("room");
    fs::set_permissions(&path, Permissions::from_mode(0o755)).expect("ours");
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn bactrian(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bactrian"));
    command.args(args).current_dir(folder()).env_remove("NO_COLOR").stdin(Stdio::null());
    command.output().expect("bactrian starts")
}

/// The output of doctor as JSON.
fn result(subject: &str) -> Value {
    let output = bactrian(&["doctor", subject, "--json"]);
    let json: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{subject}: {error}: {}", text(&output.stderr)));
    let works = json["result"]["record"]["works"] == "yes";
    assert_eq!(output.status.code(), Some(if works { 0 } else { 4 }), "{subject}");
    assert_eq!((&json["command"], &json["schema_version"]), (&"doctor".into(), &2.into()));
    json["result"].clone()
}

#[test]
fn doctor_prints_what_the_golden_files_hold() {
    let table = [
        ("native", "doctor ./native"),
        ("without_g", "doctor ./without_g"),
        ("stripped", "doctor ./stripped"),
        ("static", "doctor ./static"),
        ("static_stripped", "doctor ./static_stripped"),
        ("hidden", "doctor ./hidden"),
        ("hidden_stripped", "doctor ./hidden_stripped"),
        ("library", "doctor ./library"),
        ("bytecode", "doctor ./bytecode"),
        ("bytecode_without_g", "doctor ./bytecode_without_g"),
        ("custom", "doctor ./custom"),
        ("complete", "doctor ./complete"),
        ("object", "doctor ./native.build/waits.o"),
        ("not_ocaml", "doctor /bin/true"),
        ("script", "doctor ./script"),
        ("ocaml_script", "doctor ./ocaml_script"),
        ("lost_script", "doctor ./lost_script"),
        ("text", "doctor ./text"),
        ("empty", "doctor ./empty"),
        ("truncated", "doctor ./truncated"),
        ("without_x", "doctor ./without_x"),
        ("missing", "doctor ./missing"),
        ("not_in_path", "doctor native"),
        ("a_folder", "doctor ./native.build"),
        ("no_process", "doctor 4194305"),
    ];
    golden::check("doctor_", &table, |line| bactrian(&line.split(' ').collect::<Vec<_>>()));
}

#[test]
fn programs_of_debian_can_be_recorded() {
    for name in ["ocamlopt.opt", "ocamldep.opt", "unison", "why3", "haxe"] {
        if bactrian_capture::find_program(name.as_ref()).is_err() {
            eprintln!("{name} is not installed: not looked at");
            continue;
        }
        let said = result(name);
        let ocaml = &said["program"]["ocaml"];
        assert_eq!(said["record"]["works"], "yes", "{name}");
        assert_eq!(ocaml["version"], "4.13.1", "{name}");
        assert_eq!(ocaml["version_source"], "sys", "{name}");
        assert_eq!(
            (&ocaml["runtime"], &ocaml["kind"]),
            (&"4.13".into(), &"native".into()),
            "{name}"
        );
        assert!(ocaml["debug_info"]["modules_with"].as_u64() > Some(10), "{name}");
        let image = &said["program"]["image"];
        assert_eq!((&image["stripped"], &image["static"]), (&true.into(), &false.into()), "{name}");
        assert_eq!(image["missing_symbols"], serde_json::json!([]), "{name}");
        assert_eq!(image["wakes_agent"], true, "{name}");
    }
}

#[test]
fn ocaml5_is_distinguished_from_ocaml4() {
    // Its own runtime may not be where its compiler says.
    let for_runtime = format!("-use-runtime {}", runtime_of(Compiler::OCaml5).display());
    for (name, tool, options) in [
        ("five", "ocamlopt", "-g"),
        ("five_without_g", "ocamlopt", ""),
        ("five_bytecode", "ocamlc", &for_runtime),
    ] {
        compile(folder(), name, &Compiler::OCaml5.tool(tool), options);
    }
    let native = result("./five");
    let ocaml = &native["program"]["ocaml"];
    let (major, minor) = Compiler::OCaml5.version();
    let version = format!("{major}.{minor}");
    assert_eq!(ocaml["runtime"], *version);
    assert!(ocaml["version"].as_str().is_some_and(|said| said.starts_with(&version)), "{ocaml}");
    assert_eq!(native["record"]["works"], "yes");
    let missing = |said: &Value| {
        let missing = said["program"]["ocaml"]["debug_info"]["modules_without"].clone();
        missing.as_array().expect("a list").contains(&"Waits".into())
    };
    assert!(!missing(&native));
    assert!(missing(&result("./five_without_g")));
    let bytecode = result("./five_bytecode");
    assert_eq!(bytecode["program"]["ocaml"]["version"], *version);
    assert_eq!(bytecode["record"]["works"], "yes");
}

/// A version of OCaml newer than any we know has all symbols of the newest that we know: it is recognised by
/// its own version string.
#[test]
fn an_unknown_version_is_refused_by_name_in_all_commands() {
    let source = "let () = print_endline Sys.ocaml_version; ignore (input_line stdin)\n";
    let recipe = Recipe::new("doctor-newer").file("newer.ml", source);
    let made = recipe.step(Compiler::OCaml5.ocamlopt(), "-g newer.ml -o newer").build();
    let mut bytes = fs::read(made.join("newer")).expect("compiled");
    let (major, minor) = Compiler::OCaml5.version();
    let text = format!("{major}.{minor}.");
    let words = bytes.windows(text.len()).enumerate();
    let at: Vec<_> = words.filter(|(_, word)| *word == text.as_bytes()).map(|(at, _)| at).collect();
    at.iter().for_each(|at| bytes[at + 2] = b'9');
    program(folder(), "newer", &bytes);
    let reason = format!("OCaml {major}.9.");
    let refused = |arguments: &[&str]| {
        let output = bactrian(arguments);
        let said = text_of(&output);
        assert_eq!(output.status.code(), Some(4), "{arguments:?}: {said}");
        let rest = said.split_once(&*reason).map(|(_, rest)| rest);
        let known = "is not known to this version of Bactrian, which knows 4.11 to";
        assert!(rest.is_some_and(|rest| rest.contains(known)), "{arguments:?}: {said}");
    };
    refused(&["doctor", "./newer"]);
    refused(&["record", "-o", "newer.ctf", "--", "./newer"]);
    refused(&["record", "--snapshots", "exit", "--no-trace", "-o", "newer.ctf", "--", "./newer"]);
    refused(&["live", "--for", "1s", "--", "./newer"]);
    let mut command = Command::new(folder().join("newer"));
    let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("ours");
    let mut line = String::new();
    let mut output = BufReader::new(process.stdout.take().expect("a pipe"));
    output.read_line(&mut line).expect("it says its version");
    let pid = process.id().to_string();
    refused(&["doctor", &pid]);
    refused(&["record", "--for", "1", "-o", "newer.ctf", &pid]);
    refused(&["snapshot", "-o", "newer.heap", &pid]);
    // What needs no runtime is shown, with the reason why the rest is not.
    let shown = text_of(&bactrian(&["live", "--for", "1s", &pid]));
    assert!(shown.contains("process.rss") && shown.contains(&reason), "{shown}");
    drop(process.stdin.take());
    assert!(process.wait().expect("our child").code().is_some(), "it was harmed");
}

fn text_of(output: &Output) -> String {
    text(&output.stdout) + &text(&output.stderr)
}

#[test]
fn record_refuses_with_the_same_words() {
    for subject in ["./static", "./static_stripped", "./hidden", "./hidden_stripped"] {
        let verdict = result(subject)["record"].clone();
        let output = bactrian(&["record", "-o", "refused.ctf", "--", subject]);
        assert_eq!(output.status.code(), Some(4), "{subject}");
        for part in ["reason", "way_out"] {
            let part = verdict[part].as_str().expect("words");
            assert!(text(&output.stderr).contains(part), "{subject}: {part}");
        }
        assert!(output.stdout.is_empty() && !folder().join("refused.ctf").exists(), "{subject}");
    }
}

#[test]
fn privileged_program_is_refused_to_users_without_its_privileges() {
    let path = folder().join("setuid");
    fs::copy(folder().join("native"), &path).expect("room");
    let mode = |mode| fs::set_permissions(&path, Permissions::from_mode(mode)).expect("ours");
    mode(0o4755);
    assert_eq!(result("./setuid")["record"]["works"], "yes", "root gains no rights");
    // Only root can change the owner of files.
    const NOBODY: u32 = 65534;
    if fs::metadata(&path).expect("ours").uid() != 0
        || std::os::unix::fs::chown(&path, Some(NOBODY), Some(NOBODY)).is_err()
    {
        return;
    }
    for (bits, name) in [(0o4755, "setuid"), (0o2755, "setgid")] {
        mode(bits);
        let said = result("./setuid");
        assert_eq!(said["program"]["privileges"], serde_json::json!([name]));
        assert_eq!(said["record"]["works"], "no");
        assert!(said["record"]["reason"].as_str().expect("words").contains(name));
    }
}

/// Starts a waiting program. Returns it and the process id of the program.
fn waiting(command: &mut Command) -> (std::process::Child, u32) {
    let mut child = command
        .current_dir(folder())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut line = String::new();
    let mut out = BufReader::new(child.stdout.as_mut().expect("a pipe"));
    out.read_line(&mut line).expect("it tells");
    (child, line.trim().parse().expect("a number"))
}

fn end(mut child: std::process::Child) {
    drop(child.stdin.take());
    child.wait().expect("it ends");
}

#[test]
fn process_is_examined_by_its_id() {
    let (child, pid) = waiting(&mut Command::new(folder().join("native")));
    let said = result(&pid.to_string());
    assert_eq!(said["process"]["pid"], pid);
    assert_eq!(said["process"]["agent"], Value::Null);
    assert_eq!(said["process"]["other_mount_namespace"], false);
    assert_eq!(said["record"]["works"], "yes", "if it is started anew");
    assert_eq!(said["record_running"]["works"], "yes");
    assert_eq!(said["attach"]["works"], "yes");
    assert_eq!(said["program"]["path"].as_str(), folder().join("native").to_str());
    end(child);

    let mut record = Command::new(env!("CARGO_BIN_EXE_bactrian"));
    let (child, pid) =
        waiting(record.args(["record", "-o", "waits.ctf", "--quiet", "--", "./native"]));
    let said = result(&pid.to_string());
    let agent = said["process"]["agent"].as_str().expect("the agent is in it");
    assert!(agent.ends_with(".so"), "{agent}");
    assert_eq!(said["record_running"]["works"], "no", "it is recorded already");
    end(child);

    let (child, pid) = waiting(&mut Command::new(folder().join("bytecode")));
    let said = result(&pid.to_string());
    assert_eq!(said["program"]["ocaml"]["kind"], "bytecode-runtime");
    assert_eq!(said["record_running"]["works"], "no");
    end(child);
}

#[test]
fn programs_without_symbols_get_the_right_advice() {
    let elsewhere = tempfile::tempdir().expect("a folder");
    for subject in ["./static_stripped", "./hidden_stripped"] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bactrian"));
        command.args(["doctor", subject, "--json"]).current_dir(folder());
        // No compiler whose runtime could be compared.
        command.env("PATH", elsewhere.path()).env("HOME", elsewhere.path()).env_remove("OPAMROOT");
        let output = command.output().expect("bactrian starts");
        let json: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let said = &json["result"];
        assert_eq!(said["program"]["ocaml"]["kind"], "unknown", "{said}");
        for way in ["snapshot", "attach"] {
            let advice = said[way]["way_out"].as_str().expect("words");
            assert!(advice.starts_with("Do not strip it, "), "{advice}");
        }
        let advice = said["record"]["way_out"].as_str().expect("words");
        assert!(!advice.contains("strip") && !advice.contains("snapshot"), "{advice}");
        // The same with the compiler in PATH.
        let said = result(subject);
        assert_eq!(said["program"]["ocaml"]["version_source"], "code");
        assert_eq!(said["attach"]["works"], "yes");
        let advice = said["record"]["way_out"].as_str().expect("words");
        assert!(advice.ends_with("with bactrian snapshot PID"), "{advice}");
    }
}

/// The peak memory of recording a program by the time it runs, in kB.
fn memory_to_record(program: &str) -> u64 {
    let mut record = Command::new(env!("CARGO_BIN_EXE_bactrian"));
    let (child, _) = waiting(record.args(["record", "-o", "memory.ctf", "--quiet", "--", program]));
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).expect("it runs");
    end(child);
    let most = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("it is told");
    most.trim().trim_end_matches(" kB").parse().expect("a number")
}

#[test]
fn a_large_executable_is_recorded_without_reading_it() {
    const MEGABYTES: u64 = 1024;
    let path = folder().join("large");
    fs::copy(folder().join("native"), &path).expect("room");
    let file = fs::OpenOptions::new().write(true).open(&path).expect("ours");
    file.set_len(150 << 20).expect("a hole takes no room");
    drop(file);
    let (small, large) = (memory_to_record("./native"), memory_to_record("./large"));
    assert!(large < small + 30 * MEGABYTES, "{large} kB, {small} kB for a small one");
}

#[test]
fn our_own_process_is_not_an_ocaml_program() {
    let said = result(&std::process::id().to_string());
    assert_eq!(said["program"]["ocaml"], Value::Null);
    assert_eq!(said["record"]["works"], "no");
}

#[test]
fn number_names_a_file_if_it_exists() {
    // Larger than any process id.
    let name = "4194306";
    fs::copy(folder().join("native"), folder().join(name)).expect("room");
    let said = result(name);
    assert_eq!(said["process"], Value::Null);
    assert_eq!(said["program"]["path"], format!("./{name}"));
}

#[test]
fn options_behind_a_process_number_are_refused_with_the_command_that_works() {
    let output = bactrian(&["record", "2147483647", "--for", "5s"]);
    assert_eq!(output.status.code(), Some(2));
    let said = text(&output.stderr);
    assert!(said.contains("bactrian record --for 5s 2147483647"), "{said}");
}
