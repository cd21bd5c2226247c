//! Verdicts on programs, given the facts about them.

use super::*;
use crate::doctor::facts::{Debug, VersionSource};
use crate::doctor::privilege::Privilege;

/// The facts about a program that can be recorded.
fn program() -> Facts {
    Facts {
        path: "server".into(),
        interpreters: Vec::new(),
        ocaml: Some(ocaml("4.13.1", Some(Version::new(4, 13)))),
        image: Some(MachineCode {
            machine: Machine::X86_64,
            bits: 64,
            purpose: Purpose::Program,
            is_static: false,
            loader: Some("/lib64/ld-linux-x86-64.so.2".to_owned()),
            is_relocatable: true,
            is_stripped: true,
            has_dwarf: false,
            is_waking: true,
            missing_symbols: Vec::new(),
        }),
        privileges: Vec::new(),
    }
}

fn ocaml(said: &str, runtime: Option<Version>) -> OcamlFacts {
    OcamlFacts {
        kind: ExecutableKind::Native,
        version: Some(said.to_owned()),
        version_source: Some(VersionSource::Sys),
        runtime,
        release: Version::parse(said),
        debug_info: Some(Debug {
            is_complete: true,
            modules_with: Some(7),
            modules_without: Vec::new(),
        }),
    }
}

/// Changes a recordable program and checks the verdict: a part of the note, or of the refusal.
fn check(expected: Result<&str, (Cause, &str)>, change: impl FnOnce(&mut Facts, &mut MachineCode)) {
    let mut facts = program();
    let mut image = facts.image.take().expect("it has one");
    change(&mut facts, &mut image);
    facts.image = Some(image);
    match (record(&facts), expected) {
        (Ok(note), Ok(part)) => assert!(note.contains(part), "{note}"),
        (Err(refusal), Err((cause, part))) => {
            assert_eq!(refusal.cause, cause, "{refusal}");
            assert!(refusal.reason.contains(part), "{refusal}");
            assert!(!refusal.way_out.is_empty(), "{refusal}");
        }
        (seen, expected) => panic!("{seen:?} instead of {expected:?}"),
    }
}

#[test]
fn verdicts_depend_on_the_ocaml_version() {
    let of = |said: &'static str, runtime: (u8, u8), expected| {
        let runtime = (runtime.0 > 0).then(|| Version::new(runtime.0, runtime.1));
        check(expected, |facts, _| facts.ocaml = Some(ocaml(said, runtime)));
    };
    let no = |part| Err((Cause::Version, part));
    of("4.13.1", (4, 13), Ok("tested with OCaml 4.13"));
    of("5.3.0", (5, 3), Ok("tested with OCaml 5.3"));
    of("4.11.2", (4, 11), Ok("expected to work, not tested"));
    of("4.14.2", (4, 14), Ok("expected to work, not tested"));
    of("4.10.2", (4, 10), no("OCaml 4.10.2 has no Gc.Memprof, which came with 4.11"));
    of("4.02.3", (0, 0), no("OCaml 4.02.3 has no Gc.Memprof"));
    for (said, minor) in [("5.0.0", 0), ("5.1.1", 1), ("5.2.1", 2)] {
        let reason =
            "has no Gc.Memprof, which samples allocations: recording a trace needs OCaml 5.3";
        of(said, (5, minor), Err((Cause::NoSampler, reason)));
    }
    of("5.2.0+jst", (5, 3), no("a modified OCaml"));
    of("4.14.0+changed", (5, 3), no("says that it is OCaml 4.14.0+changed, but its runtime"));
    of(
        "5.3.0",
        (0, 0),
        no("OCaml 5.3.0 is not known to this version of Bactrian, which knows 4.11"),
    );
    of("5.9.0", (5, 5), no("OCaml 5.9.0 is not known to this version of Bactrian"));
    of("5.9.0", (0, 0), no("OCaml 5.9.0 is not known"));
    check(no("its version of OCaml is not known to this version of Bactrian"), |facts, _| {
        let unknown = OcamlFacts { version: None, release: None, ..ocaml("5.3.0", None) };
        facts.ocaml = Some(unknown);
    });
    // If the module Sys is not linked, only symbols give the version.
    check(Ok("tested with OCaml 5.3"), |facts, _| {
        facts.ocaml = Some(ocaml("5.3", Some(Version::new(5, 3))));
    });
}

