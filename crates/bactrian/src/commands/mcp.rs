//! `bactrian mcp`: questions as tools for coding assistants.

use std::io::Write;
use std::sync::Arc;

use bactrian_mcp::{Opener, SKILL};

use crate::failure::{Failure, Status};
use crate::output::{Color, Console};
use crate::shown::ShownArgs;

/// Answers a coding assistant (Model Context Protocol).
///
/// The questions of all commands are its tools. The protocol runs over standard input and output, so that an assistant starts it. Files that are named here are open at once; the
/// assistant can open others. Nothing is written, and nothing leaves this machine but what the assistant sends.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  claude mcp add bactrian -- bactrian mcp           for an assistant that starts it itself
  bactrian mcp server.ctf server.*.heap             with these files
  bactrian mcp --skill > .skills/bactrian.md        what an assistant should know, in a page")]
pub struct Args {
    /// Print what an assistant should know, and end
    #[arg(long)]
    skill: bool,
    #[command(flatten)]
    shown: ShownArgs,
}

pub fn run(args: Args, console: &mut Console) -> Result<Status, Failure> {
    if args.skill {
        write!(console.out(), "{SKILL}")?;
        return Ok(Status::Done);
    }
    let shown = Arc::new(args.shown);
    let files = shown.files(console)?;
    let open: Opener = Box::new(move |path| {
        let mut console = Console::new(Color::Never);
        shown.file(path, &mut console).map_err(|failure| failure.to_string())
    });
    bactrian_mcp::serve(files, open).map_err(anyhow::Error::from)?;
    Ok(Status::Done)
}
