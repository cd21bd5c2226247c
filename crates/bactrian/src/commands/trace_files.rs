//! Files of traces that are being recorded: their names and their post-processing.

use std::ffi::OsStr;
use std::fs::{self, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::Context;
use bactrian_trace::{Index, Input, Recorder, State, write_single_domain};

use super::snapshots::{existing, prefix};
use crate::failure::Failure;
use crate::output::{Console, write_file};

/// Removes the old file at the path of a new trace, and checks that a new one can be created.
pub fn replace(path: &Path) -> Result<(), Failure> {
    let context = || format!("cannot write {}", path.display());
    if path.symlink_metadata().is_ok_and(|metadata| metadata.is_file()) {
        fs::remove_file(path).with_context(context)?;
    }
    try_out(path).with_context(context)?;
    Ok(())
}

fn try_out(path: &Path) -> std::io::Result<()> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    fs::remove_file(path)
}

/// The program's name with our extension, and a number if the file exists.
pub fn unused_name(program: &OsStr) -> Result<PathBuf, Failure> {
    let stem = Path::new(program).file_name().unwrap_or(program).display();
    let numbered = (2..10_000).map(|n| PathBuf::from(format!("{stem}.{n}.ctf")));
    let mut names = std::iter::once(PathBuf::from(format!("{stem}.ctf"))).chain(numbered);
    let is_unused =
        |name: &PathBuf| name.symlink_metadata().is_err() && existing(&prefix(name)).is_empty();
    let unused = names.find(is_unused);
    let name = unused.context("there are 10,000 traces of this program here: use --output")?;
    try_out(&name)
        .with_context(|| format!("cannot write {} here: use --output", name.display()))?;
    Ok(name)
}

/// Converts a trace from version 3 to version 2 if only one domain was active and it can be read.
pub fn make_version_2(path: &Path, console: &mut Console) -> Result<(), Failure> {
    // Problems of a trace are reported elsewhere.
    let Ok(input) = Input::open(path) else { return Ok(()) };
    let Ok(index) = Index::skim(&input) else { return Ok(()) };
    let one_domain = index.domains().iter().all(|domain| domain.0 == 0);
    // A child that outlives us is still writing.
    let state = Recorder::parse(&index.info().context).map(|recorder| recorder.state);
    let process = Path::new("/proc").join(index.info().pid.to_string());
    let is_done = state != Some(State::Running) || !process.exists();
    if index.info().version != 3 || !one_domain || !is_done {
        return Ok(());
    }
    let mut stays = false;
    let written = write_file(path, console, |out, _| match write_single_domain(&input, out)? {
        true => Ok(()),
        false => {
            stays = true;
            Err(Failure::Input(anyhow::anyhow!("it stays as it is")))
        }
    });
    if stays { Ok(()) } else { written }
}
