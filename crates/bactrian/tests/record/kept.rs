//! A recording survives its producers: the program or its recorder is killed, and nothing is lost.

use std::fs;
use std::path::Path;

use bactrian_fixtures::{BOTH, Variant, program, until};

use crate::runs::{Place, Run, difference, finish, signal};
use crate::traces::{duration, in_folder, info, is_clean, sites, state};

/// The bytes of each array of three words that `killed` keeps, and of the cell that holds it, with headers.
const EACH: u64 = (4 + 3) * 8;

/// The number of arrays of `killed` in a trace.
fn arrays(trace: &Path) -> f64 {
    let sites = sites(trace, "allocated");
    let bytes = sites.iter().filter(|site| site.function.contains("allocate")).map(|it| it.value);
    bytes.sum::<f64>() / EACH as f64
}

#[test]
fn killed_program_loses_no_sample() {
    for compiler in BOTH {
        let executable = program("killed", compiler, Variant::Plain);
        // Within the first packet, and after several.
        for count in [1_u64, 100, 50_000] {
            for child in [false, true] {
                let place = Place::new();
                let trace = place.trace("trace.ctf");
                let count_word = count.to_string();
                let arguments: &[&str] =
                    if child { &[&count_word, "child"] } else { &[&count_word] };
                let run = Run::new(&executable, arguments);
                let observed = place.run(&run.observed(&["--exact"], &trace));
                let what = format!("{compiler:?}, {count}, child: {child}");
                assert_eq!(difference(&place.run(&run), &observed), "", "{what}");
                let traces = in_folder(&place.traces());
                let of_it = traces.iter().find(|path| child == (**path != trace)).expect("a trace");
                let info = info(of_it, &[]).unwrap_or_else(|reason| panic!("{what}: {reason}"));
                is_clean(&info).unwrap_or_else(|reason| panic!("{what}: {reason}"));
                assert_eq!(state(&info), "running", "{what}");
                assert_eq!(arrays(of_it), count as f64, "{what}");
            }
        }
    }
}

#[test]
fn without_its_recorder_a_program_records_itself() {
    for compiler in BOTH {
        let place = Place::new();
        let trace = place.trace("trace.ctf");
        let executable = program("steady", compiler, Variant::Plain);
        let run = Run::new(&executable, &["4"]).observed(&["--rate", "1e-2"], &trace);
        let mut child = place.start(&run);
        crate::processes::wait_for_trace(&place, &mut child);
        signal("KILL", &child.id().to_string());
        let seen = finish(child, &place.work());
        assert_eq!(seen.stdout, b"done\n", "{compiler:?}: {seen:?}");
        let info = info(&trace, &[]).expect("a readable trace");
        is_clean(&info).expect("a clean trace");
        assert_eq!(state(&info), "ended", "{compiler:?}");
        assert!(duration(&info) > 3.5, "{compiler:?}: {info:#}");
    }
}

#[test]
fn children_that_have_ended_or_record_nothing_leave_no_ring_buffers() {
    for compiler in BOTH {
        let executable = program("ring_buffers", compiler, Variant::Plain);
        // A child without descriptors cannot map the ring buffer that it is offered.
        for children in ["plain", "full"] {
            let place = Place::new();
            let run = Run::new(&executable, &[children]);
            let plain = place.run(&run);
            assert_eq!(plain.stdout, b"few\n", "{compiler:?}: {plain:?}");
            let observed = place.run(&run.observed(&["--exact"], &place.trace("trace.ctf")));
            assert_eq!(difference(&plain, &observed), "", "{compiler:?}, {children}");
            let traces = in_folder(&place.traces()).len();
            let expected = if children == "full" { 1 } else { 13 };
            assert_eq!(traces, expected, "{compiler:?}, {children}");
        }
    }
}

#[test]
fn child_that_confines_itself_before_it_works_is_recorded() {
    for compiler in BOTH {
        let executable = program("conditions", compiler, Variant::Plain);
        let place = Place::new();
        let run = Run::new(&executable, &["worker", "nothing"]);
        let plain = place.run(&run);
        let trace = place.trace("trace.ctf");
        let observed = place.run(&run.observed(&["--rate", "1e-3"], &trace));
        assert_eq!(difference(&plain, &observed), "", "{compiler:?}");
        let traces = in_folder(&place.traces());
        let child = traces.iter().find(|path| **path != trace).expect("the child's trace");
        let info = info(child, &[]).unwrap_or_else(|reason| panic!("{compiler:?}: {reason}"));
        is_clean(&info).unwrap_or_else(|reason| panic!("{compiler:?}: {reason}"));
        let samples = info["result"]["sampled_allocations"].as_u64().unwrap_or(0);
        assert!(samples > 10, "{compiler:?}: {samples}");
    }
}

#[test]
fn recording_continues_when_a_vfork_child_is_killed_within_exec() {
    let executable = program("vfork_killed", BOTH[0], Variant::Plain);
    let place = Place::new();
    let trace = place.trace("trace.ctf");
    let run = Run::new(&executable, &["1000"]).observed(&["--exact"], &trace);
    let recorder = place.start(&run);
    let process = recorder.id();
    let (work, file) = (place.work(), |name: &str| place.work().join(name));
    until("it is ready", || file("ready").exists());
    // While the keeper does not answer, the child waits for it, until it is killed.
    signal("STOP", &process.to_string());
    let stat = || fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    until("the keeper is stopped", || stat().contains(") T "));
    fs::write(file("go"), "").expect("room");
    until("the child has died", || file("died").exists());
    signal("CONT", &process.to_string());
    fs::write(file("on"), "").expect("room");
    let seen = finish(recorder, &work);
    assert_eq!(seen.stdout, b"signal 14, 2000 kept\n", "{seen:?}");
    let info = info(&trace, &[]).expect("a readable trace");
    is_clean(&info).expect("a clean trace");
    assert_eq!((state(&info), arrays(&trace)), ("ended", 2000.0));
}

#[test]
fn children_made_without_handlers_leave_the_recording_as_it_was() {
    for compiler in BOTH {
        let executable = program("own_children", compiler, Variant::Plain);
        for kind in ["copy", "confined", "confines"] {
            let place = Place::new();
            let trace = place.trace("trace.ctf");
            let run = Run::new(&executable, &[kind, "100"]);
            let plain = place.run(&run);
            assert_eq!(plain.stdout, b"7, 2100 kept\n", "{compiler:?}, {kind}: {plain:?}");
            let observed = run.observed(&["--exact", "--snapshots", "exit"], &trace);
            let observed = place.run(&observed);
            let what = format!("{compiler:?}, {kind}");
            assert_eq!(difference(&plain, &observed), "", "{what}");
            let info = info(&trace, &[]).unwrap_or_else(|reason| panic!("{what}: {reason}"));
            is_clean(&info).unwrap_or_else(|reason| panic!("{what}: {reason}"));
            assert_eq!((state(&info), arrays(&trace)), ("ended", 2100.0), "{what}: {info:#}");
            // No snapshots are taken of a program that has confined itself, which none of its children can do.
            let heap = place.trace("trace.1.heap");
            assert_eq!(heap.exists(), kind != "confined", "{what}: {observed:?}");
        }
    }
}
