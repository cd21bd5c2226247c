//! `bactrian heap`: who holds the memory of a heap snapshot. One small file per verb: open, ask, show.

mod blocks;
mod classes;
mod collections;
pub mod diff;
mod dominators;
mod duplicates;
mod evolution;
pub mod export;
mod fields;
mod finalisers;
mod graph;
mod leaks;
mod paths;
mod roots;
mod show;
mod summary;
mod suspects;
mod types;
mod what_if;

use bactrian_analysis::heap::{ClassBy, NO_TABLE};

use crate::failure::{Failure, Status};
use crate::output::Console;

/// Analyse a heap snapshot: what it contains, and what keeps it alive.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  bactrian heap summary server.1.heap        what the memory is used for
  bactrian heap roots server.1.heap          which roots hold it
  bactrian heap types server.1.heap --types server.types   blocks by OCaml type
  bactrian heap suspects server.1.heap       what is likely wrong
  bactrian heap dominators server.1.heap     the dominator tree, with retained sizes
  bactrian heap diff server.*.heap           what grows
  bactrian heap leaks a.heap b.heap c.heap   what appeared between the first two and stayed
  bactrian heap evolution server.*.heap --by module   how large each module is in each snapshot
  bactrian heap duplicates server.1.heap     what exists more than once
  bactrian heap collections server.1.heap --types server.types   lists, tables, maps: how many, how full
  bactrian heap fields server.1.heap Main.entry --types server.types   what each field retains
  bactrian heap blocks server.1.heap Main.entry --group-by path   the blocks of a type, one by one or by a field
  bactrian heap what-if server.1.heap --cut Cache.entry.session   what would be freed without these references
  bactrian heap graph server.1.heap -o h.svg  the whole heap in one picture

Results are kept in an index in ~/.cache/bactrian/indexes, so that the next question is answered at once
(--no-index turns this off).")]
pub struct Args {
    #[command(subcommand)]
    verb: Verb,
}

/// One variant per verb; each is defined beside its code.
#[derive(clap::Subcommand, Debug)]
enum Verb {
    Summary(summary::Args),
    Roots(roots::Args),
    Types(types::Args),
    /// Blocks by tag
    Tags(classes::ClassArgs),
    /// Blocks by allocation site, estimated from samples
    Sites(classes::ClassArgs),
    /// Blocks by the function that allocated them, estimated from samples
    Functions(classes::ClassArgs),
    /// Blocks by the module that allocated them, estimated from samples
    Modules(classes::ClassArgs),
    Dominators(dominators::Args),
    Blocks(blocks::Args),
    Show(show::Args),
    Export(export::Args),
    Paths(paths::Args),
    Finalisers(finalisers::Args),
    Suspects(suspects::Args),
    Diff(diff::Args),
    Leaks(leaks::Args),
    Evolution(evolution::Args),
    Duplicates(duplicates::Args),
    Graph(graph::Args),
    Collections(collections::Args),
    Fields(fields::Args),
    WhatIf(what_if::Args),
}

pub fn run(args: &Args, console: &mut Console) -> Result<Status, Failure> {
    match &args.verb {
        Verb::Summary(args) => summary::run(args, console),
        Verb::Roots(args) => roots::run(args, console),
        Verb::Types(args) => types::run(args, console),
        Verb::Tags(args) => classes::run(args, ClassBy::Tag, console),
        Verb::Sites(args) => classes::run(args, ClassBy::Site, console),
        Verb::Functions(args) => classes::run(args, ClassBy::Function, console),
        Verb::Modules(args) => classes::run(args, ClassBy::Module, console),
        Verb::Dominators(args) => dominators::run(args, console),
        Verb::Blocks(args) => blocks::run(args, console),
        Verb::Show(args) => show::run(args, console),
        Verb::Export(args) => export::run(args, console),
        Verb::Paths(args) => paths::run(args, console),
        Verb::Finalisers(args) => finalisers::run(args, console),
        Verb::Suspects(args) => suspects::run(args, console),
        Verb::Diff(args) => diff::run(args, console),
        Verb::Leaks(args) => leaks::run(args, console),
        Verb::Evolution(args) => evolution::run(args, console),
        Verb::Duplicates(args) => duplicates::run(args, console),
        Verb::Graph(args) => graph::run(args, console),
        Verb::Collections(args) => collections::run(args, console),
        Verb::Fields(args) => fields::run(args, console),
        Verb::WhatIf(args) => what_if::run(args, console),
    }
}

/// The error for questions about types without a type table.
pub fn no_types() -> Failure {
    Failure::Usage(NO_TABLE.to_owned())
}
