//! npm packages: one with the program for each platform, which npm installs only on that platform, and `bactrian`, which depends
//! on all of them and starts the one that is installed.

use std::path::Path;

use super::{archive, copy, fresh, release::Release, tree, write};
use crate::Outcome;

const PLATFORM: &str = "bactrian-linux-x64";

pub fn pack(release: &Release, binary: &Path) -> Outcome {
    let version = &release.version;
    let folder = release.work.join("npm");
    fresh(&folder)?;
    let (root, platform) = (folder.join("root/package"), folder.join("platform/package"));
    copy(binary, &platform.join("bin/bactrian"))?;
    write(
        &platform.join("package.json"),
        &format!(
            r#"{{
  "name": "{PLATFORM}",
  "version": "{version}",
  "description": "The program bactrian for Linux on x86-64; install the package bactrian",
  "license": "MIT OR Apache-2.0",
  "os": ["linux"],
  "cpu": ["x64"],
  "libc": ["glibc"],
  "files": ["bin"]
}}
"#
        ),
    )?;
    write(&root.join("bin/bactrian.js"), include_str!("bactrian.js"))?;
    write(
        &root.join("package.json"),
        &format!(
            r#"{{
  "name": "bactrian",
  "version": "{version}",
  "description": "Shows what an OCaml program keeps in memory",
  "license": "MIT OR Apache-2.0",
  "bin": {{ "bactrian": "bin/bactrian.js" }},
  "engines": {{ "node": ">=12" }},
  "files": ["bin"],
  "optionalDependencies": {{ "{PLATFORM}": "{version}" }}
}}
"#
        ),
    )?;
    for package in [&root, &platform] {
        for name in tree::DOCUMENTS.iter().filter(|name| **name != "CHANGELOG.md") {
            copy(&release.source.join(name), &package.join(name))?;
        }
    }
    for (package, name) in [("root", "bactrian"), ("platform", PLATFORM)] {
        archive::gzip(release, &folder.join(package), &format!("{name}-{version}.npm.tgz"))?;
    }
    Ok(())
}
