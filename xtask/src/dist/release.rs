//! The commit to pack: its version, its time, and an export of its files.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{fresh, make_folder, names, write};
use crate::command::{output, root, succeed};

/// A commit, and the folders in which it is packed.
pub struct Release {
    pub version: String,
    pub commit: String,
    /// The commit's time in seconds since 1970, used as every time in every package. In the environment it is
    /// `SOURCE_DATE_EPOCH`.
    pub epoch: String,
    /// An export of the commit.
    pub source: PathBuf,
    /// For intermediate files.
    pub work: PathBuf,
    /// For finished packages.
    pub out: PathBuf,
}

impl Release {
    /// Exports the commit that is checked out to a folder in `work`, unless it is there already.
    pub fn of_head(work: &Path, out: &Path) -> Result<Release, String> {
        let git = |arguments: &[&str]| {
            let mut git = Command::new("git");
            git.args(["-c", "safe.directory=*"]).args(arguments).current_dir(root());
            output(&mut git).map(|text| text.trim_end().to_owned())
        };
        let commit = git(&["rev-parse", "HEAD"])?;
        let epoch = git(&["log", "-1", "--format=%ct", "HEAD"])?;
        let version = version_of(&git(&["show", "HEAD:Cargo.toml"])?)?;
        if !git(&["status", "--porcelain", "--untracked-files=no"])?.is_empty() {
            println!("-- uncommitted changes are not included");
        }
        Release::export(version, commit, epoch, work, out)
    }

    /// The same commit, exported to another folder. What is checked out may be another one by now.
    pub fn elsewhere(&self, work: &Path, out: &Path) -> Result<Release, String> {
        Release::export(self.version.clone(), self.commit.clone(), self.epoch.clone(), work, out)
    }

    /// `bactrian-0.1.0`
    pub fn name(&self) -> String {
        format!("bactrian-{}", self.version)
    }

    fn export(
        version: String,
        commit: String,
        epoch: String,
        work: &Path,
        out: &Path,
    ) -> Result<Release, String> {
        let source = work.join("source").join(format!("bactrian-{version}"));
        let release =
            Release { version, commit, epoch, source, work: work.into(), out: out.into() };
        release.unpack()?;
        Ok(release)
    }

    fn unpack(&self) -> crate::Outcome {
        // Written last, as a mark that the export is complete.
        let stamp = self.work.join("source/commit");
        if fs::read_to_string(&stamp).is_ok_and(|commit| commit == self.commit) {
            return Ok(());
        }
        let _ = fs::remove_file(&stamp);
        let new = self.work.join("source/new");
        fresh(&new)?;
        let tar = self.work.join("source.tar");
        let mut git = Command::new("git");
        git.args(["-c", "safe.directory=*", "archive", "--format=tar", "-o"]).arg(&tar);
        succeed(git.arg(&self.commit).current_dir(root()))?;
        let mut unpack = Command::new("tar");
        // Files get the current time: cargo rebuilds only what is newer than its output, and the commit may be old.
        unpack.arg("--extract").arg("--touch").arg("--file").arg(&tar);
        succeed(unpack.arg("--directory").arg(&new))?;
        make_folder(&self.source)?;
        replace(&new, &self.source)?;
        fs::remove_dir_all(&new).map_err(|error| format!("{}: {error}", new.display()))?;
        write(&stamp, &self.commit)
    }
}

/// Makes `old` equal to `new`. Unchanged files stay, so that nothing is rebuilt because of them.
fn replace(new: &Path, old: &Path) -> crate::Outcome {
    let context = |path: &Path| {
        let path = path.display().to_string();
        move |error| format!("{path}: {error}")
    };
    let wanted = names(new)?;
    for gone in names(old)?.iter().filter(|name| !wanted.contains(name)) {
        let gone = old.join(gone);
        let is_folder = gone.is_dir() && !gone.is_symlink();
        let removed = if is_folder { fs::remove_dir_all(&gone) } else { fs::remove_file(&gone) };
        removed.map_err(context(&gone))?;
    }
    for name in wanted {
        let (new, old) = (new.join(&name), old.join(&name));
        let is_folder = new.is_dir() && !new.is_symlink();
        if is_folder && old.is_dir() && !old.is_symlink() {
            replace(&new, &old)?;
        } else if is_folder || !is_same_file(&new, &old) {
            if old.is_dir() && !old.is_symlink() {
                fs::remove_dir_all(&old).map_err(context(&old))?;
            }
            // Replaces a file; a folder must be removed before a file or folder takes its name.
            let _ = fs::remove_file(&old);
            fs::rename(&new, &old).map_err(context(&old))?;
        }
    }
    Ok(())
}

/// Whether two files have the same bytes and permissions.
fn is_same_file(one: &Path, other: &Path) -> bool {
    let mode = |path: &Path| fs::symlink_metadata(path).map(|metadata| metadata.mode());
    let is_link = one.is_symlink() || other.is_symlink();
    let have_one_mode = matches!((mode(one), mode(other)), (Ok(one), Ok(other)) if one == other);
    have_one_mode
        && !is_link
        && matches!((fs::read(one), fs::read(other)), (Ok(one), Ok(other)) if one == other)
}

/// The version of all crates, from the workspace's manifest.
fn version_of(manifest: &str) -> Result<String, String> {
    let section = manifest.split("[workspace.package]").nth(1).unwrap_or_default();
    let mut lines = section.lines().skip(1).take_while(|line| !line.starts_with('['));
    let version = lines.find_map(|line| line.strip_prefix("version = "));
    let version = version.map(|quoted| quoted.trim().trim_matches('"').to_owned());
    version.ok_or_else(|| "Cargo.toml: no version in [workspace.package]".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_that_of_the_workspace() {
        let manifest = "[a]\nversion = \"9\"\n[workspace.package]\nedition = \"2024\"\nversion = \"0.1.0\"\n[b]\n";
        assert_eq!(version_of(manifest).as_deref(), Ok("0.1.0"));
        assert!(version_of("[workspace.package]\n[b]\nversion = \"9\"\n").is_err());
    }

    #[test]
    fn an_export_replaces_only_what_has_changed() {
        let folder = std::env::temp_dir().join(format!("bactrian-export-{}", std::process::id()));
        let (new, old) = (folder.join("new"), folder.join("old"));
        for (path, text) in [
            ("new/a/same", "1"),
            ("new/a/other", "2"),
            ("new/now_a_folder/b", "3"),
            ("new/now_a_file", "4"),
        ] {
            write(&folder.join(path), text).expect("temporary files can be made");
        }
        for (path, text) in [
            ("old/a/same", "1"),
            ("old/a/other", "0"),
            ("old/gone/x", ""),
            ("old/now_a_folder", ""),
            ("old/now_a_file/x", ""),
        ] {
            write(&folder.join(path), text).expect("temporary files can be made");
        }
        let file = |path: &str| fs::metadata(old.join(path)).map(|metadata| metadata.ino()).ok();
        let (same, other) = (file("a/same"), file("a/other"));
        let replaced = replace(&new, &old);
        let after = (
            file("a/same"),
            file("a/other"),
            names(&old),
            fs::read(old.join("now_a_folder/b")).ok(),
        );
        fs::remove_dir_all(&folder).expect("it is ours");
        assert_eq!(replaced, Ok(()));
        assert_eq!(after.0, same);
        assert_ne!(after.1, other);
        assert_eq!(after.2, Ok(["a", "now_a_file", "now_a_folder"].map(str::to_owned).to_vec()));
        assert_eq!(after.3.as_deref(), Some(&b"3"[..]));
    }
}
