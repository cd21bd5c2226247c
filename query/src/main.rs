//! `bactrian-query`: the engine of `bactrian query`.
//!
//! DataFusion asks the tables of `crates/tables` directly: [`provider`] hands it their rows, [`columns`] in its own form, and
//! [`functions`] what SQL cannot say of a graph. [`answers`] tells what came of it, [`mistakes`] what is wrong with a query,
//! [`prompt`] asks for the next one.

mod answers;
mod columns;
mod engine;
mod functions;
mod mistakes;
mod prompt;
mod provider;

use std::process::ExitCode;

use bactrian::query::{Request, program};
use bactrian::{Console, Failure};

use engine::Engine;

fn main() -> ExitCode {
    program(answer)
}

fn answer(request: Request, console: &mut Console) -> Result<(), Failure> {
    let engine = Engine::new(&request.files)?;
    match &request.sql {
        Some(sql) => engine.tell(sql, &request, console),
        None => prompt::run(&engine, &request, console),
    }
}
