//! Freezing programs that were not started under the agent: they must come out of it unchanged.

mod core_file;
mod cores;
mod killed;
mod namespaces;
mod programs;
mod running;

use std::time::{Duration, Instant};

use bactrian_capture::attach::{Cause, FreezeMethod, Options, freeze};
use bactrian_capture::heap::roots::{self, RootHolder};
use bactrian_fixtures::{
    Compiler, Variant, until, until_in_state, until_it_reads, until_it_worked, whole_table,
};
use running::Running;

/// How often each program is frozen, each time at another point; the quick set does half as many.
fn times() -> usize {
    if whole_table() { 20 } else { 10 }
}

/// Freezes a running program many times, and checks each time that no trace of it is left; then ends the
/// program and compares its output.
fn check(name: &str, source: &str, compiler: Compiler, variant: Variant, expected: (&str, i32)) {
    let mut running = Running::start(name, source, compiler, variant);
    let pid = running.pid();
    let code = running.code();
    let mut pauses = Vec::new();
    let start = Instant::now();
    for round in 0..times() {
        let frozen = freeze(pid, Options::default())
            .unwrap_or_else(|refusal| panic!("{name} {compiler:?} {variant:?} {round}: {refusal}"));
        assert_eq!(frozen.way, FreezeMethod::Copied);
        assert_ne!(frozen.pid, pid);
        assert_eq!(frozen.gaps, Vec::<String>::new(), "{name} {compiler:?} {variant:?}");
        let listing = frozen.listing.as_ref().expect("the runtime was asked");
        assert!(listing.lists.iter().all(|listed| listed.whole));
        let all: usize = listing.lists.iter().map(|listed| listed.slots.len()).sum();
        assert!(all > 10, "{all} roots");
        assert!(!frozen.domains.is_empty());
        assert!(!frozen.target.threads.is_empty());
        pauses.push(frozen.pause);
        drop(frozen);
        assert_eq!(running.code(), code, "its code is as it was");
        assert_eq!(running.zombies(), 0, "its copy is gone");
        running.is_there();
    }
    let took = start.elapsed();
    pauses.sort_unstable();
    let said = running.finish();
    eprintln!(
        "{name} {compiler:?} {variant:?}: pause {:?} median, {:?} most, {took:?} for all",
        pauses[pauses.len() / 2],
        pauses[pauses.len() - 1]
    );
    assert_eq!((said.0.as_str(), said.1), expected, "{name} {compiler:?} {variant:?}");
}

fn check_all(name: &str, source: &str, expected: (&str, i32)) {
    check(name, source, Compiler::OCaml4, Variant::Plain, expected);
    check(name, source, Compiler::OCaml4, Variant::Stripped, expected);
    check(name, source, Compiler::OCaml4, Variant::Bytecode, expected);
    check(name, source, Compiler::OCaml5, Variant::Plain, expected);
    check(name, source, Compiler::OCaml5, Variant::Stripped, expected);
}

#[test]
fn a_reading_program_survives_freezing() {
    check_all("reading", programs::READING, ("0 lines, 100000 kept, true\n", 3));
}

#[test]
fn an_allocating_program_survives_freezing() {
    check_all("allocating", programs::ALLOCATING, ("true\n", 0));
}

#[test]
fn programs_that_cannot_load_the_agent_survive_freezing() {
    for variant in [Variant::Static, Variant::Hidden] {
        check("allocating", programs::ALLOCATING, Compiler::OCaml4, variant, ("true\n", 0));
        check(
            "reading",
            programs::READING,
            Compiler::OCaml4,
            variant,
            ("0 lines, 100000 kept, true\n", 3),
        );
    }
}

#[test]
fn timeouts_survive_freezing() {
    check_all("sleeping", programs::SLEEPING, ("true\n", 0));
}

#[test]
fn registers_survive_freezing() {
    for compiler in [Compiler::OCaml4, Compiler::OCaml5] {
        check("registers", programs::REGISTERS, compiler, Variant::Plain, ("true\n", 0));
    }
}

#[test]
fn a_threaded_program_survives_freezing() {
    check_all("threads", programs::THREADS, ("true true true\n", 0));
}

#[test]
fn a_forking_program_survives_freezing() {
    check_all("forking", programs::FORKING, ("true\n", 0));
}

#[test]
fn allocating_domains_survive_freezing() {
    for variant in [Variant::Plain, Variant::Stripped] {
        check("domains", programs::DOMAINS, Compiler::OCaml5, variant, ("true\ntrue\ntrue\n", 0));
    }
}

#[test]
fn blocked_domains_survive_freezing() {
    for variant in [Variant::Plain, Variant::Stripped] {
        check("waiting", programs::WAITING_DOMAINS, Compiler::OCaml5, variant, ("1 2\n", 0));
    }
}

#[test]
fn a_loop_without_allocation_is_frozen_where_it_polls() {
    if Compiler::OCaml4.version() >= (4, 13) {
        return check_all("computing", programs::COMPUTING, ("true\n", 0));
    }
    // Before that version such loops do not poll.
    let source = programs::COMPUTING;
    let running = Running::start("computing", source, Compiler::OCaml4, Variant::Plain);
    let options = Options { wait: Duration::from_millis(300), ..Options::default() };
    let refusal = freeze(running.pid(), options).expect_err("it does not poll");
    assert_eq!(refusal.cause, Cause::Busy, "{refusal}");
    assert_eq!(running.finish(), ("true\n".to_owned(), 0));
}

