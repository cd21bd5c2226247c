//! The command line, defined once: parsing, help, completions and man pages all come from here.

use clap::{Parser, Subcommand};

use crate::commands;
use crate::output::Color;

/// Shows what an OCaml program keeps in memory: what was allocated, where, and what became of it.
#[derive(Parser, Debug)]
#[command(name = "bactrian", version, propagate_version = true, infer_subcommands = true)]
#[command(after_help = "Examples:
  bactrian info trace.ctf                    what is in this file
  bactrian top trace.ctf --metric live       who holds memory at the end
  bactrian flame trace.ctf -o flame.svg      the same as a picture
  bactrian diff before.ctf after.ctf         what changed

Exit status: 0 done, 1 finding (check, diff), 2 usage, 3 bad input.")]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
    /// When to use colours
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub color: Color,
}

/// One variant per command; each is defined beside its code.
#[derive(Subcommand, Debug)]
pub enum Command {
    /// What a trace is: program, rate, duration, losses
    Info(commands::info::Args),
    /// Sites, functions, files or modules that allocate or hold most
    Top(commands::top::Args),
    /// Who calls what allocates, as a tree
    Tree(commands::tree::Args),
    /// A flame graph (SVG)
    Flame(commands::flame::Args),
    /// Live bytes over time
    Timeline(commands::timeline::Args),
    /// What dies young and what never dies
    Lifetimes(commands::lifetimes::Args),
    /// What changed between two traces
    Diff(commands::diff::Args),
    /// Hold a trace against limits or a baseline, for continuous integration
    Check(commands::check::Args),
    /// Every event as text
    Dump(commands::dump::Args),
    /// Write a trace anew: another version, fewer samples, a window, no names
    Convert(commands::convert::Args),
    /// Write a profile for another tool
    Export(commands::export::Args),
    /// Print shell completions
    Completions(commands::completions::Args),
    /// Write man pages
    Man(commands::man::Args),
}
