//! Programs that are unaware of being observed.

use std::fs;
use std::process::{Command, Stdio};

use bactrian_fixtures::{BOTH, Compiler, Variant, program};

use crate::run::{Running, live, result, value};

#[test]
fn observed_program_prints_and_exits_as_if_alone() {
    for compiler in BOTH {
        let path = program("leaky_cache", compiler, Variant::Plain);
        // Long enough to be examined on a busy machine.
        let alone = Command::new(&path).arg("30000").output().expect("it runs");
        let watched = live(["--json", "--every", "20ms", "--"])
            .arg(&path)
            .arg("30000")
            .output()
            .expect("it runs");
        assert_eq!(watched.status, alone.status, "{compiler:?}");
        assert!(watched.stdout.starts_with(&alone.stdout), "{compiler:?}: {watched:?}");
        let result = result(&watched);
        assert!(
            result["ended"]["reason"]
                .as_str()
                .is_some_and(|reason| reason.contains("exit status: 0"))
        );
        assert_eq!(result["program"]["name"], "leaky_cache");
        for name in ["runtime.heap", "runtime.live", "runtime.allocated", "process.rss"] {
            let bytes = value(&result, name).as_u64().expect("a number");
            assert!(bytes > 100_000, "{compiler:?}: {name} is {bytes}");
        }
        let [minor, domains] =
            ["runtime.minor_collections", "runtime.domains"].map(|name| value(&result, name));
        assert!(minor.as_u64() > Some(3) && domains == 1, "{compiler:?}: {result:#}");
    }
}

/// Longer than any clock will run.
#[test]
fn program_may_be_observed_for_any_duration() {
    let path = program("leaky_cache", Compiler::OCaml4, Variant::Plain);
    let mut command = live(["--json", "--for", "9223372036854775807s", "--"]);
    let watched = command.arg(&path).arg("20000").output().expect("it runs");
    assert!(watched.status.success(), "{watched:?}");
    assert_eq!(result(&watched)["program"]["name"], "leaky_cache");
}

#[test]
fn sites_and_live_sizes_are_estimated_from_samples() {
    for compiler in BOTH {
        let path = program("leaky_cache", compiler, Variant::Plain);
        let mut command = live(["--json", "--rate", "1e-3", "--every", "50ms", "--"]);
        let watched = command.arg(&path).arg("20000").output().expect("it runs");
        let result = result(&watched);
        let sites = value(&result, "sites").as_array().expect("sites").clone();
        let bytes = |name: &str, what: &str| -> f64 {
            let of_name = |site: &&serde_json::Value| {
                site["name"].as_str().is_some_and(|it| it.starts_with(name))
            };
            sites.iter().filter(of_name).filter_map(|site| site[what].as_f64()).sum()
        };
        let (garbage, leak) =
            (bytes("Leaky_cache.render", "live_bytes"), bytes("Leaky_cache.serve", "live_bytes"));
        assert!(leak > 3.0 * garbage && leak > 100_000.0, "{compiler:?}: {sites:#?}");
        assert!(bytes("Leaky_cache.render", "bytes_per_second") > 0.0, "{compiler:?}: {sites:#?}");
    }
}

#[test]
fn pauses_are_measured() {
    for compiler in BOTH {
        let path = program("leaky_cache", compiler, Variant::Plain);
        let watched = live(["--json", "--"]).arg(&path).arg("20000").output().expect("it runs");
        let result = result(&watched);
        let pauses = value(&result, "runtime.pauses");
        let minor = value(&result, "runtime.minor_collections").as_u64();
        assert!(
            pauses["count"].as_u64() >= minor.map(|minor| minor / 2),
            "{compiler:?}: {result:#}"
        );
        assert!(pauses["max"].as_u64() >= pauses["p50"].as_u64(), "{compiler:?}: {pauses:#}");
    }
}

#[test]
fn live_exits_with_the_programs_status() {
    for compiler in BOTH {
        let path = program("exits", compiler, Variant::Plain);
        for way in ["exit", "kill", "uncaught"] {
            let alone = Command::new(&path).arg(way).output().expect("it runs");
            let watched = live(["--json", "--"]).arg(&path).arg(way).output().expect("it runs");
            assert_eq!(watched.status, alone.status, "{compiler:?} {way}");
        }
    }
}

#[test]
fn running_process_is_observed_recorded_and_replayed() {
    for compiler in BOTH {
        let path = program("steady", compiler, Variant::Plain);
        let child = Command::new(&path)
            .args(["600", "busy"])
            .stdout(Stdio::null())
            .spawn()
            .expect("it starts");
        let running = Running(child);
        let pid = running.0.id().to_string();
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("run.live");
        let mut live_run = live(["--json", "--for", "2s", "--every", "50ms", "--record"]);
        let watched = live_run.arg(&file).arg(&pid).output().expect("it runs");
        assert!(watched.status.success(), "{watched:?}");
        let seen = result(&watched);
        assert_eq!(seen["ended"], serde_json::Value::Null);
        let observers = seen["observers"].as_array().expect("observers");
        let allocated = observers.iter().find(|observer| observer["name"] == "runtime.allocated");
        let changes = allocated.and_then(|observer| observer["changes"].as_u64());
        assert!(changes > Some(3), "{compiler:?}: a busy program allocates: {seen:#}");
        use std::os::unix::fs::PermissionsExt;
        let mode = fs::metadata(&file).expect("a file").permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "what a program says is for its owner");
        let played = live(["--json"]).arg(&file).output().expect("it runs");
        assert_eq!(result(&played), seen, "{compiler:?}");
        let wrong = Command::new(env!("CARGO_BIN_EXE_bactrian"))
            .arg("info")
            .arg(&file)
            .output()
            .expect("it runs");
        assert!(
            String::from_utf8_lossy(&wrong.stderr)
                .contains("It is a recording: use `bactrian live`"),
            "{wrong:?}"
        );
        let table = live([&file]).output().expect("it runs");
        let table = String::from_utf8(table.stdout).expect("text");
        assert!(table.contains("runtime.heap") && table.contains("process.rss"), "{table}");
    }
}
