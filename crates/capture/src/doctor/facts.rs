//! The facts about a program that decide what can be observed.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use bactrian_ocaml::executable::{
    DebugInfo, DebugSymbols, ExecutableKind, Form, Machine, Ocaml, Purpose,
};
use bactrian_ocaml::{Executable, Runtime, Version};
use bactrian_trace::Input;
use serde::{Serialize, Serializer};

use super::privilege::Privilege;
use super::process::{Process, Tracing};
use super::verdict::{Cause, Refusal};
use crate::debug_file::DebugFile;
use crate::heap::target::{Table, recovered};
use crate::program::find_program;
use crate::types::compiler_folders;

/// Larger files are not examined. The largest OCaml programs have some hundred megabytes.
const LARGEST: u64 = 1 << 30;
/// The maximal number of nested script interpreters, as in the kernel.
const MOST_INTERPRETERS: usize = 4;

/// The symbols that the agent needs of a runtime, besides the two names of the domain state.
const WANTED: &[&str] = &[
    "caml_start_program",
    "caml_c_call",
    "caml_memprof_start",
    "caml_memprof_stop",
    "caml_debuginfo_extract",
    "caml_debuginfo_location",
    "caml_debuginfo_next",
];
/// A prefix of the symbols that are only needed if there is a sampler. Runtimes without one have them only in
/// programs that use the module Gc.
const OF_SAMPLER: &str = "caml_memprof_";
/// The variable with the domain state, before 5.0 and since.
const STATE: &[&str] = &["Caml_state", "caml_state"];
/// The function that a runtime calls when it starts, which gives the agent control.
const WAKER: &str = "readlink";

/// The facts about a program.
#[derive(Clone, Debug, Serialize)]
pub struct Facts {
    /// The file.
    #[serde(serialize_with = "lossy")]
    pub path: PathBuf,
    /// If it is a script: its interpreter, that one's interpreter, and so on.
    #[serde(serialize_with = "all_lossy")]
    pub interpreters: Vec<PathBuf>,
    /// The OCaml facts about it, or about what runs it.
    pub ocaml: Option<OcamlFacts>,
    /// The machine code that finally runs: its own, or that of the last interpreter. None for bytecode that
    /// does not name an interpreter.
    pub image: Option<MachineCode>,
    /// Privileges that the file gives, which make the dynamic linker ignore the agent.
    pub privileges: Vec<Privilege>,
}

/// The OCaml facts about a program.
#[derive(Clone, Debug, Serialize)]
pub struct OcamlFacts {
    /// How it was compiled.
    #[serde(serialize_with = "kind_name")]
    pub kind: ExecutableKind,
    /// The full version, or as much as is known.
    pub version: Option<String>,
    /// Where the version is known from.
    pub version_source: Option<VersionSource>,
    /// The version whose runtime has these symbols; None if no known one does.
    #[serde(serialize_with = "displayed")]
    pub runtime: Option<Version>,
    /// The version without the parts that layouts do not depend on.
    #[serde(skip)]
    pub release: Option<Version>,
    /// OCaml's debug information, if it was examined.
    pub debug_info: Option<Debug>,
}

/// Where a version is known from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum VersionSource {
    /// The program's own Sys.ocaml_version.
    Sys,
    /// The runtime's symbols.
    Symbols,
    /// The runtime's symbols in its debug file.
    DebugFile,
    /// The runtime's code, which matches that of an installed compiler.
    Code,
    /// The magic number of bytecode.
    MagicNumber,
}

/// OCaml's debug information.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Debug {
    /// Whether all allocation sites are known.
    #[serde(rename = "complete")]
    pub is_complete: bool,
    /// The number of modules whose allocation sites are known. None for bytecode, which does not distinguish
    /// modules.
    pub modules_with: Option<usize>,
    /// Modules whose allocation sites are unknown.
    pub modules_without: Vec<String>,
}

/// Machine code.
#[derive(Clone, Debug, Serialize)]
pub struct MachineCode {
    /// The processor that it is for.
    #[serde(serialize_with = "displayed_plain")]
    pub machine: Machine,
    /// The size of an address in bits.
    pub bits: u8,
    /// The purpose of the file.
    #[serde(serialize_with = "purpose_name")]
    pub purpose: Purpose,
    /// Whether it is linked statically.
    #[serde(rename = "static")]
    pub is_static: bool,
    /// The dynamic linker that it asks for.
    pub loader: Option<String>,
    /// Whether it is position-independent.
    #[serde(rename = "position_independent")]
    pub is_relocatable: bool,
    /// Whether it was stripped.
    #[serde(rename = "stripped")]
    pub is_stripped: bool,
    /// Whether it has debug information of C (DWARF).
    #[serde(rename = "dwarf")]
    pub has_dwarf: bool,
    /// Whether it imports the function that gives the agent control.
    #[serde(rename = "wakes_agent")]
    pub is_waking: bool,
    /// Symbols of the runtime that the agent needs and that are not exported.
    pub missing_symbols: Vec<&'static str>,
}

