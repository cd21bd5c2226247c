//! What cannot be recorded is reported before the program starts, and then the program is not started.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use bactrian_fixtures::{BOTH, Compiler, Variant, program};

use crate::runs::{Place, Run};
use crate::traces::in_folder;

/// Runs `bigarrays`, which writes a file as soon as it runs, and returns record's message.
fn refused(run: &Run, trace: &Path, place: &Place, status: u8) -> String {
    let seen = place.run(&run.observed(&["--rate", "1e-2"], trace));
    let said = String::from_utf8_lossy(&seen.stderr).into_owned();
    assert_eq!(seen.end, format!("exit status {status}"), "{said}");
    assert!(seen.files.is_empty() && seen.stdout.is_empty(), "the program was started: {seen:?}");
    said
}

#[test]
fn a_static_program_is_refused() {
    for compiler in BOTH {
        let place = Place::new();
        let run = Run::new(program("bigarrays", compiler, Variant::Static), &[]);
        assert!(!place.run(&run).files.is_empty(), "it would leave a file");
        let said = refused(&run, &place.trace("trace.ctf"), &place, 4);
        assert!(said.contains("static"), "{compiler:?}: {said}");
        assert!(in_folder(&place.traces()).is_empty(), "{compiler:?}: a trace of nothing");
    }
}

#[test]
fn a_place_where_nothing_can_be_written_is_refused() {
    let place = Place::new();
    let run = Run::new(program("bigarrays", Compiler::OCaml4, Variant::Plain), &[]);
    let read_only = place.trace("read-only");
    fs::create_dir(&read_only).expect("a folder");
    fs::set_permissions(&read_only, fs::Permissions::from_mode(0o555)).expect("our folder");
    let mut places = vec![place.trace("no/such/folder"), "/sys".into(), "/dev/null".into()];
    // Root can write where others cannot.
    if fs::write(read_only.join("probe"), "").is_err() {
        places.push(read_only);
    }
    for folder in places {
        let trace = folder.join("trace.ctf");
        let said = refused(&run, &trace, &place, 3);
        assert!(said.contains("trace.ctf"), "{said}");
    }
}

#[test]
fn standard_output_is_refused_as_a_place_for_the_trace() {
    let place = Place::new();
    let run = Run::new(program("bigarrays", Compiler::OCaml4, Variant::Plain), &[]);
    let said = refused(&run, Path::new("-"), &place, 2);
    assert!(said.contains("name a file"), "{said}");
}

#[test]
fn a_program_that_is_not_there_is_refused() {
    let place = Place::new();
    let said = refused(&Run::new("no-such-program", &[]), &place.trace("trace.ctf"), &place, 3);
    assert!(said.contains("no-such-program"), "{said}");
    assert!(in_folder(&place.traces()).is_empty());
}
