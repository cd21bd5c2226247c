//! Releases: `cargo xtask dist` packs the commit that is checked out into `dist/`.
//!
//! Everything is built from an export of that commit, so uncommitted files have no influence, and the same commit gives the same
//! bytes: names are sorted, owners are root, times are the commit's. `--twice` builds it again in another folder and reports
//! differences. `--check` installs every package in bare root file systems of Debian 11, 12 and 13 and uses it there.

mod archive;
mod bill;
mod binstall;
mod check;
mod compare;
mod deb;
mod npm;
mod portable;
mod release;
mod rpm;
mod sources;
mod tree;
mod version_needs;
mod wheel;

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use crate::Outcome;
use crate::command::{output, root, succeed};
use release::Release;

pub fn run(arguments: &[String]) -> Outcome {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        [] => build(false).map(|_| ()),
        ["--query"] => build(true).map(|_| ()),
        ["--twice"] => compare::build_twice(),
        ["--check", ref suites @ ..] => check::run(suites),
        ["--check-library"] => check::library::run(),
        ["--check-source", ref suites @ ..] => check::source::run(suites),
        _ => Err(
            "takes --query, --twice, --check [SUITE..], --check-library, --check-source [SUITE], or nothing"
                .to_owned(),
        ),
    }
}

/// Makes all files of a release in `dist/`, and the query engine too if requested, which takes long.
fn build(with_query: bool) -> Result<Release, String> {
    let release = Release::of_head(&root().join(".cache/dist"), &root().join("dist"))?;
    pack(&release, with_query)?;
    Ok(release)
}

fn pack(release: &Release, with_query: bool) -> Outcome {
    let start = Instant::now();
    check_tools()?;
    println!("-- packing {} of commit {}", release.name(), release.commit);
    let binary = portable::build(release, portable::BACTRIAN)?;
    let _ = fs::remove_dir_all(&release.out);
    make_folder(&release.out)?;
    let tree = tree::lay_out(release, &binary)?;
    let name = format!("{}-x86_64-linux.tar.zst", release.name());
    archive::zstd(release, &tree.parent, &name)?;
    binstall::check(release, &tree, &name)?;
    wheel::pack(release, &binary)?;
    npm::pack(release, &binary)?;
    deb::pack(release, &tree)?;
    rpm::pack(release, &tree)?;
    sources::pack(release)?;
    bill::write(release)?;
    if with_query {
        let engine = portable::build(release, portable::QUERY)?;
        let alone = tree::lay_out_engine(release, &engine)?;
        let name = format!("bactrian-query-{}-x86_64-linux.tar.zst", release.version);
        archive::zstd(release, &alone, &name)?;
        portable::check_size(&engine, portable::QUERY)?;
    }
    write_sums(&release.out)?;
    for name in names(&release.out)? {
        let bytes = fs::metadata(release.out.join(&name)).map_err(|error| error.to_string())?.len();
        println!("{:>8.2} MB  {name}", bytes as f64 / 1e6);
    }
    println!("-- {} in {:.0} s", release.out.display(), start.elapsed().as_secs_f64());
    portable::check_size(&binary, portable::BACTRIAN)
}

/// Fails early if a tool is missing that is needed only after minutes of building.
fn check_tools() -> Outcome {
    for tool in ["git", "python3", "zstd", "readelf", "rpmbuild"] {
        let version = Command::new(tool).arg("--version").output();
        version.map_err(|error| format!("{tool}: {error}; `scripts/setup dist` installs it"))?;
    }
    Ok(())
}

/// For `sha256sum --check SHA256SUMS`.
fn write_sums(folder: &Path) -> Outcome {
    let mut sums = Command::new("sha256sum");
    let text = output(sums.arg("--").args(names(folder)?).current_dir(folder))?;
    write(&folder.join("SHA256SUMS"), &text)
}

/// The names in a folder, sorted.
fn names(folder: &Path) -> Result<Vec<String>, String> {
    let context = |error| format!("{}: {error}", folder.display());
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).map_err(context)? {
        let name = entry.map_err(context)?.file_name();
        names.push(name.into_string().map_err(|name| format!("{}: not text", name.display()))?);
    }
    names.sort();
    Ok(names)
}

fn write(path: &Path, text: &str) -> Outcome {
    if let Some(folder) = path.parent() {
        make_folder(folder)?;
    }
    fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}

fn copy(from: &Path, to: &Path) -> Outcome {
    if let Some(folder) = to.parent() {
        make_folder(folder)?;
    }
    let copied = fs::copy(from, to);
    copied.map(|_| ()).map_err(|error| format!("{}: {error}", from.display()))
}

fn make_folder(path: &Path) -> Outcome {
    fs::create_dir_all(path).map_err(|error| format!("{}: {error}", path.display()))
}

/// Makes an empty folder in place of whatever was there.
fn fresh(path: &Path) -> Outcome {
    let _ = fs::remove_dir_all(path);
    make_folder(path)
}

/// Runs a script with python3, which can write the archives for which Debian has no program.
fn python(script: &str, arguments: &[&str]) -> Outcome {
    succeed(Command::new("python3").arg("-c").arg(script).args(arguments))
}
