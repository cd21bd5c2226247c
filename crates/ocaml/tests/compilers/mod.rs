//! The two compilers that tests compare with: the machine's OCaml 4, and OCaml 5 of `cargo xtask ocaml5`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use bactrian_ocaml::Version;

/// An OCaml, by its version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compiler(pub Version);

impl Compiler {
    /// Both.
    pub fn all() -> [Compiler; 2] {
        [Compiler(Version::new(4, 13)), Compiler(Version::new(5, 3))]
    }

    /// One of its programs, as `ocamlc`.
    pub fn program(self, name: &str) -> PathBuf {
        if self.0.major < 5 {
            return name.into();
        }
        let bin = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.cache/ocaml5/bin");
        let bin =
            bin.canonicalize().expect("there is no OCaml 5 here: run cargo xtask ocaml5 first");
        bin.join(name)
    }

    /// An empty folder for a test.
    pub fn folder(self, name: &str) -> PathBuf {
        let folder = format!("{name}_{}_{}", self.0.major, self.0.minor);
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(folder);
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("room");
        folder
    }

    /// Compiles a program, by its path from this crate, to bytecode in a folder and tells where that is.
    pub fn compile(self, source: &str, folder: &Path, options: &[&str]) -> PathBuf {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(source);
        // Compilers leave files beside the source.
        let copy = folder.join(source.file_name().expect("a file"));
        fs::copy(&source, &copy).expect("room");
        self.compile_here(&copy, options)
    }

    /// The same beside the source.
    pub fn compile_here(self, source: &Path, options: &[&str]) -> PathBuf {
        let made = source.with_extension("byte");
        let folder = source.parent().expect("a folder");
        let mut command = Command::new(self.program("ocamlc"));
        command.args(options).arg(source.file_name().expect("a file")).arg("-o").arg(&made);
        self.output(command.current_dir(folder));
        made
    }

    /// Runs bytecode in its own folder and gives what it prints.
    pub fn run(self, program: &Path) -> String {
        let mut command = Command::new(self.program("ocamlrun"));
        command.arg(program).current_dir(program.parent().expect("a folder"));
        self.output(&mut command)
    }

    /// What a command prints; it has to succeed.
    pub fn output(self, command: &mut Command) -> String {
        let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{command:?}: {errors}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}
