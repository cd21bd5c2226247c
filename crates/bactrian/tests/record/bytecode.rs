//! Bytecode, in all the forms in which it is run: the program does the same, and the trace has names, lines and
//! every word.

use std::fs;
use std::path::{Path, PathBuf};

use crate::compilers::{BOTH, Compiler, Variant, program, repository, toplevel_of_ocaml5};
use crate::runs::{Place, Run, difference, text};
use crate::traces::{in_folder, info, is_clean, state};

/// How bytecode is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// By its first line, which names a runtime.
    Executable,
    /// As an argument of a runtime.
    Argument,
    Custom,
    Complete,
    /// As a source, by the toplevel.
    Script,
}

const FORMS: [Form; 5] =
    [Form::Executable, Form::Argument, Form::Custom, Form::Complete, Form::Script];

const RATES: [&str; 2] = ["1e-2", "1"];

/// The path that the first line of bytecode names.
fn runtime_of(bytecode: &Path) -> PathBuf {
    let bytes = fs::read(bytecode).expect("a file");
    let line = bytes.split(|byte| *byte == b'\n').next().unwrap_or(&[]);
    let path = line.strip_prefix(b"#!").expect("a first line that names a runtime");
    String::from_utf8(path.to_vec()).expect("UTF-8").into()
}

/// A program in one of the forms, to be run with `arguments`.
fn run(name: &str, compiler: Compiler, form: Form, arguments: &[&str]) -> Run {
    let of = |variant| program(name, compiler, variant);
    match form {
        Form::Executable => Run::new(of(Variant::Bytecode), arguments),
        Form::Custom => Run::new(of(Variant::Custom), arguments),
        Form::Complete => Run::new(of(Variant::Complete), arguments),
        Form::Argument => {
            let bytecode = of(Variant::Bytecode);
            Run::new(runtime_of(&bytecode), &[&[text(&bytecode)], arguments].concat())
        }
        Form::Script => {
            let source = repository().join("programs").join(format!("{name}.ml"));
            match compiler {
                Compiler::OCaml4 => {
                    let libraries = ["-I", "+threads", "unix.cma", "threads.cma", text(&source)];
                    Run::new("ocaml", &[&libraries, arguments].concat())
                }
                Compiler::OCaml5 => {
                    let prefix = compiler.ocamlc();
                    let prefix = prefix.ancestors().nth(2).expect("a prefix");
                    let library = prefix.join("usr/lib/x86_64-linux-gnu/ocaml/5.3.0");
                    let options = ["-I", "+unix", "-I", "+threads", text(&source)];
                    Run::new(toplevel_of_ocaml5(), &[&options, arguments].concat())
                        .with("OCAMLLIB", library)
                }
            }
        }
    }
}

/// Runs a program plain and observed, with each list of arguments, in all forms but those that it cannot
/// have; all that is wrong is told at once.
fn check(name: &str, runs: &[&str], not: &[Form]) {
    let mut wrong = Vec::new();
    for compiler in BOTH {
        for form in FORMS.into_iter().filter(|form| !not.contains(form)) {
            for words in runs {
                let arguments: Vec<_> = words.split_whitespace().collect();
                let run = run(name, compiler, form, &arguments);
                let place = Place::new();
                let plain = place.run(&run);
                for rate in RATES {
                    let traces = Place::new();
                    let trace = traces.trace("trace.ctf");
                    let observed = place.run(&run.observed(&["--rate", rate], &trace));
                    let mut what = difference(&plain, &observed);
                    if let Err(reason) = check_traces(name, &traces) {
                        what.push_str(&reason);
                    }
                    if !what.is_empty() {
                        let which = format!("{name} {words}, {compiler:?} {form:?}, rate {rate}");
                        wrong.push(format!("{which}: {what}"));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn check_traces(name: &str, place: &Place) -> Result<(), String> {
    let traces = in_folder(&place.traces());
    let main = place.trace("trace.ctf");
    if !traces.contains(&main) {
        return Err("no trace".to_owned());
    }
    for trace in traces {
        let info = info(&trace, &[])?;
        is_clean(&info).map_err(|reason| format!("{}: {reason}", trace.display()))?;
        let samples = info["result"]["sampled_allocations"].as_u64().unwrap_or(0);
        // Children may be small, and what is killed may not have written anything yet.
        if samples == 0 && trace == main && state(&info) == "ended" {
            return Err("no samples".to_owned());
        }
        let own = state(&info) == "program-samples";
        if own != (name == "own_memprof" || name == "memprof_stop") {
            return Err(format!("{}: it is {}", trace.display(), state(&info)));
        }
    }
    Ok(())
}

#[test]
fn exceptions() {
    check("exceptions", &[""], &[]);
}

#[test]
fn threads() {
    check("threads", &[""], &[]);
}

#[test]
fn signals() {
    check("signals", &["", "die"], &[]);
}

#[test]
fn finalisers() {
    // What the toplevel keeps of a script is its own affair.
    check("finalisers", &[""], &[Form::Script]);
}

#[test]
fn marshalling() {
    check("marshalling", &[""], &[]);
}

#[test]
fn own_memprof() {
    check("own_memprof", &[""], &[]);
}

#[test]
fn memprof_stop() {
    check("memprof_stop", &[""], &[]);
}

#[test]
fn exits() {
    let ways = [
        "end",
        "exit",
        "uncaught",
        "raise-at-exit",
        "exit-at-exit",
        "at-once",
        "kill",
        "abort",
        "handler",
        "thread",
        "stdout-closed",
    ];
    check("exits", &ways, &[]);
}

#[test]
fn fork_exec() {
    // It executes itself, which is the runtime or the toplevel in these.
    check("fork_exec", &[""], &[Form::Script]);
}

#[test]
fn dynlink() {
    // Several files.
    check("dynlink", &[""], &[Form::Script]);
}

#[test]
fn deep_recursion() {
    check("deep_recursion", &[""], &[]);
}

#[test]
fn queens_lists() {
    check("queens_lists", &[""], &[]);
}
