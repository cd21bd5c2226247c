//! Finds the user's native code compiler of the version that a build was made with.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use bactrian_ocaml::Version;

use super::TypesError;

/// A native code compiler (`ocamlopt`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compiler {
    /// The command.
    pub command: PathBuf,
    /// Its version as it reports it, such as `4.13.1`.
    pub version: String,
    /// The directory of its standard library.
    pub library: PathBuf,
}

impl Compiler {
    /// Finds the compiler of this version: the one that is named, or one on the PATH or in an opam switch.
    ///
    /// # Errors
    /// If there is none.
    pub fn find(version: Version, named: Option<&Path>) -> Result<Compiler, TypesError> {
        if let Some(command) = named {
            let compiler = Compiler::ask(command)?;
            return match Version::parse(&compiler.version) {
                Some(own) if own == version => Ok(compiler),
                _ => {
                    let why = format!(
                        "it is of version {}, the .cmt files are of {version}",
                        compiler.version
                    );
                    Err(TypesError::BadCompiler(command.to_owned(), why))
                }
            };
        }
        let mut others = Vec::new();
        for command in candidates() {
            let Ok(compiler) = Compiler::ask(&command) else { continue };
            if Version::parse(&compiler.version) == Some(version) {
                return Ok(compiler);
            }
            if !others.contains(&compiler.version) {
                others.push(compiler.version);
            }
        }
        Err(TypesError::NoCompiler(version, others))
    }

    /// Asks a compiler for its version and library.
    fn ask(command: &Path) -> Result<Compiler, TypesError> {
        let ask = |question: &str| {
            let bad = |why: String| TypesError::BadCompiler(command.to_owned(), why);
            let asked = Command::new(command).arg(question).stdin(Stdio::null()).output();
            let answer = asked.map_err(|error| bad(error.to_string()))?;
            let text = String::from_utf8_lossy(&answer.stdout).trim().to_owned();
            match answer.status.success() && !text.is_empty() {
                true => Ok(text),
                false => Err(bad(format!("it gives no answer to {question}"))),
            }
        };
        let version = ask("-version")?;
        let library = PathBuf::from(ask("-where")?);
        Ok(Compiler { command: command.to_owned(), version, library })
    }
}

/// The library directories of all installed compilers, the likeliest first.
pub fn folders() -> impl Iterator<Item = PathBuf> {
    candidates().into_iter().filter_map(|command| Some(Compiler::ask(&command).ok()?.library))
}

/// Possible compilers, the likeliest first.
fn candidates() -> Vec<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let on_path = env::split_paths(&path).map(|folder| folder.join("ocamlopt"));
    let mut found: Vec<PathBuf> = on_path.filter(|path| path.is_file()).collect();
    let home = env::var_os("HOME").map(|home| PathBuf::from(home).join(".opam"));
    let opam = env::var_os("OPAMROOT").map(PathBuf::from).or(home);
    let switches = opam.and_then(|root| fs::read_dir(root).ok()).into_iter().flatten().flatten();
    let mut switches: Vec<_> = switches.map(|switch| switch.path().join("bin/ocamlopt")).collect();
    switches.retain(|path| path.is_file());
    switches.sort();
    found.extend(switches);
    found
}