/// How much of an executable is examined.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Depth {
    /// What decides whether it can be observed: headers and some symbols, however large it is.
    Observable,
    /// Also its debug information, for which all symbols are read.
    All,
}

impl Facts {
    /// Examines a file.
    pub(super) fn of_file(path: &Path, depth: Depth) -> Result<Facts, Refusal> {
        Facts::read(path, path, depth)
    }

    /// Examines the program of a process. Even if the file is gone, replaced or out of our sight, the kernel
    /// still has it.
    pub(super) fn of_process(pid: u32) -> Result<Facts, Refusal> {
        let link = PathBuf::from(format!("/proc/{pid}/exe"));
        let shown = fs::read_link(&link).map_err(|error| {
            let (reason, way_out) = match error.kind() {
                std::io::ErrorKind::PermissionDenied => {
                    let reason = format!("this user may not see what process {pid} runs");
                    match Process::look(pid).map(|process| process.tracing) {
                        Ok(Tracing::No { reason: why, way_out }) => {
                            (format!("{reason}: {why}"), way_out)
                        }
                        _ => (reason, "Run this as the user of the process, or as root".to_owned()),
                    }
                }
                std::io::ErrorKind::NotFound => (
                    format!(
                        "process {pid} runs no program: it is a kernel thread, or has \
                        ended"
                    ),
                    String::new(),
                ),
                _ => (format!("process {pid}: {error}"), String::new()),
            };
            Refusal::new(Cause::Unreadable, reason, way_out)
        })?;
        Facts::read(&link, &shown, Depth::All)
    }

    /// Reads `path`, which is called `shown` in messages.
    fn read(path: &Path, shown: &Path, depth: Depth) -> Result<Facts, Refusal> {
        let mut facts = Facts {
            path: shown.to_owned(),
            interpreters: Vec::new(),
            ocaml: None,
            image: None,
            privileges: Vec::new(),
        };
        let mut file = path.to_owned();
        let mut shown = shown.to_owned();
        loop {
            let bytes = contents(&file, &shown)?;
            let mut executable =
                Executable::read(&bytes).map_err(|error| unreadable(&shown, &error))?;
            let is_nameless = executable
                .ocaml
                .as_ref()
                .is_some_and(|ocaml| ocaml.kind == ExecutableKind::Unknown);
            let debug_file = is_nameless.then(|| DebugFile::find(&bytes, &shown, None)).flatten();
            let is_nameless = is_nameless && debug_file.is_none();
            let recovered =
                is_nameless.then(|| recovered::table_of_file(&bytes, compiler_folders())).flatten();
            let (symbols, source) = match (&debug_file, &recovered) {
                (Some(file), _) => (file.symbols(), VersionSource::DebugFile),
                (None, Some(Table { symbols, strings })) => {
                    (Some(DebugSymbols { symbols, strings }), VersionSource::Code)
                }
                (None, None) => (None, VersionSource::Symbols),
            };
            if symbols.is_some() {
                executable = Executable::read_with(&bytes, symbols)
                    .map_err(|error| unreadable(&shown, &error))?;
            }
            let debug_info = if depth == Depth::All { executable.debug_info() } else { None };
            let ocaml = executable.ocaml.as_ref();
            let ocaml = ocaml.map(|ocaml| OcamlFacts::new(ocaml, source, debug_info));
            facts.ocaml = facts.ocaml.or(ocaml);
            match executable.form {
                Form::Bare => return Ok(facts),
                Form::Elf(elf) => {
                    let metadata =
                        fs::metadata(&file).map_err(|error| unreadable(&shown, &error))?;
                    facts.privileges = Privilege::of(&file, &metadata);
                    let release = facts.ocaml.as_ref().and_then(|ocaml| ocaml.release);
                    let runtime = release.and_then(Runtime::of);
                    let has_sampler = runtime.is_none_or(|runtime| runtime.has_sampler);
                    let is_wanted = |name: &&str| has_sampler || !name.starts_with(OF_SAMPLER);
                    let wanted = WANTED.iter().copied().filter(is_wanted);
                    let mut missing: Vec<_> = wanted.filter(|name| !elf.exports(name)).collect();
                    if !STATE.iter().any(|name| elf.exports(name)) {
                        missing.push(STATE[0]);
                    }
                    facts.image = Some(MachineCode {
                        machine: elf.machine,
                        bits: elf.bits,
                        purpose: elf.purpose,
                        is_static: elf.loader.is_none(),
                        is_relocatable: elf.is_relocatable,
                        is_stripped: elf.is_stripped,
                        has_dwarf: elf.has_dwarf,
                        is_waking: elf.imports(WAKER),
                        missing_symbols: missing,
                        loader: elf.loader,
                    });
                    return Ok(facts);
                }
                Form::Script(script) => {
                    if facts.interpreters.len() >= MOST_INTERPRETERS {
                        let what =
                            "its interpreter is a script, whose interpreter is a script, and so on";
                        return Err(unreadable(&facts.path, &what));
                    }
                    let interpreter = OsString::from_vec(script.interpreter);
                    file =
                        behind_env(&interpreter, script.argument.as_deref()).map_err(|error| {
                            let what = format!(
                                "the interpreter in its first line cannot be \
                                used: {error}"
                            );
                            unreadable(&shown, &what)
                        })?;
                    shown.clone_from(&file);
                    facts.interpreters.push(file.clone());
                }
            }
        }
    }
}

