//! The commands, one file each: open, ask, show.

pub mod agent;
pub mod annotate;
mod arguments;
pub mod check;
pub mod completions;
pub mod convert;
pub mod diff;
pub mod disasm;
pub mod doctor;
pub mod dump;
pub mod export;
pub mod flame;
pub mod heap;
mod heap_check;
mod heap_info;
pub mod info;
mod instructions;
pub mod lifetimes;
pub mod live;
pub mod man;
pub mod mcp;
pub mod record;
pub mod record_running;
mod recorded;
pub mod report;
pub mod snapshot;
mod snapshots;
pub mod timeline;
pub mod top;
pub mod tree;
pub mod types;
pub mod view;

use crate::cli::Command;
use crate::failure::{Failure, Status};
use crate::output::Console;

/// Runs a command to its end.
pub fn run(command: Command, console: &mut Console) -> Result<Status, Failure> {
    match command {
        Command::Record(args) => record::run(&args, console),
        Command::Snapshot(args) => snapshot::run(&args, console),
        Command::Live(args) => live::run(&args, console),
        Command::Doctor(args) => doctor::run(&args, console),
        Command::View(args) => view::run(&args, console),
        Command::Report(args) => report::run(&args, console),
        Command::Mcp(args) => mcp::run(args, console),
        Command::Info(args) => info::run(&args, console),
        Command::Top(args) => top::run(&args, console),
        Command::Tree(args) => tree::run(&args, console),
        Command::Flame(args) => flame::run(&args, console),
        Command::Annotate(args) => annotate::run(&args, console),
        Command::Disasm(args) => disasm::run(&args, console),
        Command::Timeline(args) => timeline::run(&args, console),
        Command::Lifetimes(args) => lifetimes::run(&args, console),
        Command::Diff(args) => diff::run(&args, console),
        Command::Check(args) => check::run(&args, console),
        Command::Dump(args) => dump::run(&args, console),
        Command::Convert(args) => convert::run(&args, console),
        Command::Export(args) => export::run(&args, console),
        Command::Heap(args) => heap::run(&args, console),
        Command::Types(args) => types::run(&args, console),
        Command::Agent(args) => agent::run(&args, console),
        Command::Completions(args) => completions::run(&args, console),
        Command::Man(args) => man::run(&args),
        Command::WalkFrozen => snapshot::walk_frozen(),
        Command::TryCopying => snapshot::try_copying(),
    }
}
