//! The source archive, from which opam and distributions build without network and node: the commit's files, which include the
//! built page, and the crates from crates.io that Linux needs.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{archive, fresh, names, release::Release, write};
use crate::Outcome;
use crate::command::{cargo, output, succeed};

/// What is built from the archive: the tool, and the library that OCaml programs link with.
const PACKAGES: &str = "--package bactrian --package bactrian-observe-ocaml";
const TARGETS: &[&str] = &["x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"];

/// Appended to cargo's configuration: take crates only from the archive.
const CONFIGURATION: &str = r#"
[source.crates-io]
replace-with = "vendored"

[source.vendored]
directory = "vendor"

[net]
offline = true
"#;

pub fn pack(release: &Release) -> Outcome {
    let parent = release.work.join("sources");
    fresh(&parent)?;
    let folder = parent.join(release.name());
    succeed(Command::new("cp").arg("-r").arg(&release.source).arg(&folder))?;
    vendor(&folder)?;
    let configuration = folder.join(".cargo/config.toml");
    let text = fs::read_to_string(&configuration).map_err(|error| error.to_string())?;
    write(&configuration, &(text + CONFIGURATION))?;
    archive::zstd(release, &parent, &format!("{}.tar.zst", release.name()))?;
    archive::gzip(release, &parent, &format!("{}.tar.gz", release.name()))?;
    Ok(())
}

fn vendor(folder: &Path) -> Outcome {
    let into = folder.join("vendor");
    let mut vendor = cargo("vendor --locked --quiet --versioned-dirs");
    output(vendor.arg(&into).current_dir(folder))?;
    let used = used(folder)?;
    let mut left_out = 0;
    for name in names(&into)? {
        if !used.contains(&name) {
            empty(&into.join(name))?;
            left_out += 1;
        }
    }
    println!("-- {} crates in the source archive; {left_out} only by name", used.len());
    Ok(())
}

/// The folders of crates that are compiled on Linux, named `name-version`.
fn used(folder: &Path) -> Result<BTreeSet<String>, String> {
    let mut used = BTreeSet::new();
    for target in TARGETS {
        let mut tree = cargo("tree --locked --quiet --edges normal,build --prefix none");
        tree.args(PACKAGES.split(' ')).args(["--target", target]).current_dir(folder);
        for line in output(&mut tree)?.lines() {
            let mut words = line.split(' ');
            let (Some(name), Some(version)) = (words.next(), words.next()) else { continue };
            used.insert(format!("{name}-{}", version.trim_start_matches('v')));
        }
    }
    Ok(used)
}

/// Reduces a crate that is never compiled to what cargo needs to resolve versions: its manifest, and empty source files. Most of
/// the savings are import libraries for Windows.
fn empty(package: &Path) -> Outcome {
    let checksum = package.join(".cargo-checksum.json");
    let text = fs::read_to_string(&checksum).map_err(|error| error.to_string())?;
    let digest = text.split("\"package\":\"").nth(1).and_then(|rest| rest.split('"').next());
    let digest = digest.ok_or_else(|| format!("{}: no digest", checksum.display()))?.to_owned();
    for file in files(package)? {
        let keep = file == package.join("Cargo.toml");
        if keep {
            continue;
        }
        let done = match file.extension().is_some_and(|extension| extension == "rs") {
            true => fs::write(&file, ""),
            false => fs::remove_file(&file),
        };
        done.map_err(|error| format!("{}: {error}", file.display()))?;
    }
    write(&checksum, &format!("{{\"files\":{{}},\"package\":\"{digest}\"}}"))
}

fn files(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let mut found = Vec::new();
    for name in names(folder)? {
        let path = folder.join(name);
        match path.is_dir() {
            true => found.extend(files(&path)?),
            false => found.push(path),
        }
    }
    Ok(found)
}
