//! The release binary: `cargo xtask release`. It is stripped to be small; its symbols and line tables are in a
//! file beside it, which debuggers and Rust's own backtraces find by themselves.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command::{output, root, succeed};
use crate::{Outcome, progress};

/// The maximum size of the download.
pub const MOST_BYTES: u64 = 15_000_000;

pub fn run(arguments: &[String]) -> Outcome {
    crate::no_arguments(arguments)?;
    check()
}

/// Builds it, and checks that it is small enough and runs.
pub fn check() -> Outcome {
    progress::build("--profile dist")?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or(root().join("target"), PathBuf::from);
    let built = target.join("dist/bactrian");
    let folder = target.join("release-files");
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let (binary, symbols) = (folder.join("bactrian"), folder.join("bactrian.debug"));
    objcopy(&["--only-keep-debug", "--compress-debug-sections"], &built, &symbols)?;
    // The binary contains the file name and looks for the file beside itself.
    let link = format!("--add-gnu-debuglink={}", symbols.display());
    objcopy(&["--strip-all", &link], &built, &binary)?;
    let bytes = fs::metadata(&binary).map_err(|error| error.to_string())?.len();
    let version = output(Command::new(&binary).arg("--version"))?;
    println!(
        "{}: {}, {:.1} MB; symbols: {}",
        binary.display(),
        version.trim_end(),
        bytes as f64 / 1e6,
        symbols.display()
    );
    match bytes <= MOST_BYTES {
        true => Ok(()),
        false => Err(format!("the binary has {bytes} bytes, more than {MOST_BYTES}")),
    }
}

fn objcopy(options: &[&str], from: &Path, to: &Path) -> Outcome {
    succeed(Command::new("objcopy").args(options).arg(from).arg(to))
}
