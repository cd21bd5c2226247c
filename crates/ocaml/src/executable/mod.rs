//! What an executable is: whether it is OCaml, of which version, and what stands in the way of observing it.

mod bytecode;
mod debug_file;
mod debug_info;
mod elf;
mod names;
mod pointers;
mod script;

use std::boxed::Box;

use memchr::memmem;

use crate::error::OcamlError;
use crate::fingerprint::{Fingerprint, fingerprint};
use crate::sys_version;
use crate::version::Version;

pub use crate::sys_version::Said;
pub use bytecode::Bytecode;
pub use debug_file::{DebugSymbols, Identity};
pub use debug_info::DebugInfo;
pub use elf::{Elf, Machine, Purpose};
pub use script::Script;

/// Present in every runtime, even after stripping: the environment variable from which it reads its settings.
const RUNTIME_VARIABLE: &[u8] = b"OCAMLRUNPARAM";
/// The magic number of marshalled data.
const MARSHALLED: [u8; 4] = [0x84, 0x95, 0xa6, 0xbe];
/// The length of its header.
const MARSHALLED_HEADER: usize = 20;

/// An executable file.
#[derive(Clone, Debug)]
pub struct Executable<'a> {
    /// How the kernel, or `ocamlrun`, executes it.
    pub form: Form<'a>,
    /// The OCaml part of it; None if there is none, as far as can be seen.
    pub ocaml: Option<Ocaml>,
}

/// How a file is executed.
#[derive(Clone, Debug)]
pub enum Form<'a> {
    /// As machine code.
    Elf(Box<Elf<'a>>),
    /// By the program named in its first line.
    Script(Script),
    /// Only if it is passed to `ocamlrun`: its beginning is not executable.
    Bare,
}

/// The OCaml part of an executable.
#[derive(Clone, Debug)]
pub struct Ocaml {
    /// How it was compiled.
    pub kind: ExecutableKind,
    /// The program's own `Sys.ocaml_version`, if it has that.
    pub said: Option<Said>,
    /// What its runtime's symbols reveal.
    pub fingerprint: Option<Fingerprint>,
    /// The bytecode at its end.
    pub bytecode: Option<Bytecode>,
}

/// How an OCaml program was compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExecutableKind {
    /// To machine code, with the runtime linked in.
    Native,
    /// To machine code, with the runtime in a shared library.
    NativeWithoutRuntime,
    /// To bytecode for a separate `ocamlrun`.
    Bytecode,
    /// To bytecode with a runtime in the same file (`ocamlc -custom`).
    Custom,
    /// To bytecode inside a runtime (`ocamlc -output-complete-exe`).
    Complete,
    /// It is `ocamlrun` itself.
    Runtime,
    /// It has an OCaml runtime, but all symbols are gone.
    Unknown,
}

impl<'a> Executable<'a> {
    /// Reads a file.
    ///
    /// # Errors
    /// If it is not executable, or damaged.
    pub fn read(bytes: &'a [u8]) -> Result<Executable<'a>, OcamlError> {
        Executable::read_with(bytes, None)
    }

    /// Reads a file from which these symbols were stripped.
    ///
    /// # Errors
    /// As [`Executable::read`].
    pub fn read_with(
        bytes: &'a [u8],
        symbols: Option<DebugSymbols<'a>>,
    ) -> Result<Executable<'a>, OcamlError> {
        let bytecode = Bytecode::read(bytes)?;
        if Elf::is(bytes) {
            let mut elf = Elf::read(bytes)?;
            if let Some(symbols) = symbols {
                elf.know(symbols);
            }
            let ocaml = Ocaml::in_elf(&elf, bytecode);
            return Ok(Executable { form: Form::Elf(Box::new(elf)), ocaml });
        }
        let form = match (Script::read(bytes), bytecode) {
            (Some(script), _) => Form::Script(script),
            (None, Some(_)) => Form::Bare,
            (None, None) => return Err(OcamlError::NotExecutable),
        };
        let ocaml = bytecode.map(|bytecode| Ocaml {
            kind: ExecutableKind::Bytecode,
            said: None,
            fingerprint: None,
            bytecode: Some(bytecode),
        });
        Ok(Executable { form, ocaml })
    }

    /// Which modules have debug information; None if it is impossible to tell. Looks at all names of the
    /// executable.
    pub fn debug_info(&self) -> Option<DebugInfo> {
        let version = self.ocaml.as_ref()?.fingerprint?.version;
        match &self.form {
            Form::Elf(elf) if version >= Version::new(4, 11) => DebugInfo::find(elf),
            _ => None,
        }
    }
}

impl Ocaml {
    fn in_elf(elf: &Elf<'_>, bytecode: Option<Bytecode>) -> Option<Ocaml> {
        let has = |name: &str| elf.global(name).is_some();
        let has_interpreter = has("caml_prim_table");
        let kind = if bytecode.is_some() {
            if has_interpreter { ExecutableKind::Custom } else { ExecutableKind::Bytecode }
        } else if has_interpreter {
            let has_program = elf.data().any(has_marshalled);
            if has_program { ExecutableKind::Complete } else { ExecutableKind::Runtime }
        } else if has("caml_frametable") && has("caml_globals") {
            let has_runtime = has("caml_start_program");
            if has_runtime { ExecutableKind::Native } else { ExecutableKind::NativeWithoutRuntime }
        } else if elf.constants().any(has_runtime_variable) {
            ExecutableKind::Unknown
        } else {
            return None;
        };
        Some(Ocaml { kind, said: said(elf), fingerprint: fingerprint(has), bytecode })
    }

    /// The version, as far as it is known.
    pub fn version(&self) -> Option<Version> {
        let said = self.said.as_ref().map(|said| said.version);
        let compiled = self.bytecode.and_then(|bytecode| bytecode.version());
        said.or(self.fingerprint.map(|fingerprint| fingerprint.version)).or(compiled)
    }
}

/// The program's own idea of its version.
fn said(elf: &Elf<'_>) -> Option<Said> {
    let place = sys_version::place(|name| elf.global(name)).filter(|_| elf.has_usual_words())?;
    let length = usize::try_from(place.end - place.start).ok()?;
    let data = elf.bytes_at(place.start)?;
    sys_version::said(data.get(..length).unwrap_or(data))
}

/// Whether C code contains the variable's name. Our own executables contain it too, but Rust strings do not end
/// in zero.
pub fn has_runtime_variable(bytes: &[u8]) -> bool {
    let mut found = memmem::find_iter(bytes, RUNTIME_VARIABLE);
    found.any(|at| bytes.get(at + RUNTIME_VARIABLE.len()) == Some(&0))
}

/// Whether these bytes contain marshalled data. Runtimes have its magic number among their constants, but
/// without a length after it.
fn has_marshalled(bytes: &[u8]) -> bool {
    memmem::find_iter(bytes, &MARSHALLED).any(|at| {
        let rest = bytes.get(at..).unwrap_or_default();
        let length = rest.get(MARSHALLED.len()..).and_then(<[u8]>::first_chunk);
        let length = length.map_or(0, |length| u32::from_be_bytes(*length));
        let most = rest.len().checked_sub(MARSHALLED_HEADER);
        length > 0 && most.is_some_and(|most| length as usize <= most)
    })
}
