//! Runs that are measured: the counters are those that the runtime itself prints at its end, and programs do not notice.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use bactrian_capture::launch::Streams;
use bactrian_capture::measure::{Measure, Measured};
use bactrian_fixtures::{Compiler, Variant, program};

use crate::unnoticed::{OF_OCAML_5, PROGRAMS, Seen, plain, seen, streams};

fn measure(program: &Path, arguments: &[&str], parameters: Option<&str>) -> (Measured, Seen) {
    let folder = tempfile::tempdir().expect("a folder");
    let [output, error] = streams(folder.path());
    let measured = Measure {
        program: program.to_owned(),
        name: program.into(),
        arguments: arguments.iter().map(OsString::from).collect(),
        variables: parameters.iter().map(|it| ("OCAMLRUNPARAM".into(), it.into())).collect(),
        streams: Streams {
            input: Some(Stdio::null()),
            output: Some(output.into()),
            error: Some(error.into()),
        },
        limit: None,
    };
    let measured = measured.run().expect("it runs");
    let seen = seen(folder.path(), measured.status);
    (measured, seen)
}

/// The numbers that the runtime prints at its end.
fn printed(program: &Path, arguments: &[&str], parameters: &str) -> Vec<(String, u64)> {
    // As long as what is measured: the standard library keeps a copy of it.
    let parameters = parameters.replace("v=0x000", "v=0x400");
    let mut command = Command::new(program);
    let output =
        command.args(arguments).env("OCAMLRUNPARAM", parameters).output().expect("it runs");
    let text = String::from_utf8(output.stderr).expect("text");
    let lines = text.lines().filter_map(|line| line.split_once(": "));
    let numbers = lines.filter_map(|(name, number)| {
        Some((name.to_owned(), number.trim().parse::<f64>().ok()? as u64))
    });
    numbers.collect()
}

fn counters_are_those_of_the_runtime(compiler: Compiler, variant: Variant) {
    let program = program("gc_steady", compiler, variant);
    for parameters in ["s=32k,o=80,v=0x000", "s=256k,o=200,v=0x000"] {
        let printed = printed(&program, &["200"], parameters);
        let (measured, _) = measure(&program, &["200"], Some(parameters));
        assert!(measured.is_exact, "{compiler:?} {variant:?}: {:?}", measured.statistics);
        let statistics = measured.statistics.expect("OCaml that is known");
        let mut compared = 0;
        for name in [
            "minor_words",
            "promoted_words",
            "major_words",
            "minor_collections",
            "major_collections",
            "heap_words",
            "top_heap_words",
            "compactions",
            "forced_major_collections",
        ] {
            let Some((_, expected)) = printed.iter().find(|(it, _)| it == name) else { continue };
            let read = statistics.get(name).map(|number| number.whole());
            assert_eq!(read, Some(*expected), "{compiler:?} {variant:?} {parameters}: {name}");
            compared += 1;
        }
        assert!(compared >= 7, "{printed:?}");
        assert!(measured.cpu > 0 && measured.wall > 0 && measured.peak_resident > 4 << 20);
        // OCaml 5 has runtime_events for pauses, which are not asked for here.
        if compiler == Compiler::OCaml4 {
            assert!(measured.pauses.is_some_and(|pauses| pauses.pauses.count() > 0));
        }
    }
}

#[test]
fn counters_of_ocaml_4_are_those_that_the_runtime_prints() {
    counters_are_those_of_the_runtime(Compiler::OCaml4, Variant::Plain);
}

#[test]
fn counters_of_ocaml_5_are_those_that_the_runtime_prints() {
    counters_are_those_of_the_runtime(Compiler::OCaml5, Variant::Plain);
}

#[test]
fn counters_of_bytecode_are_those_that_the_runtime_prints() {
    counters_are_those_of_the_runtime(Compiler::OCaml4, Variant::Bytecode);
}

fn check(name: &str, runs: &[&str], compiler: Compiler) {
    let program = program(name, compiler, Variant::Plain);
    for words in runs {
        let arguments: Vec<_> = words.split_whitespace().collect();
        let expected = plain(&program, &arguments);
        let (_, found) = measure(&program, &arguments, None);
        assert_eq!(found, expected, "{name} {words} {compiler:?}");
    }
}

#[test]
fn programs_of_ocaml_4_do_not_notice_that_they_are_measured() {
    PROGRAMS.iter().for_each(|(name, runs)| check(name, runs, Compiler::OCaml4));
}

#[test]
fn programs_of_ocaml_5_do_not_notice_that_they_are_measured() {
    let all = PROGRAMS.iter().chain(OF_OCAML_5);
    all.for_each(|(name, runs)| check(name, runs, Compiler::OCaml5));
}

#[test]
fn a_program_that_is_killed_is_told_apart() {
    let program = program("exits", Compiler::OCaml4, Variant::Plain);
    let (killed, _) = measure(&program, &["kill"], None);
    assert!(!killed.is_exact && !killed.status.success());
    let (ended, _) = measure(&program, &["exit"], None);
    assert!(ended.is_exact && ended.status.code() == Some(3));
}

#[test]
fn a_program_that_runs_for_too_long_is_ended() {
    let begin = Instant::now();
    let measured = Measure {
        program: "/bin/sleep".into(),
        name: "sleep".into(),
        arguments: vec!["1000".into()],
        variables: Vec::new(),
        streams: Streams::default(),
        limit: Some(Duration::from_millis(300)),
    };
    let measured = measured.run().expect("it runs");
    assert!(measured.was_stopped && measured.statistics.is_err());
    assert!(begin.elapsed() < crate::TOO_LONG);
}

#[test]
fn a_program_that_confines_itself_is_not_killed_at_its_end() {
    for compiler in [Compiler::OCaml4, Compiler::OCaml5] {
        let program = program("conditions", compiler, Variant::Plain);
        for itself in ["nothing", "confines", "confines-unheard"] {
            let arguments = ["allocates", itself];
            let (measured, seen) = measure(&program, &arguments, None);
            assert_eq!(seen, plain(&program, &arguments), "{compiler:?}, {itself}");
            assert_eq!(measured.status.code(), Some(3));
            assert_eq!(measured.is_exact, itself == "nothing", "{compiler:?}, {itself}");
        }
    }
}
