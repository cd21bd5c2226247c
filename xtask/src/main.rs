//! The chores of this repository: `cargo xtask TASK`. One file per task, and no dependencies but
//! our own, so that it is ready in a moment.

#![expect(clippy::print_stdout, reason = "a chore reports to the person who runs it")]

mod bench;
mod command;
mod consumers;
mod demo;
mod fuzz;
mod generate;
mod ocaml5;
mod page;
mod test;
mod tidy;

use std::process::ExitCode;

/// Done, or what went wrong in words.
type Outcome = Result<(), String>;

struct Task {
    name: &'static str,
    about: &'static str,
    run: fn(&[String]) -> Outcome,
}

const TASKS: &[Task] = &[
    Task { name: "demo", about: "record a program that leaks, and show where", run: demo::run },
    Task {
        name: "test",
        about: "format, lints, tidy, all tests, a short fuzz run",
        run: test::run,
    },
    Task { name: "tidy", about: "check what compiler and lints do not", run: tidy::run },
    Task {
        name: "consumers",
        about: "open exports in the tools they are for",
        run: consumers::run,
    },
    Task {
        name: "page",
        about: "check the page in a browser: [TEST of ui/tests], or --fixtures to only make its files",
        run: page::run,
    },
    Task {
        name: "ocaml5",
        about: "get OCaml 5.3 beside the machine's own OCaml, for tests of the recorder",
        run: ocaml5::run,
    },
    Task { name: "fuzz", about: "fuzz the parsers: [TARGET..] [--seconds N]", run: fuzz::run },
    Task {
        name: "fuzz-seeds",
        about: "write the files that fuzzing starts from",
        run: fuzz::seeds,
    },
    Task {
        name: "bench",
        about: "measure: trace [--deep FILE] [--wide FILE] [--against DIR] [--rounds N], record \
                [--only NAME] [--rates R,..] [--against DIR] [--rounds N] [--instructions], snapshot \
                [--only pauses|majors|real] [--sizes MB,..] [--rounds N], graph \
                [--sizes MILLIONS,..] [--against igraph,petgraph] [--rounds N], types \
                [--sizes MILLIONS,..] [--rounds N], live [--rounds N], or page [--trace FILE] \
                [--heap FILE] [--rounds N]",
        run: bench::run,
    },
    Task {
        name: "generate-trace",
        about: "a trace for benchmarks: --shape deep|wide [--events N] [--seed N] -o FILE",
        run: generate::run,
    },
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((name, rest)) = arguments.split_first() else {
        println!("{}", usage());
        return ExitCode::SUCCESS;
    };
    let Some(task) = TASKS.iter().find(|task| task.name == name) else {
        eprintln!("there is no task {name:?}\n{}", usage());
        return ExitCode::from(2);
    };
    match (task.run)(rest) {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("xtask {name}: {reason}");
            ExitCode::FAILURE
        }
    }
}

fn usage() -> String {
    let mut text = "usage: cargo xtask TASK".to_owned();
    for Task { name, about, .. } in TASKS {
        text.push_str(&format!("\n  {name:<16}{about}"));
    }
    text
}

/// For tasks that take no arguments.
fn no_arguments(arguments: &[String]) -> Outcome {
    match arguments {
        [] => Ok(()),
        [first, ..] => Err(format!("takes no arguments, and was given {first:?}")),
    }
}
