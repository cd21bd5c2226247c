//! The package for Debian and its derivatives.

use std::process::Command;

use super::{copy, fresh, release::Release, tree::Tree, write};
use crate::Outcome;
use crate::command::{output, succeed};

pub fn pack(release: &Release, tree: &Tree) -> Outcome {
    let version = &release.version;
    let folder = release.work.join("deb");
    fresh(&folder)?;
    let usr = folder.join("usr");
    succeed(Command::new("cp").arg("-r").arg(&tree.folder).arg(&usr))?;
    // Where Debian's zsh looks.
    copy(
        &usr.join("share/zsh/site-functions/_bactrian"),
        &usr.join("share/zsh/vendor-completions/_bactrian"),
    )?;
    std::fs::remove_dir_all(usr.join("share/zsh/site-functions")).map_err(|e| e.to_string())?;
    write(
        &usr.join("share/doc/bactrian/copyright"),
        "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: bactrian

Files: *
Copyright: The Bactrian developers
License: MIT or Apache-2.0
Comment: The texts are in LICENSE-MIT and LICENSE-APACHE beside this file.
",
    )?;
    let mut kilobytes = Command::new("du");
    let kilobytes = output(kilobytes.args(["-sk", "--apparent-size"]).arg(&usr))?;
    let kilobytes = kilobytes.split_whitespace().next().unwrap_or("0").to_owned();
    write(
        &folder.join("DEBIAN/control"),
        &format!(
            "Package: bactrian
Version: {version}
Architecture: amd64
Maintainer: The Bactrian developers <maintainers@bactrian.invalid>
Section: devel
Priority: optional
Installed-Size: {kilobytes}
Depends: libc6 (>= 2.17)
Description: shows what an OCaml program keeps in memory
 What was allocated, where, of which type, how long it lived, and what holds it.
 Works on programs as they are: no recompiling, no relinking, stripped or not.
"
        ),
    )?;
    let mut sums = Command::new("sh");
    sums.args(["-c", "find usr -type f | LC_ALL=C sort | xargs -d '\\n' md5sum > DEBIAN/md5sums"]);
    succeed(sums.current_dir(&folder))?;
    // The same modes as in the archives, whatever the umask.
    succeed(Command::new("chmod").args(["-R", "u=rwX,go=rX"]).arg(&folder))?;
    let package = release.out.join(format!("bactrian_{version}_amd64.deb"));
    let mut build = Command::new("dpkg-deb");
    // Debian 11 does not unpack zstd. dpkg-deb uses all processors, and its output depends on their number.
    build.args(["--build", "--root-owner-group", "-Zxz", "--threads-max=1"]);
    build.env("SOURCE_DATE_EPOCH", &release.epoch).arg(&folder).arg(&package);
    output(&mut build).map(|_| ())
}
