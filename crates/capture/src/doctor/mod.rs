//! Doctor: what can be observed about a program, and why not.
//!
//! [`examine`] looks at a file and [`examine_process`] at a process; both first gather facts ([`Facts`],
//! [`Process`]) and then judge them ([`Verdict`]). [`recordable`] and [`enterable`] make the same judgement
//! for `record` and `live`, so that all commands use the same words.

mod facts;
mod privilege;
mod process;
mod verdict;

use std::path::Path;

use facts::Depth;
use serde::Serialize;

pub use bactrian_ocaml::executable::{ExecutableKind, Machine, Purpose};
pub use facts::{Debug, Facts, MachineCode, OcamlFacts, VersionSource};
pub use privilege::Privilege;
pub use process::{Process, Tracing};
pub use verdict::{Cause, Refusal, Verdict};
pub(crate) use verdict::{cannot_start_late, no_sampler};

/// What can be observed about a program.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The facts about the program.
    pub program: Facts,
    /// The process, if one was asked about.
    pub process: Option<Process>,
    /// Whether its allocations can be recorded from its start.
    pub record: Verdict,
    /// Whether the process can be recorded while it runs.
    pub record_running: Option<Verdict>,
    /// Whether a snapshot of its heap can be taken.
    pub snapshot: Verdict,
    /// Whether it can be observed while it runs.
    pub attach: Verdict,
    /// Whether the blocks of its heap can be typed.
    pub types: Verdict,
}

/// Examines the program in a file.
///
/// # Errors
/// If the file cannot be read, or is not a program.
pub fn examine(path: &Path) -> Result<Report, Refusal> {
    Ok(judge(Facts::of_file(path, Depth::All)?, None))
}

/// Examines a process and the program that it runs.
///
/// # Errors
/// If there is no such process, or its program cannot be read.
pub fn examine_process(pid: u32) -> Result<Report, Refusal> {
    let process = Process::look(pid)?;
    let program = Facts::of_process(pid)?;
    Ok(judge(program, Some(process)))
}

/// Whether the program in a file can be recorded; if so, returns the facts that decide it, without debug
/// information.
///
/// # Errors
/// The reason and advice, if it cannot.
pub fn recordable(path: &Path) -> Result<Facts, Refusal> {
    let facts = Facts::of_file(path, Depth::Observable)?;
    facts.recordable()?;
    Ok(facts)
}

impl Facts {
    /// Whether the program can be recorded.
    ///
    /// # Errors
    /// The reason and advice, if it cannot.
    pub fn recordable(&self) -> Result<(), Refusal> {
        verdict::record(self).map(drop).map_err(|refusal| refusal.about(&self.path))
    }
}

/// Whether the agent can be loaded into the program in a file: for snapshots and live numbers, which need no
/// sampler.
///
/// # Errors
/// The reason and advice, if it cannot.
pub fn enterable(path: &Path) -> Result<Facts, Refusal> {
    let facts = Facts::of_file(path, Depth::Observable)?;
    match verdict::agent(&facts) {
        Ok(_) => Ok(facts),
        Err(refusal) => Err(verdict::with_what_works(&facts, refusal).about(path)),
    }
}

fn judge(program: Facts, process: Option<Process>) -> Report {
    let record = match (verdict::record(&program), &process) {
        (Ok(note), None) => Verdict::Yes { note },
        (Ok(note), Some(_)) => {
            Verdict::Yes { note: format!("{note}, if it is started again by record") }
        }
        (Err(refusal), _) => refusal.into(),
    };
    Report {
        record,
        record_running: process.as_ref().map(|process| verdict::record_running(&program, process)),
        snapshot: verdict::snapshot(&program),
        attach: verdict::attach(&program, process.as_ref()),
        types: verdict::types(&program),
        program,
        process,
    }
}
