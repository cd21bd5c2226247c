//! The size of snapshots of a real heap: that of OCaml's compiler at work.

use std::process::{Command, Stdio};

use super::Tools;
use super::programs::observe;
use crate::record::subjects::SUBJECTS;

/// A table with a row for each snapshot.
pub fn bench(tools: &Tools) -> Result<String, String> {
    let subject = SUBJECTS.iter().find(|subject| subject.name == "ocamlopt");
    let subject = subject.ok_or("there is no such subject of bench record")?;
    let (run, version) = subject.make(&tools.folder)?;
    let mut command = Command::new(&run.program);
    command.args(&run.arguments).stdin(Stdio::null()).stdout(Stdio::null());
    let ledger = observe(&mut command, "peak=30,exit", tools)?;
    let status = command.status().map_err(|error| format!("the compiler: {error}"))?;
    if !status.success() {
        return Err(format!("the compiler failed ({status})"));
    }
    let mut account = ledger.wait(None)?.all_well()?;
    account.written.sort_by_key(|written| written.number);
    let mut text = format!(
        "OCaml {version}, at peaks and at exit; {} skipped.\n\n\
         | live heap | blocks | file | of the heap | bytes per block |\n|--:|--:|--:|--:|--:|\n",
        account.skipped
    );
    for written in &account.written {
        let (heap, file) = (written.heap_bytes as f64, written.file_bytes as f64);
        text.push_str(&format!(
            "| {:.1} MB | {:.2} M | {:.2} MB | {:.1} % | {:.2} |\n",
            heap / 1e6,
            written.blocks as f64 / 1e6,
            file / 1e6,
            100.0 * file / heap,
            file / written.blocks as f64,
        ));
    }
    Ok(text)
}
