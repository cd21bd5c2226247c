//! Tables of types: what the compiler knew about a program, gathered from the files that it left.
//!
//! Such files (`.cmt`) can only be read by the libraries of the compiler that wrote them. So a helper in
//! OCaml is embedded as source, compiled once with that compiler, and cached (`helper.rs`). `compiler.rs`
//! finds the compiler, `sources.rs` the files; `tables.rs` caches tables that are made automatically for
//! programs.

mod compiler;
mod helper;
mod sources;
mod tables;

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use bactrian_ocaml::Version;
pub use compiler::Compiler;
pub(crate) use compiler::folders as compiler_folders;
pub(crate) use sources::build_of;
pub use sources::{LinkedModule, Sources};
pub use tables::table_for;

/// Why no table of types could be made.
#[derive(Debug)]
pub enum TypesError {
    /// There are no `.cmt` files in these places.
    NoFiles(Vec<PathBuf>),
    /// The files were written by compilers of different versions.
    Mixed(Version, Version),
    /// There is no compiler of this version, only of these other versions.
    NoCompiler(Version, Vec<String>),
    /// This compiler cannot be used, for this reason.
    BadCompiler(PathBuf, String),
    /// The helper could not be compiled; the compiler's output.
    NotCompiled(String),
    /// The helper failed; its output.
    HelperFailed(String),
    /// An operation on this file failed.
    Io(PathBuf, io::Error),
}

impl fmt::Display for TypesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TypesError::NoFiles(places) => {
                let places: Vec<_> = places.iter().map(|path| path.display().to_string()).collect();
                write!(
                    f,
                    "no .cmt files in {}. The compiler writes them with -bin-annot, which dune \
                     always uses: build the program, and name its build folder (with dune: \
                     _build)",
                    places.join(", ")
                )
            }
            TypesError::Mixed(one, other) => write!(
                f,
                "some .cmt files are of OCaml {one}, some of {other}: name folders of one build only"
            ),
            TypesError::NoCompiler(version, others) => {
                write!(
                    f,
                    "the .cmt files are of OCaml {version}, and no ocamlopt of that version was found"
                )?;
                if !others.is_empty() {
                    write!(f, " (only of {})", others.join(", "))?;
                }
                f.write_str(": put it on the PATH, or name it with --compiler")
            }
            TypesError::BadCompiler(path, why) => {
                write!(f, "{}: not an ocamlopt that can be used: {why}", path.display())
            }
            TypesError::NotCompiled(said) => write!(
                f,
                "the helper that reads .cmt files cannot be compiled (are compiler-libs installed? On Debian they \
                 are in ocaml-compiler-libs or ocaml-nox): {said}"
            ),
            TypesError::HelperFailed(said) => write!(f, "reading .cmt files failed: {said}"),
            TypesError::Io(path, error) => write!(f, "{}: {error}", path.display()),
        }
    }
}

impl std::error::Error for TypesError {}

/// Makes a table of all sources and the standard library, and writes it to `output`. Returns the helper's
/// output.
///
/// # Errors
/// If there is no compiler for the sources, or the helper does not work with it.
pub fn build(
    mut sources: Sources,
    compiler: Option<&Path>,
    output: &Path,
    note: &mut dyn FnMut(&str),
) -> Result<String, TypesError> {
    let version = sources.version()?;
    let compiler = Compiler::find(version, compiler)?;
    sources.add_folder(&compiler.library);
    let helper = helper::installed(&compiler, note)?;
    helper::run(&helper, (&sources, &[]), &compiler, output)
}
