//! Reproducible tar archives: sorted names, the commit's time, owned by root, independent of the umask.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::release::Release;
use crate::Outcome;
use crate::command::succeed;

/// For `.tar.zst`: zstd unpacks quickly, and every supported release of Debian has it.
pub fn zstd(release: &Release, folder: &Path, name: &str) -> Result<PathBuf, String> {
    let (tar, archive) = (pack(release, folder)?, release.out.join(name));
    let mut zstd = Command::new("zstd");
    zstd.args(["-19", "--threads=1", "--quiet", "--force", "-o"]).arg(&archive).arg(&tar);
    succeed(&mut zstd)?;
    Ok(archive)
}

/// For `.tgz`, which npm and opam can read everywhere.
pub fn gzip(release: &Release, folder: &Path, name: &str) -> Result<PathBuf, String> {
    let tar = pack(release, folder)?;
    let archive = release.out.join(name);
    // gzip names its output after its input.
    succeed(Command::new("gzip").args(["-9", "--no-name", "--force"]).arg(&tar))?;
    super::copy(&tar.with_extension("tar.gz"), &archive)?;
    Ok(archive)
}

/// Packs everything in a folder, without the folder itself.
fn pack(release: &Release, folder: &Path) -> Result<PathBuf, String> {
    let packed = release.work.join("packed.tar");
    let mut tar = Command::new("tar");
    tar.args(["--create", "--format=gnu", "--sort=name", "--owner=0", "--group=0"]);
    tar.args(["--numeric-owner", "--mode=u=rwX,go=rX", &format!("--mtime=@{}", release.epoch)]);
    tar.arg("--file").arg(&packed).arg("--directory").arg(folder);
    succeed(tar.args(super::names(folder)?))?;
    Ok(packed)
}

/// Compresses a file in place, without its name and time, as for man pages.
pub fn gzip_file(path: &Path) -> Outcome {
    succeed(Command::new("gzip").args(["-9", "--no-name", "--force"]).arg(path))
}
