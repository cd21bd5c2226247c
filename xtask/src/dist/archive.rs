//! tar archives that are the same each time: sorted names, the commit's time, owned by root, without the umask of
//! whoever packs them.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::release::Release;
use crate::Outcome;
use crate::command::succeed;

/// For `.tar.zst`: every release of Debian that we know has zstd, and it unpacks quickly.
pub fn zstd(release: &Release, folder: &Path, name: &str) -> Result<PathBuf, String> {
    let (tar, archive) = (pack(release, folder)?, release.out.join(name));
    let mut zstd = Command::new("zstd");
    zstd.args(["-19", "--threads=1", "--quiet", "--force", "-o"]).arg(&archive).arg(&tar);
    succeed(&mut zstd)?;
    Ok(archive)
}

/// For `.tgz`, which npm and opam read everywhere.
pub fn gzip(release: &Release, folder: &Path, name: &str) -> Result<PathBuf, String> {
    let tar = pack(release, folder)?;
    let archive = release.out.join(name);
    // gzip names its output itself, after the input.
    succeed(Command::new("gzip").args(["-9", "--no-name", "--force"]).arg(&tar))?;
    super::copy(&tar.with_extension("tar.gz"), &archive)?;
    Ok(archive)
}

/// Everything in a folder, without the folder.
fn pack(release: &Release, folder: &Path) -> Result<PathBuf, String> {
    let packed = release.work.join("packed.tar");
    let mut tar = Command::new("tar");
    tar.args(["--create", "--format=gnu", "--sort=name", "--owner=0", "--group=0"]);
    tar.args(["--numeric-owner", "--mode=u=rwX,go=rX", &format!("--mtime=@{}", release.epoch)]);
    tar.arg("--file").arg(&packed).arg("--directory").arg(folder);
    succeed(tar.args(super::names(folder)?))?;
    Ok(packed)
}

/// Compresses a file in place without its name and time, as man pages are.
pub fn gzip_file(path: &Path) -> Outcome {
    succeed(Command::new("gzip").args(["-9", "--no-name", "--force"]).arg(path))
}
