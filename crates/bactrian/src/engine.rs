//! The query engine, a separate program because it takes three times as long to build as everything else. It
//! is searched for beside this program and parses the same command line ([`program`]).

pub(crate) mod process;

use std::env;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::Arc;

use bactrian_fleet::roll_up::Packer;
use bactrian_fleet::{Folder, HttpClient, Store};
use bactrian_tables::schema::Table;
use serde_json::{Map, Value};

use crate::failure::{Failure, Status};
use crate::output::Console;
use crate::{cli, commands};

/// The name of the program that has the engine.
const ENGINE: &str = "bactrian-query";

/// A row of an answer, by column.
pub type Row = Map<String, Value>;

/// What the engine provides.
pub trait Engine {
    /// Answers a query about some files.
    fn query(
        &self,
        request: commands::query::Request,
        console: &mut Console,
    ) -> Result<(), Failure>;

    /// Opens the tables of a fleet.
    fn fleet(&self, store: &str, tables: &[TableFolders]) -> Result<Box<dyn FleetEngine>, Failure>;

    /// Opens a store, local or remote.
    fn store(&self, store: &str) -> Result<Arc<dyn Store>, Failure>;

    /// The HTTP client.
    fn http(&self) -> Result<Box<dyn HttpClient>, Failure>;

    /// What packs the files of a store.
    fn packer(&self, store: &str) -> Result<Box<dyn Packer>, Failure>;
}

/// The folders of a store that contain the files of a table; none if the table has no rows.
pub struct TableFolders {
    /// The table.
    pub table: &'static Table,
    /// Their names.
    pub folders: Vec<String>,
}

/// Opens a store that may be a folder, which needs no engine.
pub(crate) fn open_store(
    address: &str,
    engine: Option<&dyn Engine>,
) -> Result<Arc<dyn Store>, Failure> {
    match engine {
        Some(engine) if address.contains("://") => engine.store(address),
        _ => Ok(Arc::new(Folder::new(Path::new(address)))),
    }
}

/// An engine with the tables of a fleet.
pub trait FleetEngine {
    /// Stores the answer to a query as a table.
    fn keep(&mut self, name: &str, sql: &str) -> Result<(), Failure>;

    /// Answers a query.
    fn rows(&mut self, sql: &str) -> Result<Vec<Row>, Failure>;
}

/// Finds the engine: beside this program, or in PATH.
pub fn find() -> Option<PathBuf> {
    let beside = env::current_exe().ok().map(|this| this.with_file_name(ENGINE));
    let paths = env::var_os("PATH").unwrap_or_default();
    let in_path = env::split_paths(&paths).map(|folder| folder.join(ENGINE));
    beside.into_iter().chain(in_path).find(|path| path.is_file())
}

/// Executes the program that has the engine.
pub fn become_engine() -> Result<Status, Failure> {
    let engine = find().ok_or_else(missing)?;
    let error = Command::new(&engine).args(env::args_os().skip(1)).exec();
    Err(Failure::Input(anyhow::anyhow!("{}: {error}", engine.display())))
}

/// The error if it is missing.
pub(crate) fn missing() -> Failure {
    let what = "the query engine is a separate program, bactrian-query, and it is neither beside \
                    bactrian nor in PATH: `make query` builds it. `bactrian export --to parquet` writes the same \
                    tables for DuckDB and others";
    Failure::NotSupported(what.to_owned())
}

/// The main function of `bactrian-query`: parses the same command line as `bactrian`, and runs the commands that need the engine.
pub fn program(engine: &dyn Engine) -> ExitCode {
    crate::run(|command, console| match command {
        cli::Command::Query(args) => commands::query::answer(&args, engine, console),
        cli::Command::Fleet(args) => commands::fleet::answer(&args, Some(engine), console),
        cli::Command::Ship(args) => commands::ship::run(&args, Some(engine), console),
        cli::Command::Snapshot(args) => commands::snapshot::run(&args, Some(engine), console),
        _ => {
            let what = "this program only runs queries for `bactrian`: use `bactrian query`";
            Err(Failure::Usage(what.to_owned()))
        }
    })
}
