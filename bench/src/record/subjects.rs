//! The programs that are recorded.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::measure::Run;
use xtask::command::output;

pub struct Subject {
    /// Its name for `--only`.
    pub name: &'static str,
    pub title: &'static str,
    /// The same program linked with memtrace: a file in the folder of `--against`.
    pub rival: &'static str,
    /// Whether Bactrian's default depth cuts some stacks.
    pub is_deep: bool,
    kind: Kind,
}

enum Kind {
    /// `programs/bench_short_stacks.ml`.
    ShortStacks { compiler: fn() -> Result<PathBuf, String> },
    /// The installed native-code compiler at work.
    Compiler,
}

pub const SUBJECTS: &[Subject] = &[
    Subject {
        name: "short4",
        title: "short stacks",
        rival: "bench_short_stacks",
        is_deep: false,
        kind: Kind::ShortStacks { compiler: || Ok(COMPILER.into()) },
    },
    Subject {
        name: "short5",
        title: "short stacks",
        rival: "bench_short_stacks_5",
        is_deep: false,
        kind: Kind::ShortStacks { compiler: ocaml5 },
    },
    Subject {
        name: "ocamlopt",
        title: "ocamlopt.opt",
        rival: "ocamlopt",
        is_deep: true,
        kind: Kind::Compiler,
    },
];

const COMPILER: &str = "ocamlopt.opt";
const SHORT_STACKS: &str = include_str!("../../../programs/bench_short_stacks.ml");
const COMPILED: &str = include_str!("compiled.ml");
/// How many copies of the source the compiler compiles, so that it takes one or two seconds.
const COPIES: usize = 60;

fn ocaml5() -> Result<PathBuf, String> {
    xtask::compilers::V5_3.program("ocamlopt")
}

impl Subject {
    /// Prepares the program in the folder; returns how to run it and its version of OCaml.
    pub fn make(&self, folder: &Path) -> Result<(Run, String), String> {
        let folder = folder.join(self.name);
        fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let write = |name: &str, text: &str| {
            let path = folder.join(name);
            fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
            Ok::<_, String>(path)
        };
        let (compiler, run) = match self.kind {
            Kind::ShortStacks { compiler } => {
                let compiler = compiler()?;
                let source = write("bench_short_stacks.ml", SHORT_STACKS)?;
                let program = source.with_extension("");
                let mut command = Command::new(&compiler);
                output(command.arg("-g").arg(source).arg("-o").arg(&program))?;
                (compiler, Run::new(program, Vec::new()))
            }
            Kind::Compiler => {
                let source = write("large.ml", &large_source())?;
                // Stops before assembly code is printed, because the rest is mostly the work of a child
                // process, the assembler, which is not OCaml.
                let words = ["-c", "-stop-after", "scheduling"].map(OsString::from);
                let arguments = words.into_iter().chain([source.into()]).collect();
                (COMPILER.into(), Run::new(COMPILER.into(), arguments))
            }
        };
        let version = output(Command::new(compiler).arg("-version"))?;
        Ok((run, version.trim().to_owned()))
    }
}

/// A source with many modules.
fn large_source() -> String {
    (0..COPIES).map(|n| format!("module M{n} = struct\n{COMPILED}end\n\n")).collect()
}
