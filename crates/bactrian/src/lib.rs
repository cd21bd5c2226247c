//! `bactrian`: shows what an OCaml program keeps in memory.
//!
//! Each command is one file in `commands/` and does three things: it opens its files, asks
//! `bactrian-analysis`, and shows the answer. `cli.rs` defines the command line once, for parsing, help,
//! completions and man pages.
//!
//! This is a library for one reason: `bactrian-query`, which has the query engine and is built separately,
//! parses the same command line and opens files in the same way ([`engine`]).

mod cli;
mod commands;
mod demo;
mod derived_args;
pub mod engine;
mod evidence;
mod failure;
mod file_args;
mod filters;
mod indexes;
mod live;
mod open;
mod origin_args;
mod output;
mod python_engine;
mod shown;
mod threads;
mod types;

use std::process::ExitCode;

pub use commands::query;
pub use failure::{Failure, Status};
pub use output::{Console, write_file};

use clap::Parser;

/// Runs the command line.
pub fn main() -> ExitCode {
    run(|command, console| command.run(console))
}

/// Parses the command line and runs its command with `work`.
fn run(work: impl FnOnce(cli::Command, &mut Console) -> Result<Status, Failure>) -> ExitCode {
    bactrian_capture::inherited::settle();
    bactrian_capture::temporary::settle();
    let cli = cli::Cli::parse();
    let mut console = Console::new(cli.color);
    let ended = work(cli.command, &mut console);
    let ended = match (console.flush(), ended) {
        // The exit status is the program's, even if something could not be printed.
        (Err(error), Ok(status @ Status::Program(_))) => {
            console.complain(&error.to_string());
            Ok(status)
        }
        (flushed, ended) => flushed.map_err(Failure::from).and(ended),
    };
    match ended {
        Ok(status) => status.into(),
        Err(failure) => {
            console.complain(&failure.to_string());
            Status::from(&failure).into()
        }
    }
}
