//! `bactrian man`: man pages.

use std::path::PathBuf;

use anyhow::Context;
use clap::CommandFactory;

use crate::cli::Cli;
use crate::failure::{Failure, Status};

/// Write man pages: bactrian.1 and one for each command.
#[derive(clap::Args, Debug)]
#[command(after_help = "Example:
  bactrian man ~/.local/share/man/man1 && man bactrian-top")]
pub struct Args {
    /// Folder to write them into
    folder: PathBuf,
}

pub fn run(args: &Args) -> Result<Status, Failure> {
    let folder = &args.folder;
    let context = || format!("cannot write man pages into {}", folder.display());
    std::fs::create_dir_all(folder).with_context(context)?;
    clap_mangen::generate_to(Cli::command(), folder).with_context(context)?;
    Ok(Status::Done)
}
