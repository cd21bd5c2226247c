//! Programs in PID namespaces, as in containers, and programs that adopt orphans.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use bactrian_capture::attach::{FreezeMethod, Options, freeze};
use bactrian_fixtures::{Compiler, Variant};

use crate::programs;
use crate::running::{Running, compile, descendants};

const TIMES: usize = 5;
const COMPILERS: [Compiler; 2] = [Compiler::OCaml4, Compiler::OCaml5];

/// A command that runs another one in its own PID namespace, if we are permitted to.
fn in_namespace() -> Option<Command> {
    let command = || {
        let mut command = Command::new("unshare");
        command.args(["--pid", "--fork", "--kill-child"]);
        command
    };
    let is_allowed = command().arg("true").status().is_ok_and(|status| status.success());
    if !is_allowed {
        eprintln!("not tested: namespaces may not be made here");
    }
    is_allowed.then(command)
}

/// Freezes a program several times: neither it nor the first process of its namespace may have children that
/// it did not start.
fn check(mut running: Running, first: Option<u32>, what: &str) {
    let pid = running.pid();
    for _ in 0..TIMES {
        let frozen = freeze(pid, Options::default()).expect("it can be frozen");
        assert_eq!(frozen.way, FreezeMethod::Copied, "{what}");
        assert_eq!(frozen.gaps, [""; 0], "{what}");
        drop(frozen);
        assert_eq!(running.zombies(), 0, "{what}: its copy is gone");
        if let Some(first) = first {
            // Adopted by it, and reaped when it gets to that.
            let until = Instant::now() + Duration::from_secs(10);
            while descendants(first) != [first, pid] {
                assert!(Instant::now() < until, "{what}: {:?}", descendants(first));
            }
        }
        running.is_there();
    }
    assert_eq!(running.finish(), ("true\n".to_owned(), 0), "{what}");
}

fn compiled(name: &str, source: &str, compiler: Compiler) -> std::path::PathBuf {
    compile(name, source, compiler, Variant::Plain)
}

/// The parent of the program.
fn parent(running: &Running) -> u32 {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", running.pid())).expect("there");
    let fields = stat.rsplit_once(") ").expect("a name").1;
    fields.split(' ').nth(1).expect("a parent").parse().expect("a number")
}

#[test]
fn a_copy_in_a_namespace_is_reaped_by_its_first_process() {
    for compiler in COMPILERS {
        let Some(mut command) = in_namespace() else { return };
        let program = compiled("allocating", programs::ALLOCATING, compiler);
        // The shell stays, as the first process of the namespace.
        let command = command.args(["sh", "-c", "\"$0\" \"$1\"; exit $?"]).arg(&program);
        let running = Running::start_by(command, &program);
        let first = parent(&running);
        check(running, Some(first), &format!("{compiler:?} below a shell"));
    }
}

#[test]
fn the_first_process_of_a_namespace_has_no_child_but_its_own() {
    for compiler in COMPILERS {
        let Some(mut command) = in_namespace() else { return };
        let program = compiled("forking", programs::FORKING, compiler);
        let running = Running::start_by(command.arg(&program), &program);
        check(running, None, &format!("{compiler:?} as process 1"));
    }
}

#[test]
fn a_program_that_adopts_orphans_has_no_child_but_its_own() {
    let source = format!("{}{}", programs::ADOPTING, programs::FORKING);
    let shell = ["sh", "-c", "\"$0\" \"$1\"; exit $?"];
    for compiler in COMPILERS {
        let program: &Path = &compiled("adopting", &source, compiler);
        let running = Running::start_by(&mut Command::new(program), program);
        check(running, None, &format!("{compiler:?}"));
        // In a namespace, its process ids differ from ours.
        let Some(mut command) = in_namespace() else { return };
        let running = Running::start_by(command.args(shell).arg(program), program);
        check(running, None, &format!("{compiler:?} in a namespace"));
    }
}
