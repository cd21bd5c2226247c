//! The real tools that exports are made for; `cargo xtask consumers` gets them and says where they are.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// The folder of the tools.
pub fn tools() -> PathBuf {
    PathBuf::from(std::env::var_os("BACTRIAN_CONSUMERS").expect("cargo xtask consumers sets it"))
}

/// One of our scripts, which open a file in a tool and print what the tool shows as JSON.
pub fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../consumers").join(name)
}

/// The output of a tool, which must succeed without complaints.
pub fn ask(command: &mut Command) -> String {
    let output = command.output().expect("the tool is there");
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && complaint.is_empty(), "{command:?}: {complaint}");
    String::from_utf8(output.stdout).expect("tools speak UTF-8")
}

/// The JSON output of a tool.
pub fn ask_json(command: &mut Command) -> Value {
    serde_json::from_str(&ask(command)).expect("it prints JSON")
}

/// The output of a Node.js script for a file.
pub fn ask_node(name: &str, file: &Path) -> Value {
    ask_json(Command::new("node").arg(script(name)).arg(tools()).arg(file))
}

/// The output of pprof for a file.
pub fn pprof(file: &Path, flags: &[&str]) -> String {
    ask(Command::new(tools().join("pprof")).args(flags).arg(file).env("TZ", "UTC"))
}
