//! Checks that the source archive builds as opam and distributions build it: without network, without node, and with nothing of
//! this repository but the archive.

use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

use super::super::fresh;
use super::super::release::Release;
use super::roots::{Bind, Root};
use crate::Outcome;
use crate::command::{cargo, output, succeed};

/// Debian's packages of Rust: the release's own, and the newer one with which its browsers are built.
const OF_DEBIAN: &[(&str, &str)] = &[("rustc", "cargo"), ("rustc-web", "cargo-web")];

/// The newest Rust in a Debian release: the compiler's package, its version, and cargo's package.
struct DebianRust {
    package: &'static str,
    cargo: &'static str,
    version: String,
}

impl DebianRust {
    fn of(suite: &str) -> Result<DebianRust, String> {
        let bare = Root::bare(suite)?;
        let there = OF_DEBIAN.iter().filter_map(|&(package, cargo)| {
            let version = bare.version_of(package).ok()?;
            Some(DebianRust { package, cargo, version })
        });
        let newest = there.max_by_key(|rust| numbers(&rust.version));
        newest.ok_or_else(|| format!("Debian {suite} has no Rust"))
    }
}

/// Describes for users which Rust a Debian release has, and whether it is new enough for the source archive.
pub fn rust_of(suite: &str, release: &Release) -> Result<String, String> {
    let (needed, there) = (needed(release)?, DebianRust::of(suite)?);
    let DebianRust { package, version, .. } = &there;
    let verdict = match is_enough(version, &needed) {
        true => {
            format!("enough for {needed}: `cargo xtask dist --check-source {suite}` builds with it")
        }
        false => format!("too old: install Rust {needed} from elsewhere, or use a package above"),
    };
    Ok(format!("          {suite:<10} source archive: Debian has {package} {version}, {verdict}"))
}

/// Builds the tool from the archive in a Debian root file system, with Debian's Rust if it is new enough, otherwise with this
/// machine's.
pub fn run(suites: &[&str]) -> Outcome {
    let suite = match suites {
        [] => "trixie",
        [suite] => suite,
        _ => return Err("takes one suite at most".to_owned()),
    };
    let release = super::packed()?;
    let rust = DebianRust::of(suite)?;
    let (folder, ours) = (unpack(&release)?, toolchain()?);
    let mut packages = vec!["gcc", "libc6-dev"];
    let mut binds = vec![Bind { from: &folder, to: "/source" }];
    let whose = if is_enough(&rust.version, &needed(&release)?) {
        packages.extend([rust.package, rust.cargo]);
        format!("{} {}", rust.package, rust.version)
    } else {
        binds.push(Bind { from: &ours, to: "/opt/rust" });
        format!("this machine's Rust: Debian's is {}", rust.version)
    };
    println!("-- Debian {suite}: building from the source archive with {whose}");
    let start = Instant::now();
    // Not in the temporary directory, which may be in memory.
    let script = "PATH=/opt/rust/bin:$PATH
! command -v node
cd /source/*/
cargo build --release --locked --quiet --package bactrian --target-dir /source/target
/source/target/release/bactrian --version
/source/target/release/bactrian doctor /bin/sh || test $? = 4";
    Root::bare(suite)?.with(&packages)?.run(&binds, script)?;
    println!(
        "-- built without a network and without node in {:.0} s",
        start.elapsed().as_secs_f64()
    );
    Ok(())
}

/// Unpacks a copy of the archive to build in.
pub fn unpack(release: &Release) -> Result<PathBuf, String> {
    let folder = release.work.join("check/source");
    fresh(&folder)?;
    let archive = release.out.join(format!("{}.tar.gz", release.name()));
    succeed(Command::new("tar").arg("-xzf").arg(archive).arg("-C").arg(&folder))?;
    Ok(folder)
}

/// This machine's Rust. Its binaries run on any Linux of the last ten years.
pub fn toolchain() -> Result<PathBuf, String> {
    let sysroot = output(Command::new("rustc").args(["--print", "sysroot"]))?;
    Ok(PathBuf::from(sysroot.trim_end()))
}

fn needed(release: &Release) -> Result<String, String> {
    let mut metadata = cargo("metadata --no-deps --offline --format-version 1");
    let text = output(metadata.current_dir(&release.source))?;
    let version = text.split("\"rust_version\":\"").nth(1).and_then(|rest| rest.split('"').next());
    version.map(str::to_owned).ok_or_else(|| "Cargo.toml: no rust-version".to_owned())
}

/// The version without Debian's suffix.
fn numbers(version: &str) -> Vec<u32> {
    version.split(['.', '+', '-', '~']).map_while(|part| part.parse().ok()).collect()
}

fn is_enough(there: &str, needed: &str) -> bool {
    numbers(there) >= numbers(needed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_number() {
        assert!(is_enough("1.97.1+dfsg1-1", "1.88"));
        assert!(is_enough("1.88.0+dfsg-1~deb12u1", "1.88"));
        assert!(!is_enough("1.9.0", "1.88"));
        assert!(!is_enough("1.63.0+dfsg1-2", "1.88"));
    }
}
