//! `bactrian completions`: shell completions.

use clap::CommandFactory;

use crate::cli::Cli;
use crate::failure::{Failure, Status};
use crate::output::Console;

/// Print shell completions.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  bactrian completions bash > ~/.local/share/bash-completion/completions/bactrian
  bactrian completions fish > ~/.config/fish/completions/bactrian.fish")]
pub struct Args {
    /// The shell to print completions for
    shell: clap_complete::Shell,
}

pub fn run(args: &Args, console: &mut Console) -> Result<Status, Failure> {
    clap_complete::generate(args.shell, &mut Cli::command(), "bactrian", console.out());
    Ok(Status::Done)
}
