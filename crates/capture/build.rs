//! Builds the agent and stores it where `agent.rs` includes it; lists the sources of the helper that reads
//! `.cmt` files for `types/helper.rs`, which is compiled on the user's machine.
//!
//! The agent needs its own profile (no unwinding), so it has a workspace of its own (../Cargo.toml) and is built by a separate
//! cargo process. It depends on nothing outside this repository.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

#[path = "nested_cargo.rs"]
mod nested_cargo;

fn main() {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=nested_cargo.rs");
    for part in ["Cargo.toml", "Cargo.lock", "agent/Cargo.toml", "agent/build.rs", "agent/src"] {
        println!("cargo:rerun-if-changed=../{part}");
    }
    for part in [
        "agent-abi/src",
        "agent-os/src",
        "ocaml/src",
        "ocaml/Cargo.toml",
        "trace/src",
        "trace/Cargo.toml",
    ] {
        println!("cargo:rerun-if-changed=../{part}");
    }
    list_helper(&out.join("helper.rs"));
    let target = |what| env::var(format!("CARGO_CFG_TARGET_{what}")).unwrap_or_default();
    let laid_down = out.join("agent.so");
    if (target("OS").as_str(), target("ARCH").as_str()) != ("linux", "x86_64") {
        // On other platforms programs cannot be observed, but recordings can still be viewed.
        fs::write(&laid_down, b"").expect("OUT_DIR is writable");
        return;
    }
    let mut cargo = Command::new(env::var_os("CARGO").expect("cargo sets CARGO"));
    cargo.args(["build", "--release", "--quiet", "--locked", "--offline"]);
    cargo.args(["--manifest-path", "../agent/Cargo.toml", "--target-dir"]).arg(out.join("build"));
    let repository = fs::canonicalize("../..").expect("the repository is there");
    nested_cargo::isolate(&mut cargo, env::vars_os().map(|(name, _)| name), &repository);
    let status = cargo.status().expect("cargo can be started");
    assert!(status.success(), "the agent does not build: see above");
    let built = out.join("build/release/libbactrian_agent.so");
    fs::copy(&built, &laid_down).expect("the agent was built");
}

/// Writes a Rust array of the names and texts of the helper's sources.
fn list_helper(path: &Path) {
    let folder = fs::canonicalize("../../ocaml/types").expect("the helper's sources are there");
    println!("cargo:rerun-if-changed={}", folder.display());
    let files = fs::read_dir(&folder).expect("it can be listed");
    let mut files: Vec<_> = files.map(|file| file.expect("it can be listed").path()).collect();
    files.retain(|file| {
        file.extension().is_some_and(|end| ["ml", "mli", "sh"].iter().any(|known| end == *known))
    });
    files.sort();
    let mut list = String::from("&[\n");
    for file in &files {
        println!("cargo:rerun-if-changed={}", file.display());
        let name = file.file_name().and_then(|name| name.to_str()).expect("a plain name");
        list.push_str(&format!("    ({name:?}, include_str!({file:?})),\n"));
    }
    list.push_str("]\n");
    fs::write(path, list).expect("OUT_DIR is writable");
}
