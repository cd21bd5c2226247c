//! The chores of this repository: `cargo xtask TASK`. One file per task, and no dependencies, so that it builds
//! in a moment. Benchmarks are separate, in `bench/`.

#![expect(clippy::print_stdout, reason = "a chore reports to the person who runs it")]

mod bench;
mod book;
mod consumers;
mod demo;
mod demo_files;
mod dist;
mod fuzz;
mod page;
mod programs;
mod progress;
mod query;
mod reach;
mod release;
mod test;
mod tidy;

use std::process::ExitCode;

use xtask::{Outcome, command, compilers, no_arguments};

struct Task {
    name: &'static str,
    about: &'static str,
    run: fn(&[String]) -> Outcome,
}

const TASKS: &[Task] = &[
    Task {
        name: "demo",
        about: "record a program that leaks, and show where; --write: what `bactrian view --demo` shows",
        run: demo::run,
    },
    Task {
        name: "test",
        about: "format, lints, tidy, all tests; --all: what a release needs; --conditions: tests started in other ways",
        run: test::run,
    },
    Task { name: "tidy", about: "check what compiler and lints do not", run: tidy::run },
    Task { name: "examples", about: "run the examples in the documentation", run: test::examples },
    Task {
        name: "consumers",
        about: "open exports in the tools they are for",
        run: consumers::run,
    },
    Task {
        name: "page",
        about: "check the page in a browser: [TEST of ui/tests], --build it into ui/dist, make its --fixtures only, or its --sheet of pictures",
        run: page::run,
    },
    Task {
        name: "ocaml",
        about: "get other compilers beside the machine's own OCaml: [VERSION..]",
        run: compilers::run,
    },
    Task {
        name: "programs",
        about: "get programs of OCaml versions without a compiler package",
        run: programs::run,
    },
    Task {
        name: "fuzz",
        about: "fuzz the parsers: TARGET.. or --all, [--seconds N]",
        run: fuzz::run,
    },
    Task {
        name: "fuzz-seeds",
        about: "write the files that fuzzing starts from",
        run: fuzz::seeds,
    },
    Task {
        name: "release",
        about: "build the binary for others: stripped, its symbols in a file beside it",
        run: release::run,
    },
    Task {
        name: "dist",
        about: "pack a release into dist/: --query, with that engine; --twice: compare two builds; --check [SUITE..], --check-library, --check-source: install it in bare roots of Debian",
        run: dist::run,
    },
    Task {
        name: "query",
        about: "build the engine of `bactrian query`, which takes long, and test it; --build: only build it",
        run: query::run,
    },
    Task { name: "book", about: "make a book of docs/, with mdBook", run: book::run },
    Task {
        name: "reach",
        about: "observe every kind of program in every way, and write docs/reach.md",
        run: reach::run,
    },
    Task { name: "bench", about: "run benchmarks; without arguments, list them", run: bench::run },
    Task {
        name: "generate-trace",
        about: "a trace for benchmarks: --shape deep|wide|many [--events N] [--seed N] -o FILE",
        run: bench::generate_trace,
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
