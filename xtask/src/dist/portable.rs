//! Binaries that run on any system with kernel and libc from 2014 or later. They are linked for glibc 2.17 by zig, which has the
//! symbols of every glibc version. A static binary would need no glibc, but glibc's name lookup aborts in it if the system is
//! configured for NSS modules that are not part of glibc.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{copy, release::Release, version_needs};
use crate::Outcome;
use crate::command::{cargo, output, root, succeed};
use crate::release::MOST_BYTES;

/// A program to build, with cargo's parameters for it.
#[derive(Clone, Copy)]
pub struct Program {
    name: &'static str,
    /// The manifest of its workspace.
    manifest: &'static str,
    profile: &'static str,
    /// The maximum size of the download.
    most_bytes: u64,
}

pub const BACTRIAN: Program =
    Program { name: "bactrian", manifest: "Cargo.toml", profile: "dist", most_bytes: MOST_BYTES };
/// DataFusion alone is ten times the size of the rest.
pub const QUERY: Program = Program {
    name: "bactrian-query",
    manifest: "query/Cargo.toml",
    profile: "release",
    most_bytes: 150_000_000,
};

const TARGET: &str = "x86_64-unknown-linux-gnu";
/// The version of RHEL 7 and of manylinux2014.
const GLIBC: (u32, u32) = (2, 17);

/// Builds a program, and checks its size and portability.
pub fn build(release: &Release, program: Program) -> Result<PathBuf, String> {
    let tools = zig_tools()?;
    let work = &release.work;
    let target = work.join("target").join(program.name);
    println!("-- building {} for glibc {}.{} with zig", program.name, GLIBC.0, GLIBC.1);
    let mut build = cargo("zigbuild --locked --quiet");
    build.args(["--target", &format!("{TARGET}.{}.{}", GLIBC.0, GLIBC.1)]);
    build.args(["--profile", program.profile, "--package", program.name]);
    build.arg("--manifest-path").arg(release.source.join(program.manifest));
    build.arg("--target-dir").arg(&target).current_dir(&release.source);
    let path = std::env::var("PATH").unwrap_or_default();
    build.env("PATH", format!("{}:{path}", tools.join("bin").display()));
    build.env("SOURCE_DATE_EPOCH", &release.epoch);
    // The symbols are in the output of `cargo xtask release`.
    let profile = format!("CARGO_PROFILE_{}", program.profile.to_uppercase());
    build.env(format!("{profile}_STRIP"), "symbols").env(format!("{profile}_DEBUG"), "false");
    keep_paths_out(&mut build, release)?;
    for (variable, folder) in
        [("ZIG_GLOBAL_CACHE_DIR", "zig"), ("CARGO_ZIGBUILD_CACHE_DIR", "zigbuild")]
    {
        build.env(variable, work.join(folder));
    }
    succeed(&mut build)?;
    let built = target.join(TARGET).join(program.profile).join(program.name);
    let binary = work.join("bin").join(program.name);
    copy(&built, &binary)?;
    check(&binary, program, release)?;
    Ok(binary)
}

/// Panic messages and assertions name source files. The paths of this machine are private, and would make the binary differ
/// between machines.
fn keep_paths_out(build: &mut Command, release: &Release) -> Outcome {
    let folders = own_folders(release)?;
    // The last match wins.
    let rust = folders.each_ref().map(|(from, to)| format!("--remap-path-prefix={from}={to}"));
    build.env("CARGO_ENCODED_RUSTFLAGS", rust.join("\u{1f}"));
    let c = folders.each_ref().map(|(from, to)| format!("-ffile-prefix-map={from}={to}"));
    build.env("CFLAGS", c.join(" "));
    Ok(())
}

/// The folders of this machine that contain sources, and their names in the binary.
fn own_folders(release: &Release) -> Result<[(String, &'static str); 3], String> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")));
    let home = home.ok_or("neither CARGO_HOME nor HOME is set")?;
    let text = |path: &Path| path.display().to_string();
    let (work, source) = (text(&release.work), text(&release.source));
    Ok([(text(&home), "cargo"), (work, "build"), (source, "bactrian")])
}

/// Fails if a program is larger than promised. Called when everything is packed, so that such a program can still be tried.
pub fn check_size(binary: &Path, program: Program) -> Outcome {
    let bytes = fs::metadata(binary).map_err(|error| error.to_string())?.len();
    match bytes > program.most_bytes {
        true => {
            Err(format!("{} has {bytes} bytes, more than {}", program.name, program.most_bytes))
        }
        false => Ok(()),
    }
}

fn check(binary: &Path, program: Program, release: &Release) -> Outcome {
    let bytes = fs::metadata(binary).map_err(|error| error.to_string())?.len();
    let needs = version_needs::of(binary)?;
    let highest =
        needs.glibc.map_or("none".to_owned(), |(major, minor)| format!("{major}.{minor}"));
    let version = output(Command::new(binary).arg("--version"))?;
    println!(
        "{}: {}, {:.2} MB, needs glibc {highest} and {}",
        binary.display(),
        version.trim_end(),
        bytes as f64 / 1e6,
        needs.libraries.join(", ")
    );
    if needs.glibc.is_none_or(|version| version > GLIBC) {
        return Err(format!("{} needs glibc {highest}, not {GLIBC:?} as promised", program.name));
    }
    let content = fs::read(binary).map_err(|error| error.to_string())?;
    for (folder, _) in own_folders(release)? {
        if content.windows(folder.len()).any(|bytes| bytes == folder.as_bytes()) {
            return Err(format!(
                "{} contains the path of a folder of this machine, {folder}",
                program.name
            ));
        }
    }
    Ok(())
}

/// Installs zig, and the cargo command that links with it, into a folder with pip.
fn zig_tools() -> Result<PathBuf, String> {
    let requirements = root().join("xtask/src/dist/zig-requirements.txt");
    let wanted = fs::read_to_string(&requirements).map_err(|error| error.to_string())?;
    let folder = root().join(".cache/zig");
    let stamp = folder.join("installed-from");
    if fs::read_to_string(&stamp).is_ok_and(|text| text == wanted) {
        return Ok(folder);
    }
    println!("-- getting zig from PyPI");
    super::fresh(&folder)?;
    succeed(Command::new("python3").args(["-m", "venv"]).arg(&folder))?;
    let mut pip = Command::new(folder.join("bin/pip"));
    pip.args(["install", "--quiet", "--disable-pip-version-check", "--no-deps"]);
    pip.args(["--require-hashes", "--only-binary", ":all:", "--requirement"]).arg(&requirements);
    succeed(&mut pip)?;
    super::write(&stamp, &wanted)?;
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cargo identifies packages elsewhere by their absolute paths, which then decide on the order of functions.
    #[test]
    fn packages_of_the_agent_are_in_the_folder_of_its_workspace() {
        let text = |path: &str| fs::read_to_string(root().join("crates").join(path)).expect(path);
        assert!(text("Cargo.toml").contains("members = [\"agent\"]"));
        assert!(!text("agent/Cargo.toml").contains("[workspace]"));
        for name in ["agent", "agent-abi", "agent-os", "ocaml", "trace"] {
            let manifest = text(&format!("{name}/Cargo.toml"));
            for path in manifest.split("path = \"../").skip(1) {
                assert!(!path.starts_with(".."), "{name}: {path}");
            }
        }
    }
}
