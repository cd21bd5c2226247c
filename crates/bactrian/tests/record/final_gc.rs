//! `--final-gc`: what is unreachable at the end counts as collected, and the program behaves as without it.

use bactrian_fixtures::{BOTH, Variant, program};

use crate::runs::{Place, Run, difference};
use crate::traces::{in_folder, info, is_clean, sites};

#[test]
fn unreachable_blocks_at_exit_count_as_collected() {
    for compiler in BOTH {
        let executable = program("dead_at_end", compiler, Variant::Plain);
        let run = Run::new(&executable, &[]);
        let plain = Place::new().run(&run);
        for rate in [&["--exact"][..], &["--rate", "1e-1"]] {
            let what = format!("{compiler:?}, {rate:?}");
            let live = |options: &[&str]| {
                let place = Place::new();
                let trace = place.trace("trace.ctf");
                let options = [rate, options].concat();
                let observed = place.run(&run.observed(&options, &trace));
                // It does not run finalisers.
                assert_eq!(difference(&plain, &observed), "", "{what}");
                is_clean(&info(&trace, &[]).expect("a trace")).expect("a clean trace");
                let files = in_folder(&place.traces());
                let all = sites(&trace, "live");
                let strings = all.iter().filter(|site| site.function == "caml_create_bytes");
                (strings.map(|site| site.value).sum::<f64>(), files.len())
            };
            let (uncollected, _) = live(&[]);
            let (held, files) = live(&["--final-gc"]);
            // 3,100 strings of 112 bytes, or 100 of them.
            assert!(uncollected > 300_000.0, "{what}: {uncollected}");
            assert!(held < 50_000.0 && held > 5_000.0, "{what}: {held}");
            assert_eq!(files, 1, "{what}: no snapshot was asked for");
            let (held, files) = live(&["--final-gc", "--snapshots", "exit"]);
            assert!(held < 50_000.0, "{what}: {held}");
            assert!(files > 1, "{what}: this one was");
        }
    }
}

#[test]
fn final_gc_of_a_killed_program_is_reported_as_useless() {
    let executable = program("killed", BOTH[0], Variant::Plain);
    let place = Place::new();
    let trace = place.trace("trace.ctf");
    let run = Run::new(&executable, &["100"]);
    let options = ["--exact", "--final-gc"];
    let seen = place.run(&run.observed(&options, &trace));
    let said = String::from_utf8_lossy(&seen.stderr);
    assert!(said.contains("--final-gc failed"), "{said}");
    assert!(said.contains("no snapshot of the program at exit"), "{said}");
}
