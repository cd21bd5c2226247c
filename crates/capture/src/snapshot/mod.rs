//! Writing snapshots to files, however the program was frozen.
//!
//! [`walk_frozen`] is for the walker that a frozen copy starts, [`of_process`] for a running process,
//! [`of_core`] for a core file. All of them use the same walk of [`crate::heap`].

mod core_file;
mod file;
mod frozen;
mod process;

use std::fmt;

use bactrian_ocaml::RuntimeCode;
use bactrian_snapshot::{CodeKind, Info};

use crate::heap::target::Target;

pub use core_file::of_core;
pub use file::Written;
pub use frozen::walk_frozen;
pub(crate) use process::trace_of;
pub use process::{SnapshotOptions, of_process};

/// Why there is no snapshot.
#[derive(Debug)]
pub enum Failure {
    /// The program cannot be frozen, or its heap cannot be walked; a sentence or two, with advice.
    Refused(String),
    /// A file could not be read or written.
    Io(String),
    /// This signal arrived before the snapshot was written.
    Interrupted(i32),
}

impl Failure {
    fn io(what: impl fmt::Display, why: impl fmt::Display) -> Failure {
        Failure::Io(format!("{what}: {why}"))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Refused(what) | Failure::Io(what) => f.write_str(what),
            Failure::Interrupted(signal) => write!(f, "ended by signal {signal}"),
        }
    }
}

impl std::error::Error for Failure {}

/// What every snapshot says about its program.
fn info_of(target: &Target) -> Info {
    Info {
        writer: concat!("bactrian ", env!("CARGO_PKG_VERSION")).to_owned(),
        ocaml: target.version.to_string(),
        code: match target.code {
            RuntimeCode::Native => CodeKind::Native,
            RuntimeCode::Bytecode => CodeKind::Bytecode,
        },
        ..Info::default()
    }
}

/// What `/proc` says about a process: its program, its arguments and the host. For bytecode the executable
/// may be the interpreter; then the program is the interpreter's argument.
fn describe(pid: u32, target: &Target, info: &mut Info) {
    let folder = std::path::PathBuf::from(format!("/proc/{pid}"));
    let executable = || std::fs::read_link(folder.join("exe")).ok();
    if let Some(program) = target.bytecode_path.clone().or_else(executable) {
        info.program = program.display().to_string();
    }
    if let Ok(line) = std::fs::read(folder.join("cmdline")) {
        let line = line.strip_suffix(b"\0").unwrap_or(&line);
        let words = line.split(|&byte| byte == 0).map(|word| String::from_utf8_lossy(word));
        info.arguments = words.skip(1).map(|word| word.into_owned()).collect();
    }
    info.host = rustix::system::uname().nodename().to_string_lossy().into_owned();
}
