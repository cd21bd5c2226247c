//! The agent does not depend on the profile and the flags with which Bactrian is built. Shown with a library of ten lines that is, like
//! the agent, without a standard library and without unwinding: a build of it takes a third of a second.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::Command;

#[path = "../nested_cargo.rs"]
mod nested_cargo;

const MANIFEST: &str = r#"
[workspace]
[package]
name = "stands-in"
version = "0.1.0"
edition = "2024"
[lib]
crate-type = ["cdylib"]
[profile.release]
panic = "abort"
opt-level = 3
strip = "debuginfo"
"#;

/// The location of the panic is a path in the binary.
const SOURCE: &str = r#"
#![no_std]
#[panic_handler]
fn panic(info: &core::panic::PanicInfo<'_>) -> ! {
    let line = info.location().map_or("", |location| location.file());
    core::hint::black_box(line);
    loop {}
}
#[unsafe(no_mangle)]
pub extern "C" fn sum(numbers: &[u64; 64], at: usize) -> u64 {
    numbers.iter().sum::<u64>() + numbers[at]
}
"#;

const BUILD_SCRIPT: &str = r#"
fn main() {
    println!("cargo:rustc-cdylib-link-arg=-nostdlib");
    println!("cargo:rustc-cdylib-link-arg=-nostartfiles");
}
"#;

/// What builds for coverage, sanitizers, other profiles, other linkers and static binaries set.
const OUTER: &[(&str, &str)] = &[
    ("CARGO_PROFILE_RELEASE_PANIC", "unwind"),
    ("CARGO_PROFILE_RELEASE_OPT_LEVEL", "0"),
    ("CARGO_PROFILE_RELEASE_STRIP", "none"),
    ("CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUSTFLAGS", "-C target-feature=+crt-static"),
    ("CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_LINKER", "false"),
    ("CARGO_BUILD_RUSTFLAGS", "-C target-feature=+crt-static"),
    ("CARGO_BUILD_TARGET", "no-such-target"),
    ("CARGO_INCREMENTAL", "1"),
    ("RUSTFLAGS", "-C debug-assertions=on"),
];

fn build(package: &Path, outer: &[(&str, &str)]) -> Vec<u8> {
    let output = package.join("output");
    let _ = fs::remove_dir_all(&output);
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--release", "--quiet", "--offline", "--target-dir"]).arg(&output);
    cargo.current_dir(package).envs(outer.iter().copied());
    // As build scripts see it: what this test inherits, and what is set for it.
    let names = std::env::vars_os().map(|(name, _)| name);
    let names: Vec<_> =
        names.chain(outer.iter().map(|(name, _)| OsStr::new(name).to_owned())).collect();
    nested_cargo::isolate(&mut cargo, names, package);
    let status = cargo.status().expect("cargo can be started");
    assert!(status.success(), "it does not build with {outer:?}");
    fs::read(output.join("release/libstands_in.so")).expect("it was built")
}

#[test]
fn the_agents_build_ignores_the_settings_of_the_outer_build() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let package = folder.path().canonicalize().expect("it is there");
    fs::create_dir(package.join("src")).expect("it is ours");
    for (name, text) in
        [("Cargo.toml", MANIFEST), ("src/lib.rs", SOURCE), ("build.rs", BUILD_SCRIPT)]
    {
        fs::write(package.join(name), text).expect("it is ours");
    }
    let usual = build(&package, &[]);
    for setting in OUTER {
        assert!(build(&package, &[*setting]) == usual, "{setting:?} changes what is built");
    }
    assert!(build(&package, OUTER) == usual, "all of them together change what is built");
    let path = package.to_string_lossy().into_owned();
    let is_named = usual.windows(path.len()).any(|bytes| bytes == path.as_bytes());
    assert!(!is_named, "the library names the folder that it was built in");
}
