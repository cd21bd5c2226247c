//! A program that uses the runtime's sampler itself has precedence, whenever it starts.

use bactrian_fixtures::{BOTH, Variant, program};

use crate::runs::{Place, Run, difference};
use crate::traces::{info, is_clean, state};

#[test]
fn program_may_start_its_sampler_while_our_samples_are_pending() {
    for compiler in BOTH {
        for variant in [Variant::Plain, Variant::Debug, Variant::Custom] {
            let place = Place::new();
            let executable = program("memprof_pending", compiler, variant);
            // The debug runtime prints a greeting otherwise.
            let run = Run::new(&executable, &[]).with("OCAMLRUNPARAM", "v=0");
            let plain = place.run(&run);
            assert!(plain.stdout.ends_with(b"samples right: true\n"), "{compiler:?}: {plain:?}");
            let trace = place.trace("trace.ctf");
            let observed = place.run(&run.observed(&["--exact"], &trace));
            let what = format!("{compiler:?} {variant:?}");
            assert_eq!(difference(&plain, &observed), "", "{what}");
            let info = info(&trace, &[]).unwrap_or_else(|reason| panic!("{what}: {reason}"));
            is_clean(&info).unwrap_or_else(|reason| panic!("{what}: {reason}"));
            assert_eq!(state(&info), "program-samples", "{what}");
            // Pending samples are recorded before.
            let samples = info["result"]["sampled_allocations"].as_u64().unwrap_or(0);
            assert!(samples >= 40_000, "{what}: {samples} samples");
        }
    }
}

#[test]
fn confined_program_may_use_its_sampler_outlast_the_recording_and_block() {
    // Each takes system calls of which the first kills the program.
    let (samples, lasts, blocks): (&[&str], &[&str], &[&str]) = (
        &["--rate", "1e-2"],
        &["--rate", "1e-2", "--for", "200ms"],
        &["--no-trace", "--snapshots", "signal=USR2"],
    );
    for compiler in BOTH {
        let executable = program("conditions", compiler, Variant::Plain);
        for itself in ["confines", "confines-unheard"] {
            for (work, options) in [("samples", samples), ("lasts", lasts), ("allocates", blocks)] {
                let place = Place::new();
                let run = Run::new(&executable, &[work, itself]);
                let plain = place.run(&run);
                assert_eq!(plain.end, "exit status 3", "{compiler:?}: {plain:?}");
                let observed = place.run(&run.observed(options, &place.trace("trace.ctf")));
                let what = format!("{compiler:?}, {itself}, {work}");
                assert_eq!(difference(&plain, &observed), "", "{what}");
            }
        }
    }
}
