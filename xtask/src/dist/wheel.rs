//! The wheel, for `pipx run bactrian` and `uvx bactrian`: the program as a script of a package without Python code.

use std::path::Path;

use super::{copy, fresh, python, release::Release, tree, write};
use crate::Outcome;

/// manylinux2014 is glibc 2.17.
const TAG: &str = "py3-none-manylinux2014_x86_64";

pub fn pack(release: &Release, binary: &Path) -> Outcome {
    let folder = release.work.join("wheel");
    fresh(&folder)?;
    let version = &release.version;
    copy(binary, &folder.join(format!("bactrian-{version}.data/scripts/bactrian")))?;
    let info = folder.join(format!("bactrian-{version}.dist-info"));
    for licence in tree::DOCUMENTS.iter().filter(|name| name.starts_with("LICENSE")) {
        copy(&release.source.join(licence), &info.join("licenses").join(licence))?;
    }
    let readme = release.source.join("README.md");
    let readme = std::fs::read_to_string(&readme).map_err(|error| error.to_string())?;
    write(
        &info.join("METADATA"),
        &format!(
            "Metadata-Version: 2.4
Name: bactrian
Version: {version}
Summary: Shows what an OCaml program keeps in memory
Author: The Bactrian developers
License-Expression: MIT OR Apache-2.0
License-File: LICENSE-APACHE
License-File: LICENSE-MIT
Classifier: Environment :: Console
Classifier: Operating System :: POSIX :: Linux
Classifier: Topic :: Software Development :: Debuggers
Description-Content-Type: text/markdown

{readme}"
        ),
    )?;
    write(
        &info.join("WHEEL"),
        &format!(
            "Wheel-Version: 1.0\nGenerator: xtask {version}\nRoot-Is-Purelib: false\nTag: {TAG}\n"
        ),
    )?;
    // The place for the file; wheel.py fills it.
    write(&info.join("RECORD"), "")?;
    let wheel = release.out.join(format!("bactrian-{version}-{TAG}.whl"));
    python(
        include_str!("wheel.py"),
        &[&folder.display().to_string(), &wheel.display().to_string(), &release.epoch],
    )
}
