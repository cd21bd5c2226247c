//! JSON: one envelope for all commands, described in `docs/json.md`.

use std::io::{self, Write};
use std::path::Path;

use bactrian_analysis::SCHEMA_VERSION;
use bactrian_trace::Losses;
use serde::Serialize;
use serde_json::{Value, json};

use super::Console;

/// Prints the answer of `command` about one file.
pub fn print_json(
    console: &mut Console,
    command: &str,
    file: &Path,
    losses: &Losses,
    result: &impl Serialize,
) -> io::Result<()> {
    print_json_of_files(console, command, &[(file, losses)], result)
}

/// Prints the answer of `command` about several files.
pub fn print_json_of_files(
    console: &mut Console,
    command: &str,
    files: &[(&Path, &Losses)],
    result: &impl Serialize,
) -> io::Result<()> {
    let files = files.iter().map(|(path, losses)| file_json(path, losses_json(losses)));
    print_envelope(console, command, files.collect(), result)
}

/// Prints the answer of `command` about heap snapshots.
pub fn print_json_of_snapshots(
    console: &mut Console,
    command: &str,
    files: &[(&Path, &bactrian_snapshot::Losses)],
    result: &impl Serialize,
) -> io::Result<()> {
    let files = files.iter().map(|(path, losses)| file_json(path, snapshot_losses_json(losses)));
    print_envelope(console, command, files.collect(), result)
}

/// Prints what is known of a program that was watched: no file was read.
pub fn print_json_of_live(console: &mut Console, result: &Value) -> io::Result<()> {
    print_envelope(console, "live", Vec::new(), result)
}

fn file_json(path: &Path, losses: Value) -> Value {
    json!({ "path": path.to_string_lossy(), "losses": losses })
}

fn print_envelope(
    console: &mut Console,
    command: &str,
    files: Vec<Value>,
    result: &impl Serialize,
) -> io::Result<()> {
    let envelope = json!({
        "schema_version": SCHEMA_VERSION,
        "command": command,
        "files": files,
        "result": serde_json::to_value(result)?,
    });
    serde_json::to_writer_pretty(console.out(), &envelope)?;
    writeln!(console.out())
}

fn snapshot_losses_json(losses: &bactrian_snapshot::Losses) -> Value {
    let incidents = losses.incidents.iter();
    let incidents = incidents.map(|i| json!({ "offset": i.offset, "what": i.what }));
    json!({
        "clean": losses.is_clean(),
        "cut": losses.is_cut,
        "groups": losses.groups,
        "blocks": losses.blocks,
        "tables": losses.tables,
        "references": losses.entries,
        "bytes_unread": losses.bytes_unread,
        "incidents": incidents.collect::<Vec<_>>(),
    })
}

fn losses_json(losses: &Losses) -> Value {
    let incidents = losses.incidents.iter();
    let incidents = incidents.map(|i| json!({ "offset": i.offset, "what": i.what }));
    json!({
        "clean": losses.is_clean(),
        "packets_damaged": losses.packets_damaged,
        "packets_foreign": losses.packets_foreign,
        "gaps": losses.gaps,
        "bytes_unread": losses.bytes_unread,
        "bytes_missing": losses.bytes_missing,
        "allocations": losses.allocations,
        "stacks_doubtful": losses.stacks_doubtful,
        "stacks_too_deep": losses.stacks_too_deep,
        "stacks_cut_by_recorder": losses.stacks_cut_by_recorder,
        "cache_mismatches": losses.cache_mismatches,
        "names_lost": losses.names_lost,
        "names_repaired": losses.names_repaired,
        "clock_steps": losses.clock_steps,
        "clock_shift": losses.clock_shift.seconds(),
        "incidents": incidents.collect::<Vec<_>>(),
    })
}