#[test]
fn a_refusal_for_lack_of_a_sampler_names_what_works() {
    let mut facts = program();
    facts.ocaml = Some(ocaml("5.2.1", Some(Version::new(5, 2))));
    for is_static in [false, true] {
        // Static linking is not the reason for the refusal, but it rules out advice that needs the agent from
        // the start.
        facts.image.as_mut().expect("it has one").is_static = is_static;
        let refusal = record(&facts).expect_err("it has no sampler").to_string();
        let parts =
            ["OCaml 5.2.1", "needs OCaml 5.3 or newer", "bactrian snapshot PID", "bactrian live"];
        for part in parts {
            assert!(refusal.contains(part), "{refusal}");
        }
        let starts_it = refusal.contains("bactrian record --no-trace --snapshots exit");
        assert_eq!(starts_it, !is_static, "{refusal}");
        assert_eq!(agent(&facts).is_ok(), !is_static);
    }
}

#[test]
fn programs_that_cannot_load_the_agent_are_refused() {
    let no = |part| Err((Cause::Closed, part));
    check(no("linked statically"), |_, image| (image.is_static, image.loader) = (true, None));
    check(no("built for musl"), |_, image| {
        image.loader = Some("/lib/ld-musl-x86_64.so.1".to_owned());
    });
    check(no("it is for arm64"), |_, image| image.machine = Machine::Aarch64);
    check(no("it is for x86, and"), |_, image| (image.machine, image.bits) = (Machine::X86, 32));
    check(no("x32"), |_, image| image.bits = 32);
    check(no("(setuid and file capabilities)"), |facts, _| {
        facts.privileges = vec![Privilege::Setuid, Privilege::Capabilities];
    });
    check(no("(caml_c_call)"), |_, image| image.missing_symbols = vec!["caml_c_call"]);
    check(no("(a and 3 more)"), |_, image| image.missing_symbols = vec!["a", "b", "c", "d"]);
    check(no("readlink"), |_, image| image.is_waking = false);
}

#[test]
fn refusals_name_what_works() {
    let mut facts = program();
    let image = facts.image.as_mut().expect("it has one");
    (image.is_static, image.loader) = (true, None);
    let refusal = record(&facts).expect_err("static");
    assert!(refusal.way_out.starts_with("Link it dynamically"), "{refusal}");
    assert!(refusal.way_out.ends_with("with bactrian snapshot PID"), "{refusal}");
    let nameless = OcamlFacts { kind: ExecutableKind::Unknown, ..ocaml("4.13.1", None) };
    facts.ocaml = Some(nameless);
    let refusal = record(&facts).expect_err("static");
    assert_eq!(refusal.way_out, "Link it dynamically, without -ccopt -static");
    let Verdict::No { way_out, .. } = snapshot(&facts) else { panic!("it has no names") };
    assert!(way_out.starts_with("Do not strip it"), "{way_out}");
    // Exported symbols survive stripping.
    let image = facts.image.as_mut().expect("it has one");
    (image.is_static, image.loader) = (false, Some("/lib64/ld-linux-x86-64.so.2".to_owned()));
    assert_eq!(record(&facts).expect_err("it has no names").way_out, EXPORT);
}

#[test]
fn unknown_ocaml_versions_and_other_programs_are_refused() {
    check(Err((Cause::NotOcaml, "no OCaml runtime")), |facts, _| facts.ocaml = None);
    check(Err((Cause::Closed, "built for musl")), |facts, image| {
        facts.ocaml = None;
        image.loader = Some("/lib/ld-musl-x86_64.so.1".to_owned());
    });
    check(Err((Cause::Closed, "it is for x86, and")), |facts, image| {
        facts.ocaml = None;
        (image.machine, image.bits) = (Machine::X86, 32);
    });
    check(Err((Cause::NotOcaml, "a script for /bin/sh")), |facts, _| {
        facts.ocaml = None;
        facts.interpreters = vec!["/bin/sh".into()];
    });
    for (purpose, part) in
        [(Purpose::Library, "library"), (Purpose::Object, "object"), (Purpose::Core, "core")]
    {
        check(Err((Cause::NotAProgram, part)), |_, image| image.purpose = purpose);
    }
    for (kind, cause, part) in [
        (ExecutableKind::NativeWithoutRuntime, Cause::Version, "shared library"),
        (ExecutableKind::Unknown, Cause::Closed, "exports no symbols"),
    ] {
        check(Err((cause, part)), |facts, _| {
            facts.ocaml = facts.ocaml.take().map(|ocaml| OcamlFacts { kind, ..ocaml });
        });
    }
}

#[test]
fn bytecode_is_recorded_whatever_its_runtime_exports() {
    for kind in [
        ExecutableKind::Bytecode,
        ExecutableKind::Custom,
        ExecutableKind::Complete,
        ExecutableKind::Runtime,
    ] {
        check(Ok("tested"), |facts, image| {
            facts.ocaml = facts.ocaml.take().map(|ocaml| OcamlFacts { kind, ..ocaml });
            image.missing_symbols = vec!["caml_c_call"];
        });
    }
}

