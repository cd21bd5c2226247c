//! `bactrian-query`: the engine of `bactrian query` and `bactrian fleet`.
//!
//! DataFusion asks the tables of `crates/tables` directly: [`provider`] hands it their rows, [`columns`] in its own form, and
//! [`functions`] what SQL cannot say of a graph. [`answers`] tells what came of it, [`mistakes`] what is wrong with a query,
//! [`prompt`] asks for the next one. [`fleet`] has it read the files of a store, [`store`] reaches stores that are no folders, and [`http`]
//! servers to which profiles are pushed.

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
use bactrian_fleet::{HttpClient, Store};
use bactrian_fleet::roll_up::Packer;
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

    fn fleet(
        &self,
        store: &str,
        tables: &[TableFolders],
    ) -> Result<Box<dyn FleetEngine>, Failure> {
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
