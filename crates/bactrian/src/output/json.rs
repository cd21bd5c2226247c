//! JSON: one envelope for all commands, described in `docs/json.md`.

use std::io::{self, Write};
use std::path::Path;

use bactrian_analysis::SCHEMA_VERSION;
use bactrian_analysis::question::EvidenceLosses;
use serde::Serialize;
use serde_json::{Value, json};

use super::Console;

/// Prints the answer of `command` about one file.
pub fn print_json(
    console: &mut Console,
    command: &str,
    file: &Path,
    losses: &(impl Into<EvidenceLosses> + Clone),
    result: &impl Serialize,
) -> io::Result<()> {
    print_envelope(console, command, [(file, &losses.clone().into())], result)
}

/// Prints the data of an observed program: no file was read.
pub fn print_json_of_live(console: &mut Console, result: &Value) -> io::Result<()> {
    print_envelope(console, "live", [], result)
}

/// Prints the answer of `command` about files.
pub fn print_envelope<'f>(
    console: &mut Console,
    command: &str,
    files: impl IntoIterator<Item = (&'f Path, &'f EvidenceLosses)>,
    result: &impl Serialize,
) -> io::Result<()> {
    let file = |(path, losses): (&Path, &EvidenceLosses)| json!({ "path": path.to_string_lossy(), "losses": losses });
    let envelope = json!({
        "schema_version": SCHEMA_VERSION,
        "command": command,
        "files": files.into_iter().map(file).collect::<Vec<_>>(),
        "result": serde_json::to_value(result)?,
    });
    // In a single write: the stream looks for escape sequences in each.
    let mut text = serde_json::to_vec_pretty(&envelope)?;
    text.push(b'\n');
    console.out().write_all(&text)
}
