//! `bactrian`: shows what an OCaml program keeps in memory.
//!
//! Each command is one file in `commands/` and does three things: opens what it was given, asks
//! `bactrian-analysis`, and shows the answer. `cli.rs` defines the command line once, for parsing, help,
//! completions and man pages.
//!
//! This is a library for one reason: `bactrian-query`, which has the engine of queries and is built apart, understands the same
//! command line and opens files in the same way ([`engine`]).

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
mod output;
mod shown;
mod types;

use std::process::ExitCode;

pub use commands::query;
pub use failure::{Failure, Status};
pub use output::{Console, write_file};

use clap::Parser;

/// Runs what the command line says.
pub fn main() -> ExitCode {
    run(|command, console| command.run(console))
}

/// Runs the command of the command line by `work`.
fn run(work: impl FnOnce(cli::Command, &mut Console) -> Result<Status, Failure>) -> ExitCode {
    bactrian_capture::inherited::settle();
    bactrian_capture::temporary::settle();
    let cli = cli::Cli::parse();
    let mut console = Console::new(cli.color);
    let ended = work(cli.command, &mut console);
    let ended = match (console.flush(), ended) {
        // The end is the program's, whatever could not be said of it.
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
