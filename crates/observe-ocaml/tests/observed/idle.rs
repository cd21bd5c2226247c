//! An unused server causes no work.

use std::fs;
use std::process::Command;
use std::thread;

use bactrian_fixtures::{BOTH, Compiler, Variant, ocaml_library, run};

use crate::programs::program;
use crate::watch::{PERIOD, Running};

/// Context switches of all threads of a program but the first.
fn switches(pid: u32) -> Vec<(String, u64)> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).expect("it runs").flatten();
    let others = tasks.filter(|task| task.file_name().to_string_lossy() != pid.to_string());
    let switches = others.map(|task| {
        let read = |file: &str| fs::read_to_string(task.path().join(file)).expect("it runs");
        let status = read("status");
        let counts = status.lines().filter_map(|line| line.split_once("ctxt_switches:"));
        (
            read("comm"),
            counts.map(|(_, count)| count.trim().parse::<u64>().expect("a number")).sum(),
        )
    });
    let mut switches: Vec<_> = switches.collect();
    switches.sort();
    switches
}

#[test]
fn server_without_clients_is_idle() {
    for compiler in BOTH {
        let mut running =
            Running::start_fast(&program("observe_all", compiler, Variant::Plain), None);
        running.lines_until("ready");
        // The server has certainly started once a client has connected, and has nothing more to do when the
        // client is gone.
        let mut watch = running.watch();
        watch.until("a tick", |watch| watch.ticks > 0);
        drop(watch);
        // On a loaded machine it may take a while to notice that the client is gone; a server that still
        // ticks never comes to rest.
        let is_at_rest = (0..200).any(|_| {
            let before = switches(running.child.id());
            assert!(before.iter().any(|(name, _)| name.starts_with("bactrian-live")), "{before:?}");
            thread::sleep(7 * PERIOD);
            switches(running.child.id()) == before
        });
        assert!(is_at_rest, "{compiler:?}");
    }
}

#[test]
fn program_that_only_takes_snapshots_links_no_server() {
    for compiler in BOTH {
        let program = program("observe_linked", compiler, Variant::Plain);
        let symbols = Command::new("nm").arg(&program).output().expect("binutils");
        let symbols = String::from_utf8_lossy(&symbols.stdout);
        assert!(
            symbols.contains("bactrian_snapshot") && !symbols.contains("bactrian_observe"),
            "{compiler:?}"
        );
        assert!(Command::new(&program).status().expect("it starts").success());
    }
}

#[test]
fn rust_library_exports_no_symbols() {
    let object = ocaml_library(Compiler::OCaml4).join("bactrian_rust.o");
    let symbols = run(Command::new("nm")
        .args(["--defined-only", "--extern-only", "--format=just-symbols"])
        .arg(object));
    assert!(symbols.lines().count() > 20);
    assert!(symbols.lines().all(|name| name.starts_with("bactrian_observe_")), "{symbols}");
}