#[test]
fn computing_c_code_is_waited_for_and_left_unchanged() {
    let options = Options { wait: Duration::from_millis(300), ..Options::default() };
    for compiler in [Compiler::OCaml4, Compiler::OCaml5] {
        let mut running =
            Running::start("in_c", programs::COMPUTING_IN_C, compiler, Variant::Plain);
        let code = running.code();
        // It starts to compute after it has printed that it is ready.
        until_it_worked(running.pid(), Duration::from_millis(50));
        let refusal = freeze(running.pid(), options).expect_err("it does not poll");
        assert_eq!(refusal.cause, Cause::Busy, "{refusal}");
        assert!(refusal.reason.contains("C code"), "{refusal}");
        assert_eq!(running.code(), code);
        running.is_there();
        assert_eq!(running.finish(), ("done\n".to_owned(), 0));
    }
}

#[test]
fn blocked_noalloc_c_code_is_refused() {
    let options = Options { wait: Duration::from_millis(300), ..Options::default() };
    let source = programs::WAITING_UNNOTED;
    let mut running = Running::start("unnoted", source, Compiler::OCaml4, Variant::Plain);
    until_in_state(running.pid(), "S");
    let refusal = freeze(running.pid(), options).expect_err("its stack is not to be found");
    assert_eq!(refusal.cause, Cause::Busy, "{refusal}");
    running.is_there();
    assert_eq!(running.finish(), ("50100\n".to_owned(), 0));
}

#[test]
fn a_program_whose_last_active_thread_has_ended_can_be_frozen() {
    for variant in [Variant::Plain, Variant::Stripped, Variant::Bytecode] {
        let source = programs::THREAD_ENDED;
        let running = Running::start("ended", source, Compiler::OCaml4, variant);
        let threads = format!("/proc/{}/task", running.pid());
        // Two are left: the main thread, and the one that makes threads take turns.
        until("the thread has ended", || {
            std::fs::read_dir(&threads).expect("it runs").count() == 2
        });
        until_it_reads(running.pid());
        let frozen = freeze(running.pid(), Options::default()).expect("it waits");
        assert_eq!(frozen.gaps, [""; 0], "{variant:?}");
        let roots = roots::find(&frozen.target, &frozen.memory, frozen.listing.as_ref());
        let stack = roots.roots.iter().filter(|root| {
            matches!(
                root.place,
                RootHolder::Stack { thread: 0, .. } | RootHolder::Interpreter { thread: 0, .. }
            )
        });
        assert!(stack.count() > 0, "{variant:?}: {:?}", roots.gaps);
        assert_eq!(roots.threads.len(), 1, "{variant:?}");
        assert_eq!(
            (roots.threads[0].id, roots.threads[0].is_active),
            (Some(0), false),
            "{variant:?}"
        );
        // The runtime that interprets may be stripped, too.
        if variant == Variant::Plain {
            assert_eq!(roots.gaps, [""; 0], "{variant:?}");
        }
        drop(frozen);
        assert_eq!(running.finish(), ("5000\n".to_owned(), 0));
    }
}

#[test]
fn without_a_copy_the_process_itself_is_stopped() {
    let options = Options { copy: false, ..Options::default() };
    for compiler in [Compiler::OCaml4, Compiler::OCaml5] {
        let running = Running::start("still", programs::ALLOCATING, compiler, Variant::Plain);
        let frozen = freeze(running.pid(), options).expect("it can be stopped");
        assert!(matches!(frozen.way, FreezeMethod::Stopped { .. }), "{:?}", frozen.way);
        assert_eq!(frozen.pid, running.pid());
        assert!(running.state().starts_with('t'), "{}", running.state());
        drop(frozen);
        assert!(!running.state().starts_with('t'), "{}", running.state());
        assert_eq!(running.finish(), ("true\n".to_owned(), 0));
    }
}

#[test]
fn a_refusal_to_freeze_says_why() {
    let words = |pid, cause, part: &str| {
        let refusal = freeze(pid, Options::default()).expect_err("refused");
        assert_eq!(refusal.cause, cause, "{refusal}");
        assert!(refusal.to_string().contains(part), "{refusal}");
    };
    words(u32::MAX / 2, Cause::Gone, "there is no process");
    words(0, Cause::Gone, "there is no process");
    let mut other = std::process::Command::new("sleep").arg("60").spawn().expect("sleep");
    // It calls exec for `sleep` a moment after it was started.
    until_in_state(other.id(), "S");
    words(other.id(), Cause::Unknown, "no OCaml runtime");
    other.kill().expect("killed");
    until_in_state(other.id(), "Z");
    words(other.id(), Cause::Gone, "has ended (its parent has not reaped it yet)");
    other.wait().expect("ended");
    let running = Running::start("traced", programs::READING, Compiler::OCaml4, Variant::Plain);
    let frozen = freeze(running.pid(), Options { copy: false, ..Options::default() });
    let frozen = frozen.expect("the first may");
    words(running.pid(), Cause::Forbidden, "is already tracing it");
    drop(frozen);
}
