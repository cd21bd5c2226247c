//! Programs that drop privileges: their later children must not notice us either. Only root can test this.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use bactrian_fixtures::{BOTH, Variant, is_root, program};

use crate::runs::{Place, Run, difference, text};

/// An unused user id.
const STRANGER: &str = "12345";

#[test]
fn children_of_a_program_that_changes_user_notice_nothing() {
    if !is_root() {
        eprintln!("NOT TESTED: only root can become another user");
        return;
    }
    for compiler in BOTH {
        let executable = program("drops_rights", compiler, Variant::Plain);
        // First the agent is where only root may look; then everybody may load it, but not write where traces
        // go.
        for mode in [0o700, 0o755] {
            let place = Place::new();
            let cache = tempfile::tempdir().expect("room");
            for folder in [cache.path().to_owned(), cache.path().join("bactrian")] {
                fs::create_dir_all(&folder).expect("room");
                fs::set_permissions(&folder, PermissionsExt::from_mode(mode)).expect("ours");
            }
            let run = Run::new(&executable, &[STRANGER]).with("XDG_CACHE_HOME", cache.path());
            let plain = place.run(&run);
            assert_eq!(plain.end, "exit status 0", "{plain:?}");
            let ids = String::from_utf8_lossy(&plain.stdout).matches(STRANGER).count();
            assert_eq!(ids, 3, "{plain:?}");
            for options in [&["--rate", "1e-2"][..], &["--snapshots", "exit", "--no-trace"]] {
                let observed = place.run(&run.observed(options, &place.trace("trace.ctf")));
                let what = difference(&plain, &observed);
                assert_eq!(what, "", "{compiler:?}, folder of mode {mode:o}, {options:?}");
            }
        }
    }
}

#[test]
fn forked_children_of_an_observed_program_that_changes_user_live_on() {
    if !is_root() {
        eprintln!("NOT TESTED: only root can become another user");
        return;
    }
    for compiler in BOTH {
        let executable = program("drops_rights", compiler, Variant::Plain);
        let place = Place::new();
        let plain = place.run(&Run::new(&executable, &[STRANGER]));
        let live = ["live", "--json", "--", text(&executable), STRANGER];
        let seen = place.run(&Run::new(env!("CARGO_BIN_EXE_bactrian"), &live));
        let said = String::from_utf8_lossy(&seen.stdout);
        assert_eq!(seen.end, plain.end, "{compiler:?}: {seen:?}");
        assert_eq!(seen.stderr, plain.stderr, "{compiler:?}");
        for line in String::from_utf8_lossy(&plain.stdout).lines() {
            assert!(said.lines().any(|other| other == line), "{compiler:?}: no {line:?}: {said}");
        }
    }
}
