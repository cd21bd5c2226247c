//! What an executable is: whether it is OCaml, of which version, and what stands in the way of observing it.

mod bytecode;
mod debug_info;
mod elf;
mod pointers;
mod script;
mod sys_version;

use crate::error::Error;
use crate::fingerprint::{Fingerprint, fingerprint};
use crate::version::Version;

pub use bytecode::Bytecode;
pub use debug_info::DebugInfo;
pub use elf::{Elf, Machine, Purpose};
pub use script::Script;
pub use sys_version::Said;

/// In every runtime, also after stripping: the environment variable that it reads its settings from.
const RUNTIME_VARIABLE: &[u8] = b"OCAMLRUNPARAM";
/// How marshalled data begins.
const MARSHALLED: [u8; 4] = [0x84, 0x95, 0xa6, 0xbe];
/// Length of its header.
const MARSHALLED_HEADER: usize = 20;

/// A file that can be run.
#[derive(Clone, Debug)]
pub struct Executable<'a> {
    /// What the kernel, or `ocamlrun`, makes of it.
    pub form: Form<'a>,
    /// What is OCaml in it; none if nothing is, as far as can be seen.
    pub ocaml: Option<Ocaml>,
}

/// How a file is run.
#[derive(Clone, Debug)]
pub enum Form<'a> {
    /// As machine code.
    Elf(Elf<'a>),
    /// By the program that its first line names.
    Script(Script),
    /// Only if it is given to `ocamlrun`: it begins as nothing that can be run.
    Bare,
}

/// What is OCaml in an executable.
#[derive(Clone, Debug)]
pub struct Ocaml {
    /// How it was compiled.
    pub kind: Kind,
    /// What its own `Sys.ocaml_version` says, if it has that.
    pub said: Option<Said>,
    /// What its runtime's symbols tell.
    pub fingerprint: Option<Fingerprint>,
    /// The bytecode at its end.
    pub bytecode: Option<Bytecode>,
    /// Which modules have debug information; none if that cannot be told.
    pub debug_info: Option<DebugInfo>,
}

/// How OCaml was compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// To machine code, with the runtime linked in.
    Native,
    /// To machine code, with the runtime in a shared library.
    NativeWithoutRuntime,
    /// To bytecode that an `ocamlrun` elsewhere runs.
    Bytecode,
    /// To bytecode with a runtime in the same file (`ocamlc -custom`).
    Custom,
    /// To bytecode within a runtime (`ocamlc -output-complete-exe`).
    Complete,
    /// This is `ocamlrun` itself.
    Runtime,
    /// There is an OCaml runtime, but all symbols are gone.
    Unknown,
}

impl Executable<'_> {
    /// Reads a file.
    ///
    /// # Errors
    /// If it is nothing that can be run, or is damaged.
    pub fn read(bytes: &[u8]) -> Result<Executable<'_>, Error> {
        let bytecode = Bytecode::read(bytes)?;
        if Elf::is(bytes) {
            let elf = Elf::read(bytes)?;
            let ocaml = Ocaml::in_elf(&elf, bytecode);
            return Ok(Executable { form: Form::Elf(elf), ocaml });
        }
        let form = match (Script::read(bytes), bytecode) {
            (Some(script), _) => Form::Script(script),
            (None, Some(_)) => Form::Bare,
            (None, None) => return Err(Error::NotExecutable),
        };
        let ocaml = bytecode.map(|bytecode| Ocaml {
            kind: Kind::Bytecode,
            said: None,
            fingerprint: None,
            bytecode: Some(bytecode),
            debug_info: None,
        });
        Ok(Executable { form, ocaml })
    }
}

impl Ocaml {
    fn in_elf(elf: &Elf<'_>, bytecode: Option<Bytecode>) -> Option<Ocaml> {
        let has_interpreter = elf.defines("caml_prim_table");
        let kind = if bytecode.is_some() {
            if has_interpreter { Kind::Custom } else { Kind::Bytecode }
        } else if has_interpreter {
            let has_program = elf.data().any(has_marshalled);
            if has_program { Kind::Complete } else { Kind::Runtime }
        } else if elf.defines("caml_frametable") && elf.defines("caml_globals") {
            let has_runtime = elf.defines("caml_start_program");
            if has_runtime { Kind::Native } else { Kind::NativeWithoutRuntime }
        } else if elf.loaded().any(has_runtime_variable) {
            Kind::Unknown
        } else {
            return None;
        };
        let fingerprint = fingerprint(|name| elf.defines(name));
        let is_table_known = fingerprint.is_some_and(|found| found.version >= Version::new(4, 11));
        Some(Ocaml {
            kind,
            said: sys_version::find(elf),
            fingerprint,
            bytecode,
            debug_info: is_table_known.then(|| DebugInfo::find(elf)).flatten(),
        })
    }

    /// The version, as far as it can be told.
    pub fn version(&self) -> Option<Version> {
        let said = self.said.as_ref().map(|said| said.version);
        let compiled = self.bytecode.and_then(|bytecode| bytecode.version());
        said.or(self.fingerprint.map(|fingerprint| fingerprint.version)).or(compiled)
    }
}

/// Whether C code holds the variable's name. This file holds it too, but in Rust no string ends in zero.
fn has_runtime_variable(bytes: &[u8]) -> bool {
    let mut windows = bytes.windows(RUNTIME_VARIABLE.len() + 1);
    windows.any(|window| window.strip_prefix(RUNTIME_VARIABLE) == Some(&[0]))
}

/// Whether marshalled data is among these bytes. Runtimes have its first bytes among their constants, but no
/// length after them.
fn has_marshalled(bytes: &[u8]) -> bool {
    let mut headers = bytes.windows(MARSHALLED_HEADER).enumerate();
    headers.any(|(at, header)| {
        let Some((&MARSHALLED, rest)) = header.split_first_chunk() else { return false };
        let length = rest.first_chunk().map_or(0, |length| u32::from_be_bytes(*length));
        length > 0 && length as usize <= bytes.len() - at - MARSHALLED_HEADER
    })
}
