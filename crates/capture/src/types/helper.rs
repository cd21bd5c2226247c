//! The helper that reads `.cmt` files: embedded as source, compiled once for each compiler.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use bactrian_private::PrivateFolder;

use super::{Compiler, Sources, TypesError};
use crate::cache::{self, Fingerprint};

/// The names and texts of its source files.
static SOURCES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/helper.rs"));

/// The helper for a compiler, which is compiled if necessary.
///
/// # Errors
/// If it cannot be compiled or stored.
pub(super) fn installed(
    compiler: &Compiler,
    note: &mut dyn FnMut(&str),
) -> Result<PathBuf, TypesError> {
    let name = name(compiler);
    if let Some(path) = cache::find(None, |folder| ours(&folder, &name)) {
        return Ok(path);
    }
    note(&format!("compiling the reader of .cmt files for OCaml {} (once)", compiler.version));
    // If the compiler fails, trying another directory does not help.
    let installed = cache::in_first(None, |folder| match compile(compiler, folder, &name) {
        Ok(path) => Ok(Ok(path)),
        Err(TypesError::Io(_, error)) => Err(error),
        Err(error) => Ok(Err(error)),
    });
    installed.unwrap_or_else(|error| Err(TypesError::Io(PathBuf::from(&name), error)))
}

/// The name of the helper compiled from these sources by this compiler in its current state.
pub(super) fn name(compiler: &Compiler) -> String {
    let mut print = Fingerprint::new();
    for (name, text) in SOURCES {
        print = print.with(name.as_bytes()).with(text.as_bytes());
    }
    print = print.with(compiler.library.as_os_str().as_encoded_bytes());
    // A compiler that was reinstalled with the same version may read other files.
    let library = compiler.library.join("compiler-libs/ocamlcommon.cmxa");
    if let Ok(metadata) = fs::metadata(library) {
        print = print.with(&metadata.len().to_le_bytes()).with(&metadata.mtime().to_le_bytes());
    }
    format!("cmt-{}-{:016x}", compiler.version, print.number())
}

/// The helper, if it exists: nobody else could have put it there.
fn ours(folder: &PrivateFolder, name: &str) -> Option<PathBuf> {
    folder.find(name).ok().map(|_| folder.path().join(name))
}

fn compile(compiler: &Compiler, folder: &PrivateFolder, name: &str) -> Result<PathBuf, TypesError> {
    let path = folder.path().join(name);
    let failed = |error| TypesError::Io(path.clone(), error);
    let work = tempfile::Builder::new().prefix(".cmt").tempdir_in(folder.path()).map_err(failed)?;
    for (name, text) in SOURCES {
        fs::write(work.path().join(name), text).map_err(failed)?;
    }
    let made = work.path().join("made");
    let mut command = Command::new("sh");
    command.arg(work.path().join("build.sh")).arg(&compiler.command).arg(&made);
    let output = command.stdin(Stdio::null()).output().map_err(failed)?;
    if !output.status.success() {
        return Err(TypesError::NotCompiled(said(&output)));
    }
    // Whole or not at all, even if two processes compile it at the same time.
    fs::rename(&made, &path).map_err(failed)?;
    // It may be run only if `find` accepts it: with a umask of 0 others could write to it.
    folder.find(name).map_err(|error| failed(error.into()))?;
    Ok(path)
}

/// Makes the helper read all sources, and those of a program and its plugins if known; returns its final
/// output.
pub(super) fn run(
    helper: &Path,
    (sources, linked): (&Sources, &[PathBuf]),
    compiler: &Compiler,
    output: &Path,
) -> Result<String, TypesError> {
    let mut command = Command::new(helper);
    command.arg("-o").arg(output).arg("-I").arg(&compiler.library);
    for linked in linked {
        command.arg("-p").arg(linked);
    }
    command.args(sources.files()).stdin(Stdio::null());
    let ended = command.output().map_err(|error| TypesError::Io(helper.to_owned(), error))?;
    match ended.status.success() {
        true => Ok(said(&ended)),
        false => Err(TypesError::HelperFailed(format!("{} ({})", said(&ended), ended.status))),
    }
}

/// The last lines of a program's standard error, joined into one.
fn said(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<_> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    lines[lines.len().saturating_sub(4)..].join("; ")
}