#[test]
fn types_need_the_cmt_files_of_the_build() {
    let verdict = types(&program());
    let Verdict::No { way_out, .. } = verdict else { panic!("{verdict:?}") };
    assert!(way_out.contains("bactrian types build"), "{way_out}");
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("program");
    for name in ["program", "program.cmt"] {
        std::fs::write(folder.path().join(name), "").expect("room");
    }
    let verdict = types(&Facts { path, ..program() });
    let Verdict::Yes { note } = verdict else { panic!("{verdict:?}") };
    assert!(note.starts_with("its .cmt files are in /"), "{note}");
}

#[test]
fn refusals_say_what_helps() {
    let refusal = Refusal::new(Cause::NotOcaml, "why", "What helps").about(Path::new("x"));
    assert_eq!(refusal.to_string(), "x: why. What helps");
}

/// Changes a recordable program and checks the verdict on snapshots.
fn check_snapshot(expected: Result<&str, &str>, change: impl FnOnce(&mut Facts, &mut MachineCode)) {
    let mut facts = program();
    let mut image = facts.image.take().expect("it has one");
    change(&mut facts, &mut image);
    facts.image = Some(image);
    match (snapshot(&facts), expected) {
        (Verdict::Yes { note }, Ok(part)) => assert!(note.contains(part), "{note}"),
        (Verdict::No { reason, way_out }, Err(part)) => {
            assert!(reason.contains(part), "{reason}");
            assert_eq!(way_out.is_empty(), facts.ocaml.is_none(), "{reason}");
            assert!(matches!(attach(&facts, None), Verdict::No { .. }), "{reason}");
        }
        (seen, expected) => panic!("{seen:?} instead of {expected:?}"),
    }
}

#[test]
fn snapshots_need_a_known_heap_layout() {
    let of = |said: &'static str, (major, minor), expected| {
        let runtime = Some(Version::new(major, minor));
        check_snapshot(expected, |facts, _| facts.ocaml = Some(ocaml(said, runtime)));
    };
    of("4.13.1", (4, 13), Ok("tested with OCaml 4.13"));
    of("5.3.0", (5, 3), Ok("tested with OCaml 5.3"));
    of("4.14.2", (4, 14), Ok("not tested with OCaml 4.14"));
    of("4.10.2", (4, 10), Err("heaps of OCaml 4.10.2 are not known"));
    of("5.1.0", (5, 1), Ok("checked by hand with OCaml 5.1"));
    of("5.6.0", (5, 6), Err("OCaml 5.6.0 is not known to this version of Bactrian"));
    of("5.2.0+jst", (5, 3), Err("a modified OCaml"));
    let bytecode = |said: &'static str, version: Version| {
        move |facts: &mut Facts, _: &mut MachineCode| {
            let ocaml = ocaml(said, Some(version));
            facts.ocaml = Some(OcamlFacts { kind: ExecutableKind::Custom, ..ocaml });
        }
    };
    check_snapshot(Ok("tested"), bytecode("4.13.1", Version::new(4, 13)));
    check_snapshot(Ok("tested with OCaml 5.3"), bytecode("5.3.0", Version::new(5, 3)));
}

#[test]
fn what_the_agent_cannot_enter_can_still_be_traced() {
    check_snapshot(Ok("only while it runs"), |_, image| {
        (image.is_static, image.loader) = (true, None);
    });
    check_snapshot(Err("is stripped"), |facts, image| {
        (image.is_static, image.loader) = (true, None);
        let nameless = OcamlFacts { version: None, release: None, ..ocaml("4.13.1", None) };
        facts.ocaml = Some(OcamlFacts { kind: ExecutableKind::Unknown, ..nameless });
    });
    check_snapshot(Err("no OCaml runtime"), |facts, _| facts.ocaml = None);
    check_snapshot(Err("arm64"), |_, image| image.machine = Machine::Aarch64);
}

#[test]
fn a_process_is_attached_to_if_it_may_be_traced() {
    let process = |tracing| Process {
        pid: 7,
        agent: None,
        tracing,
        has_other_files: false,
        has_other_numbers: false,
    };
    let seen = attach(&program(), Some(&process(Tracing::Yes)));
    assert!(matches!(&seen, Verdict::Yes { note } if note.contains("may be traced")), "{seen:?}");
    let (reason, way_out) = ("because".to_owned(), "Do this".to_owned());
    let seen = attach(&program(), Some(&process(Tracing::No { reason, way_out })));
    let Verdict::No { reason, way_out } = seen else { panic!("{seen:?}") };
    assert_eq!(reason, "it may not be traced: because");
    assert_eq!(way_out, "Do this; or start it again with record --snapshots signal");
}