/// The interpreter that a script's first line names: `/usr/bin/env NAME` is looked up in PATH.
fn behind_env(
    interpreter: &OsStr,
    argument: Option<&[u8]>,
) -> Result<PathBuf, crate::program::ProgramError> {
    let path = Path::new(interpreter);
    let mut words = argument.unwrap_or_default().split(|byte| byte.is_ascii_whitespace());
    let name =
        words.find(|word| !word.is_empty() && !word.starts_with(b"-") && !word.contains(&b'='));
    match name {
        Some(name) if path.file_name() == Some(OsStr::new("env")) => {
            find_program(OsStr::from_bytes(name))
        }
        // The kernel does not search PATH.
        _ => find_program(&Path::new(".").join(path).into_os_string()),
    }
}

/// Maps a file, so that only the parts that are examined are read.
fn contents(file: &Path, shown: &Path) -> Result<Input, Refusal> {
    let refused = |error: std::io::Error| unreadable(shown, &error);
    // Opening a pipe would block until its other end is opened.
    let metadata = fs::metadata(file).map_err(refused)?;
    if metadata.is_dir() {
        return Err(unreadable(shown, &"it is a directory"));
    }
    if !metadata.is_file() {
        return Err(unreadable(shown, &"it is not a file"));
    }
    if metadata.len() > LARGEST {
        return Err(unreadable(shown, &"too large for a program"));
    }
    Input::open(file).map_err(refused)
}

fn unreadable(path: &Path, error: &dyn std::fmt::Display) -> Refusal {
    Refusal::new(Cause::Unreadable, error.to_string(), "").about(path)
}

impl OcamlFacts {
    /// `symbols` says where its symbols come from.
    fn new(ocaml: &Ocaml, symbols: VersionSource, debug_info: Option<DebugInfo>) -> OcamlFacts {
        let runtime = ocaml.fingerprint.map(|fingerprint| fingerprint.version);
        let compiled = ocaml.bytecode.and_then(|bytecode| bytecode.version());
        let (version, version_source) = if let Some(said) = &ocaml.said {
            (Some(said.text.clone()), Some(VersionSource::Sys))
        } else if let Some(version) = runtime {
            (Some(version.to_string()), Some(symbols))
        } else if let Some(version) = compiled {
            (Some(version.to_string()), Some(VersionSource::MagicNumber))
        } else {
            (None, None)
        };
        let bytecode = ocaml.bytecode.map(|bytecode| Debug {
            is_complete: bytecode.has_debug_info,
            modules_with: None,
            modules_without: Vec::new(),
        });
        let native = debug_info.map(|found| Debug {
            is_complete: found.without.is_empty(),
            modules_with: Some(found.with),
            modules_without: found.without,
        });
        OcamlFacts {
            kind: ocaml.kind,
            version,
            version_source,
            runtime,
            release: ocaml.version(),
            debug_info: bytecode.or(native),
        }
    }
}

/// The name of a kind in JSON.
fn kind_name<S: Serializer>(kind: &ExecutableKind, out: S) -> Result<S::Ok, S::Error> {
    out.serialize_str(match kind {
        ExecutableKind::Native => "native",
        ExecutableKind::NativeWithoutRuntime => "native-shared-runtime",
        ExecutableKind::Bytecode => "bytecode",
        ExecutableKind::Custom => "bytecode-custom",
        ExecutableKind::Complete => "bytecode-complete",
        ExecutableKind::Runtime => "bytecode-runtime",
        ExecutableKind::Unknown => "unknown",
    })
}

fn purpose_name<S: Serializer>(purpose: &Purpose, out: S) -> Result<S::Ok, S::Error> {
    out.serialize_str(match purpose {
        Purpose::Program => "program",
        Purpose::Library => "library",
        Purpose::Object => "object",
        Purpose::Core => "core",
    })
}

fn displayed_plain<S: Serializer>(what: &Machine, out: S) -> Result<S::Ok, S::Error> {
    out.collect_str(what)
}

fn displayed<S: Serializer>(what: &Option<Version>, out: S) -> Result<S::Ok, S::Error> {
    what.map(|what| what.to_string()).serialize(out)
}

fn lossy<S: Serializer>(path: &Path, out: S) -> Result<S::Ok, S::Error> {
    out.serialize_str(&path.to_string_lossy())
}

fn all_lossy<S: Serializer>(paths: &[PathBuf], out: S) -> Result<S::Ok, S::Error> {
    out.collect_seq(paths.iter().map(|path| path.to_string_lossy()))
}
