//! The command line, defined once for parsing, help, completions and man pages.

use clap::{Parser, Subcommand};

use crate::commands;
use crate::derived_args::DeferredArgs;
use crate::failure::{Failure, Status};
use crate::output::{Color, Console};
use crate::threads;

/// A memory profiler for OCaml: what a program allocates, where, and what keeps it alive.
#[derive(Parser, Debug)]
#[command(name = "bactrian", version, propagate_version = true)]
#[command(after_help = "Examples:
  bactrian record -- ./server                record its allocations into server.ctf
  bactrian snapshot 1234                     take a heap snapshot of a running process
  bactrian live -- ./server                  watch a program while it runs
  bactrian view trace.ctf                    explore a file in the browser
  bactrian info trace.ctf                    what a file contains
  bactrian top trace.ctf --metric live       functions by what is still live at the end
  bactrian flame trace.ctf -o flame.svg      a flame graph
  bactrian diff before.ctf after.ctf         what changed
  bactrian heap roots server.heap            which roots hold the memory of a snapshot
  bactrian query server.heap \"select ..\"     anything else, in SQL

Exit status: 0 done, 1 finding (check, diff, and of heap: diff, leaks, suspects, finalisers), 2 usage, 3 bad input, 4 not supported here.")]
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
    Record(commands::record::Args),
    Snapshot(commands::snapshot::Args),
    Live(commands::live::Args),
    Gc(commands::gc::Args),
    View(commands::view::Args),
    Report(commands::report::Args),
    Mcp(commands::mcp::Args),
    Doctor(commands::doctor::Args),
    Info(commands::info::Args),
    Top(commands::top::Args),
    Tree(commands::tree::Args),
    Paths(commands::paths::Args),
    Flame(commands::flame::Args),
    Annotate(commands::annotate::Args),
    Disasm(commands::disasm::Args),
    Timeline(commands::timeline::Args),
    Lifetimes(commands::lifetimes::Args),
    Diff(commands::diff::Args),
    Check(commands::check::Args),
    Dump(commands::dump::Args),
    Convert(commands::convert::Args),
    Export(commands::export::Args),
    Query(commands::query::Args),
    Ship(commands::ship::Args),
    Fleet(commands::fleet::Args),
    /// Analyse a heap snapshot: what it contains, and what keeps it alive
    Heap(DeferredArgs<commands::heap::Args>),
    Types(commands::types::Args),
    Agent(commands::agent::Args),
    Completions(commands::completions::Args),
    Man(commands::man::Args),
    /// Started by `snapshot` to read a frozen copy of a program: not for people.
    #[command(hide = true)]
    WalkFrozen,
    /// Started by `record` to find out whether seccomp filters allow copies of a program: not for people.
    #[command(hide = true)]
    TryCopying,
}

impl Command {
    /// Whether several threads may do its work. Not if it starts programs: with `ulimit -u`, threads count as processes, and
    /// the program may need them.
    fn shares_work(&self) -> bool {
        matches!(
            self,
            Command::View(_)
                | Command::Report(_)
                | Command::Mcp(_)
                | Command::Export(_)
                | Command::Heap(_)
        )
    }

    /// Runs the command.
    pub fn run(self, console: &mut Console) -> Result<Status, Failure> {
        if self.shares_work() {
            threads::prepare()?;
        }
        match self {
            Command::Record(args) => commands::record::run(&args, console),
            Command::Snapshot(args) => commands::snapshot::run(&args, None, console),
            Command::Live(args) => commands::live::run(&args, console),
            Command::Gc(args) => commands::gc::run(&args, console),
            Command::Doctor(args) => commands::doctor::run(&args, console),
            Command::View(args) => commands::view::run(&args, console),
            Command::Report(args) => commands::report::run(&args, console),
            Command::Mcp(args) => commands::mcp::run(args, console),
            Command::Info(args) => commands::info::run(&args, console),
            Command::Top(args) => commands::top::run(&args, console),
            Command::Tree(args) => commands::tree::run(&args, console),
            Command::Paths(args) => commands::paths::run(&args, console),
            Command::Flame(args) => commands::flame::run(&args, console),
            Command::Annotate(args) => commands::annotate::run(&args, console),
            Command::Disasm(args) => commands::disasm::run(&args, console),
            Command::Timeline(args) => commands::timeline::run(&args, console),
            Command::Lifetimes(args) => commands::lifetimes::run(&args, console),
            Command::Diff(args) => commands::diff::run(&args, console),
            Command::Check(args) => commands::check::run(&args, console),
            Command::Dump(args) => commands::dump::run(&args, console),
            Command::Convert(args) => commands::convert::run(&args, console),
            Command::Export(args) => commands::export::run(&args, console),
            Command::Query(args) => commands::query::run(&args),
            Command::Ship(args) => commands::ship::run(&args, None, console),
            Command::Fleet(args) => commands::fleet::run(&args, console),
            Command::Heap(args) => commands::heap::run(&args.0, console),
            Command::Types(args) => commands::types::run(&args, console),
            Command::Agent(args) => commands::agent::run(&args, console),
            Command::Completions(args) => commands::completions::run(&args, console),
            Command::Man(args) => commands::man::run(&args),
            Command::WalkFrozen => commands::snapshot::walk_frozen(),
            Command::TryCopying => commands::snapshot::try_copying(),
        }
    }
}
