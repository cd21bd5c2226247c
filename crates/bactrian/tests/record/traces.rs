//! Traces as `bactrian info` shows them.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// The output of `info --full --json` about a trace, with optional filters; an error as text.
pub fn info(trace: &Path, filters: &[&str]) -> Result<Value, String> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bactrian"));
    command.args(["info", "--full", "--json"]).arg(trace).args(filters);
    let output = command.output().expect("bactrian starts");
    let name = trace.display();
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{name}: info ends with {}: {said}", output.status));
    }
    serde_json::from_slice(&output.stdout).map_err(|error| format!("{name}: {error}"))
}

/// The traces in a directory.
pub fn in_folder(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder of traces").flatten();
    let mut paths: Vec<_> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

/// Checks that a trace is complete, and its recorder lost nothing.
pub fn is_clean(info: &Value) -> Result<(), String> {
    let losses = &info["files"][0]["losses"];
    if losses["clean"] != true {
        return Err(format!("damaged: {losses}"));
    }
    let recorder = &info["result"]["recorder"];
    for count in ["lost_allocations", "lost_ends", "unknown_frames"] {
        if recorder[count] != 0 {
            return Err(format!("{count} is {}, and should be 0", recorder[count]));
        }
    }
    Ok(())
}

/// Checks that only its owner may read a trace, which reveals much about a program.
pub fn is_private(trace: &Path) -> Result<(), String> {
    let metadata = fs::metadata(trace).map_err(|error| format!("{}: {error}", trace.display()))?;
    match metadata.permissions().mode() & 0o777 {
        0o600 => Ok(()),
        mode => Err(format!("{}: its mode is {mode:o}", trace.display())),
    }
}

/// How the recording ended, as the recorder wrote it.
pub fn state(info: &Value) -> &str {
    info["result"]["recorder"]["state"].as_str().unwrap_or("not said")
}

/// The estimated bytes allocated: low, value, high.
pub fn allocated(info: &Value) -> [f64; 3] {
    let estimate = &info["result"]["contents"]["allocated"];
    ["low", "value", "high"].map(|end| estimate[end].as_f64().expect("an estimate"))
}

/// Seconds from start to end.
pub fn duration(info: &Value) -> f64 {
    info["result"]["duration"].as_f64().expect("a number")
}

/// The sites of a trace: function, file, line, and the value of `metric`.
pub fn sites(trace: &Path, metric: &str) -> Vec<Site> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bactrian"));
    command
        .args(["top", "--by", "site", "--json", "--raw", "-n", "0", "--metric", metric])
        .arg(trace);
    let output = command.output().expect("bactrian starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let said: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let rows = said["result"]["rows"].as_array().expect("rows");
    let text = |value: &Value| value.as_str().unwrap_or("").to_owned();
    let site = |row: &Value| Site {
        function: text(&row["name"]),
        file: text(&row["file"]),
        line: row["line"].as_u64().unwrap_or(0),
        columns: [0, 1].map(|end| row["columns"][end].as_u64().unwrap_or(0)),
        value: row["self"]["value"].as_f64().expect("a number"),
    };
    rows.iter().map(site).collect()
}

/// An allocation site.
#[derive(Clone, Debug, PartialEq)]
pub struct Site {
    pub function: String,
    /// Empty, with line 0, if unknown.
    pub file: String,
    pub line: u64,
    pub columns: [u64; 2],
    pub value: f64,
}
