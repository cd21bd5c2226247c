//! `bactrian-query`: the engine of `bactrian query` and `bactrian fleet`.
//!
//! DataFusion reads the tables of `crates/tables` directly: [`provider`] passes it their rows, [`columns`] converts them to
//! Arrow, and [`functions`] adds functions on the graph. [`answers`] prints the answer, [`mistakes`] says what is wrong with a
//! query, [`prompt`] reads the next one. [`fleet`] reads the files of a store, [`store`] opens object stores, and [`http`] sends
//! requests to servers of profiles.

mod answers;
mod columns;
mod engine;
mod fleet;
mod functions;
mod http;
mod mistakes;
mod prompt;
mod provider;
mod store;

use std::process::ExitCode;
use std::sync::Arc;

use bactrian::engine::{Engine, FleetEngine, TableFolders, program};
use bactrian::query::Request;
use bactrian::{Console, Failure};
use bactrian_fleet::roll_up::Packer;
use bactrian_fleet::{HttpClient, Store};
use tokio::runtime::Runtime;

fn main() -> ExitCode {
    program(&DataFusion)
}

/// The engine.
struct DataFusion;

impl Engine for DataFusion {
    fn query(&self, request: Request, console: &mut Console) -> Result<(), Failure> {
        let engine = engine::Engine::new(&request.files)?;
        match &request.sql {
            Some(sql) => engine.tell(sql, &request, console),
            None => prompt::run(&engine, &request, console),
        }
    }

    fn fleet(&self, store: &str, tables: &[TableFolders]) -> Result<Box<dyn FleetEngine>, Failure> {
        Ok(Box::new(fleet::Fleet::open(store, tables, runtime()?)?))
    }

    fn store(&self, store: &str) -> Result<Arc<dyn Store>, Failure> {
        Ok(Arc::new(store::RemoteStore::open(&fleet::address(store)?, runtime()?)?))
    }

    fn http(&self) -> Result<Box<dyn HttpClient>, Failure> {
        Ok(Box::new(http::Client::new(runtime()?)?))
    }

    fn packer(&self, store: &str) -> Result<Box<dyn Packer>, Failure> {
        Ok(Box::new(fleet::FilePacker::new(store, runtime()?)))
    }
}

fn runtime() -> Result<Arc<Runtime>, Failure> {
    Ok(Arc::new(tokio::runtime::Builder::new_multi_thread().enable_all().build()?))
}
