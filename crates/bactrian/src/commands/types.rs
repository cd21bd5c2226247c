//! `bactrian types`: type tables from the compiler's output.

use std::io::Write;
use std::path::{Path, PathBuf};

use bactrian_capture::types::{self, Sources};
use bactrian_trace::Losses;
use bactrian_types::Table;
use serde::Serialize;

use crate::failure::{Failure, Status};
use crate::open::open_types;
use crate::output::{Console, line, print_json, show_number, visible};

/// Build and inspect tables of types, which heap commands use.
///
/// OCaml's compiler records types in .cmt files (dune always asks for them; otherwise use -bin-annot). A table of types
/// contains what is needed to find the types of blocks. Heap commands build one themselves if the program is still where it
/// was built; a table that was built before can be copied along with the snapshots.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  bactrian types build _build -o server.types
  bactrian types info server.types")]
pub struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(clap::Subcommand, Debug)]
enum Verb {
    Build(BuildArgs),
    Info(InfoArgs),
}

/// Build a table of types from the .cmt files of a build.
///
/// Folders are searched recursively; the standard library is always included. The compiler that wrote the files must be
/// installed, with its compiler-libs.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  bactrian types build _build -o server.types
  bactrian types build _build $(ocamlfind query -r yojson lwt) -o server.types    with libraries
  bactrian heap types server.1.heap --types server.types")]
struct BuildArgs {
    /// Folders with .cmt files, or .cmt files
    #[arg(value_name = "DIRECTORY", required = true)]
    places: Vec<PathBuf>,
    /// Where to write the table
    #[arg(long, short, value_name = "FILE", default_value = "program.types")]
    output: PathBuf,
    /// The ocamlopt that compiled the files [default: one of the same version, in PATH or in opam's switches]
    #[arg(long, value_name = "PATH")]
    compiler: Option<PathBuf>,
}

/// Show what a table of types contains.
#[derive(clap::Args, Debug)]
struct InfoArgs {
    /// Table of types
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// List all modules, and all files that could not be read
    #[arg(long)]
    full: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args, console: &mut Console) -> Result<Status, Failure> {
    match &args.verb {
        Verb::Build(args) => build(args, console),
        Verb::Info(args) => info(args, console),
    }
}

fn build(args: &BuildArgs, console: &mut Console) -> Result<Status, Failure> {
    if let Some(missing) = args.places.iter().find(|place| !place.exists()) {
        return Err(anyhow::anyhow!("{}: no such folder or file", missing.display()).into());
    }
    let sources = Sources::within(&args.places);
    let mut say = |note: &str| drop(console.note(note));
    let built = types::build(sources, args.compiler.as_deref(), &args.output, &mut say);
    built.map_err(failure)?;
    let table = open_types(&args.output)?;
    tell(&args.output, &table, console)?;
    Ok(Status::Done)
}

/// Prints a summary in two lines.
fn tell(path: &Path, table: &Table, console: &mut Console) -> Result<(), Failure> {
    let facts = Facts::of(table);
    console.note(&format!(
        "{}: {} of OCaml {}, {}, {}",
        path.display(),
        show_number(facts.modules, "module"),
        facts.compiler,
        show_number(facts.declarations, "type"),
        show_number(facts.sites, "site"),
    ))?;
    if facts.not_readable > 0 {
        let files = show_number(facts.not_readable, "file");
        let list = format!("bactrian types info --full {}", path.display());
        console.warn(&format!("{files} could not be read: `{list}` lists them"))?;
    }
    Ok(())
}

/// Classifies an error.
pub fn failure(error: types::TypesError) -> Failure {
    match error {
        types::TypesError::NoCompiler(..)
        | types::TypesError::NotCompiled(_)
        | types::TypesError::BadCompiler(..) => Failure::NotSupported(error.to_string()),
        error => anyhow::anyhow!("{error}").into(),
    }
}

/// What a table has in it.
#[derive(Serialize)]
struct Facts<'a> {
    compiler: &'a str,
    modules: u64,
    /// Modules whose implementation can be compared with what a program was linked from.
    modules_with_implementation: u64,
    declarations: u64,
    types: u64,
    exceptions: u64,
    sites: u64,
    not_readable: u64,
}

impl Facts<'_> {
    fn of(table: &Table) -> Facts<'_> {
        let with = table.units.iter().filter(|unit| unit.implementation.is_some()).count();
        Facts {
            compiler: &table.compiler,
            modules: table.units.len() as u64,
            modules_with_implementation: with as u64,
            declarations: table.declarations.len() as u64,
            types: table.types.len() as u64,
            exceptions: table.extensions.len() as u64,
            sites: table.sites.len() as u64,
            not_readable: table.failures.len() as u64,
        }
    }
}

fn info(args: &InfoArgs, console: &mut Console) -> Result<Status, Failure> {
    let table = open_types(&args.file)?;
    let facts = Facts::of(&table);
    if args.json {
        print_json(console, "types info", &args.file, &Losses::default(), &facts)?;
        return Ok(Status::Done);
    }
    line(console, "compiler", &format!("OCaml {}", visible(facts.compiler)))?;
    let with = facts.modules_with_implementation;
    let modules = show_number(facts.modules, "module");
    line(console, "modules", &format!("{modules}, {with} with the digest of their code"))?;
    line(console, "declarations", &facts.declarations.to_string())?;
    line(console, "exceptions", &format!("{} and other extensions", facts.exceptions))?;
    line(console, "sites", &facts.sites.to_string())?;
    line(console, "not readable", &show_number(facts.not_readable, "file"))?;
    if args.full {
        for unit in &table.units {
            writeln!(console.out(), "{}  {}", visible(&unit.name), visible(&unit.file))?;
        }
        for failure in &table.failures {
            writeln!(
                console.out(),
                "not readable: {}: {}",
                visible(&failure.file),
                visible(&failure.reason)
            )?;
        }
    }
    Ok(Status::Done)
}
