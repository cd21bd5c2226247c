//! `bactrian mcp`: questions as tools for coding assistants.

use std::io::Write;
use std::sync::Arc;

use bactrian_mcp::{Opener, SKILL};

use crate::failure::{Failure, Status};
use crate::output::{Color, Console};
use crate::shown::ShownArgs;

/// Serve a coding assistant (Model Context Protocol).
///
/// Everything that the other commands answer is a tool. The protocol runs over standard input and output, so that an
/// assistant can start this command. Files named here are opened at once; the assistant can open others. Nothing is
/// written except the index of a snapshot, and nothing leaves this machine except what the assistant sends.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  claude mcp add bactrian -- bactrian mcp           register it with an assistant
  bactrian mcp server.ctf server.*.heap             with these files
  bactrian mcp --skill > .skills/bactrian.md        a page of instructions for an assistant")]
pub struct Args {
    /// Print a page of instructions for an assistant, and exit
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
