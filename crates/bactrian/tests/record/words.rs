//! The messages of `record` at the end, and unusual environments.

use std::fs;
use std::io::{BufRead, BufReader};

use bactrian_fixtures::{BOTH, Compiler, Variant, is_root, program};

use crate::runs::{Place, Run, Seen, difference, signal};
use crate::traces::{in_folder, info};

/// Runs a program observed without --quiet, and returns the messages.
fn told(place: &Place, run: &Run, options: &[&str]) -> (Seen, String) {
    let mut observed = run.observed(options, &place.trace("trace.ctf"));
    observed.arguments.retain(|word| word != "--quiet");
    let seen = place.run(&observed);
    let said = String::from_utf8_lossy(&seen.stderr).into_owned();
    (seen, said)
}

#[test]
fn programs_that_a_shell_starts_are_recorded_and_named() {
    for compiler in BOTH {
        let place = Place::new();
        let path = program("queens_lists", compiler, Variant::Plain);
        let path = path.to_str().expect("UTF-8");
        let run = Run::new("sh", &["-c", "\"$0\" && \"$0\" > /dev/null; exit 7", path]);
        let (seen, said) = told(&place, &run, &["--rate", "1e-3"]);
        assert_eq!(seen.end, "exit status 7", "{said}");
        assert_eq!(seen.stdout, place.run(&run).stdout);
        let traces = in_folder(&place.traces());
        assert_eq!(traces.len(), 2, "{compiler:?}: {said}");
        for trace in traces {
            let info = info(&trace, &[]).expect("a trace");
            let named = format!("(queens_lists, process {})", info["result"]["pid"]);
            assert!(said.contains(&named), "{named} is not in {said}");
        }
        assert!(said.contains("look at it: bactrian top "), "{said}");
    }
}

#[test]
fn a_wrapper_that_starts_no_ocaml_program_says_so() {
    let place = Place::new();
    let run = Run::new("sh", &["-c", "echo here; exit 3"]);
    let (seen, said) = told(&place, &run, &[]);
    assert_eq!((seen.end.as_str(), seen.stdout.as_slice()), ("exit status 3", &b"here\n"[..]));
    assert!(said.contains("sh is not an OCaml program, and started none"), "{said}");
    assert!(!said.contains("look at it"), "{said}");
    let (seen, said) = told(&place, &run, &["--children", "ignore"]);
    assert_eq!((seen.end.as_str(), seen.stdout.as_slice()), ("exit status 4", &b""[..]));
    assert!(said.contains("there is no OCaml runtime in it"), "{said}");
}

#[test]
fn too_low_rate_is_reported_with_a_better_one() {
    let place = Place::new();
    let run = Run::new(program("exact", Compiler::OCaml4, Variant::Plain), &[]);
    let (_, said) = told(&place, &run, &["--rate", "1e-9"]);
    assert!(said.contains("the rate of 1e-9 was too low"), "{said}");
    assert!(said.contains("--rate 3e-6 would give about 10,000 samples"), "{said}");
    assert!(!said.contains("look at it"), "there is nothing to look at: {said}");
    let (_, said) = told(&place, &run, &["--rate", "1e-9", "--after", "3600"]);
    assert!(said.contains("ended before the time of --after"), "{said}");
    let (_, said) = told(&place, &run, &["--exact"]);
    assert!(said.contains("look at it") && !said.contains("too low"), "{said}");
}

#[test]
fn another_directory_is_used_if_tmpdir_does_not_exist() {
    let place = Place::new();
    // It prints its environment, which has the original variable.
    let path = program("environment", Compiler::OCaml4, Variant::Plain);
    let run =
        Run::new(path, &["variables"]).with("TMPDIR", "/nonexistent").with("HOME", "/nonexistent");
    let trace = place.trace("trace.ctf");
    let options = ["--exact", "--snapshots", "exit", "--children", "ignore"];
    let observed = place.run(&run.observed(&options, &trace));
    assert_eq!(difference(&place.run(&run), &observed), "");
    assert!(trace.is_file() && place.trace("trace.1.heap").is_file());
    assert!(
        !fs::exists("/nonexistent").expect("a root folder"),
        "root made a home that is not there"
    );
}

#[test]
fn the_agent_goes_elsewhere_if_no_code_is_loaded_from_home() {
    if !is_root() {
        // Others may not mount anything.
        return;
    }
    let place = Place::new();
    let home = place.trace("home");
    fs::create_dir(&home).expect("a folder");
    let mut run = Run::new(program("exact", Compiler::OCaml4, Variant::Plain), &[])
        .observed(&["--exact"], &place.trace("trace.ctf"))
        .with("HOME", &home);
    let script = "mount -t tmpfs -o noexec tmpfs \"$HOME\" && exec \"$0\" \"$@\"";
    let words = ["-m", "sh", "-c", script].map(Into::into).into_iter();
    let bactrian = std::mem::replace(&mut run.program, "unshare".into());
    run.arguments = words.chain([bactrian.into()]).chain(run.arguments).collect();
    let seen = place.run(&run);
    assert_eq!(seen.end, "exit status 0", "{}", String::from_utf8_lossy(&seen.stderr));
    let info = info(&place.trace("trace.ctf"), &[]).expect("a trace");
    assert!(info["result"]["sampled_allocations"].as_u64() > Some(0), "{info:#}");
}

#[test]
fn last_message_is_one_command_that_shows_everything() {
    let place = Place::new();
    let run = Run::new(program("exact", Compiler::OCaml4, Variant::Plain), &[]);
    let last = |options: &[&str]| {
        let (_, said) = told(&place, &run, options);
        said.lines().last().map(str::to_owned).unwrap_or_default()
    };
    let folder = place.traces();
    let folder = folder.display();
    let alone = format!("in a browser: bactrian view {folder}/trace.ctf");
    assert!(last(&[]).ends_with(&alone), "{}", last(&[]));
    let both = format!("in a browser: bactrian view {folder}/trace.ctf {folder}/trace.1.heap");
    let options = ["--snapshots", "exit"];
    assert!(last(&options).ends_with(&both), "{}", last(&options));
    let options = ["--snapshots", "exit", "--no-trace"];
    let heap = format!("in a browser: bactrian view {folder}/trace.1.heap");
    assert!(last(&options).ends_with(&heap), "{}", last(&options));
    assert!(!last(&["--rate", "1e-9"]).contains("in a browser"), "there is nothing to look at");
}

#[test]
fn page_opens_when_the_program_has_ended() {
    let place = Place::new();
    let run = Run::new(program("exact", Compiler::OCaml4, Variant::Plain), &[]);
    // There is no browser that could be started.
    let observed = run.observed(&["--view"], &place.trace("trace.ctf")).with("PATH", "");
    let mut child = place.start(&observed);
    let out = child.stdout.take().expect("a pipe");
    let mut lines = BufReader::new(out).lines().map_while(Result::ok);
    assert!(lines.any(|line| line.starts_with("http://127.0.0.1:")), "the page");
    signal("INT", &child.id().to_string());
    assert_eq!(child.wait().expect("it ends").code(), Some(0), "the program's own status");
}
