//! The helper that reads `.cmt` files: carried as source, compiled once for each compiler.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use super::{Compiler, Error, Sources};
use crate::cache::{self, Fingerprint};

/// Names and texts of its sources.
static SOURCES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/helper.rs"));

/// The helper for a compiler, compiled if need be.
///
/// # Errors
/// If it cannot be compiled, or put down.
pub(super) fn installed(compiler: &Compiler, note: &mut dyn FnMut(&str)) -> Result<PathBuf, Error> {
    let name = name(compiler);
    let mut last =
        Error::Io(PathBuf::from(&name), io::Error::other("no folder for it: set XDG_CACHE_HOME"));
    for folder in cache::directories() {
        let path = folder.join(&name);
        if is_ours(&path) {
            return Ok(path);
        }
        note(&format!("compiling the reader of .cmt files for OCaml {} (once)", compiler.version));
        match compile(compiler, &folder, &path) {
            Ok(()) => return Ok(path),
            Err(Error::Io(path, error)) => last = Error::Io(path, error),
            Err(error) => return Err(error),
        }
    }
    Err(last)
}

/// What the helper is called that was compiled from these sources by this compiler, as it is now.
pub(super) fn name(compiler: &Compiler) -> String {
    let mut print = Fingerprint::new();
    for (name, text) in SOURCES {
        print = print.with(name.as_bytes()).with(text.as_bytes());
    }
    print = print.with(compiler.library.as_os_str().as_encoded_bytes());
    // A compiler that was installed anew under the same version reads other files.
    let library = compiler.library.join("compiler-libs/ocamlcommon.cmxa");
    if let Ok(metadata) = fs::metadata(library) {
        print = print.with(&metadata.len().to_le_bytes()).with(&metadata.mtime().to_le_bytes());
    }
    format!("cmt-{}-{:016x}", compiler.version, print.number())
}

/// Whether a file is there that we may run: nobody else could have put it there.
fn is_ours(path: &Path) -> bool {
    let user = rustix::process::geteuid().as_raw();
    let Ok(metadata) = fs::symlink_metadata(path) else { return false };
    metadata.is_file() && metadata.uid() == user && metadata.mode() & 0o022 == 0
}

fn compile(compiler: &Compiler, folder: &Path, path: &Path) -> Result<(), Error> {
    let failed = |error| Error::Io(path.to_owned(), error);
    DirBuilder::new().recursive(true).mode(0o755).create(folder).map_err(failed)?;
    let work = tempfile::Builder::new().prefix(".cmt").tempdir_in(folder).map_err(failed)?;
    for (name, text) in SOURCES {
        fs::write(work.path().join(name), text).map_err(failed)?;
    }
    let made = work.path().join("made");
    let mut command = Command::new("sh");
    command.arg(work.path().join("build.sh")).arg(&compiler.command).arg(&made);
    let output = command.stdin(Stdio::null()).output().map_err(failed)?;
    if !output.status.success() {
        return Err(Error::NotCompiled(said(&output)));
    }
    // Whole or not at all, also if two of us compile it at once.
    fs::rename(&made, path).map_err(failed)
}

/// Has the helper read all sources, of a program if that is known; what it said in the end.
pub(super) fn run(
    helper: &Path,
    (sources, program): (&Sources, Option<&Path>),
    compiler: &Compiler,
    output: &Path,
) -> Result<String, Error> {
    let mut command = Command::new(helper);
    command.arg("-o").arg(output).arg("-I").arg(&compiler.library);
    if let Some(program) = program {
        command.arg("-p").arg(program);
    }
    command.args(sources.files()).stdin(Stdio::null());
    let ended = command.output().map_err(|error| Error::Io(helper.to_owned(), error))?;
    match ended.status.success() {
        true => Ok(said(&ended)),
        false => Err(Error::HelperFailed(format!("{} ({})", said(&ended), ended.status))),
    }
}

/// The end of what a program said, in one line.
fn said(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<_> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    lines[lines.len().saturating_sub(4)..].join("; ")
}
