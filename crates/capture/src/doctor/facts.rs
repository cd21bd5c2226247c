//! What a program is: the facts that decide what can be observed of it.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use bactrian_ocaml::executable::{DebugInfo, DebugSymbols, Form, Kind, Machine, Ocaml, Purpose};
use bactrian_ocaml::{Executable, Runtime, Version};
use bactrian_trace::Input;
use serde::{Serialize, Serializer};

use super::privilege::Privilege;
use super::verdict::{Cause, Refusal};
use crate::debug_file::DebugFile;
use crate::heap::target::{Table, recovered};
use crate::program::find_program;
use crate::types::compiler_folders;

/// Larger files are not looked at. The largest OCaml programs have some hundred megabytes.
const LARGEST: u64 = 1 << 30;
/// As many scripts run by scripts as the kernel takes.
const MOST_INTERPRETERS: usize = 4;

/// What the agent looks for in a runtime, besides the two names of the domain state.
const WANTED: &[&str] = &[
    "caml_start_program",
    "caml_c_call",
    "caml_memprof_start",
    "caml_memprof_stop",
    "caml_debuginfo_extract",
    "caml_debuginfo_location",
    "caml_debuginfo_next",
];
/// Those of them that are looked for only where there is a sampler. Elsewhere only programs that use OCaml's module Gc have
/// them.
const OF_SAMPLER: &str = "caml_memprof_";
/// Where the domain state is, before 5.0 and since.
const STATE: &[&str] = &["Caml_state", "caml_state"];
/// What a runtime calls when it starts, and by which the agent gets its turn.
const WAKER: &str = "readlink";

/// What a program is.
#[derive(Clone, Debug, Serialize)]
pub struct Facts {
    /// The file.
    #[serde(serialize_with = "lossy")]
    pub path: PathBuf,
    /// If it is a script: what runs it, what runs that, and so on.
    #[serde(serialize_with = "all_lossy")]
    pub interpreters: Vec<PathBuf>,
    /// What is OCaml in it, or in what runs it.
    pub ocaml: Option<OcamlFacts>,
    /// The machine code that runs in the end: its own, or that of the last interpreter. None for bytecode that
    /// names no interpreter.
    pub image: Option<Image>,
    /// Rights that the file gives, by which the dynamic linker refuses the agent.
    pub privileges: Vec<Privilege>,
}

/// What is OCaml in a program.
#[derive(Clone, Debug, Serialize)]
pub struct OcamlFacts {
    /// How it was compiled.
    #[serde(serialize_with = "kind_name")]
    pub kind: Kind,
    /// The version in full, or as far as it is known.
    pub version: Option<String>,
    /// How it is known.
    pub version_source: Option<VersionSource>,
    /// The version that a runtime with these symbols has; none if no known one has them.
    #[serde(serialize_with = "displayed")]
    pub runtime: Option<Version>,
    /// The version without what layouts do not depend on.
    #[serde(skip)]
    pub release: Option<Version>,
    /// Whether places in the source are known.
    pub debug_info: Option<Debug>,
}

/// How a version is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum VersionSource {
    /// The program's own Sys.ocaml_version.
    Sys,
    /// The runtime's symbols.
    Symbols,
    /// The runtime's symbols in its debug file.
    DebugFile,
    /// The runtime's code, which is that of a compiler here.
    Code,
    /// The magic number of bytecode.
    MagicNumber,
}

/// Debug information of OCaml.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Debug {
    /// Whether all places of allocations are known.
    #[serde(rename = "complete")]
    pub is_complete: bool,
    /// How many modules allocate in places that are known. Bytecode is not told apart by modules.
    pub modules_with: Option<usize>,
    /// Modules that allocate in places that are not known.
    pub modules_without: Vec<String>,
}

/// Machine code.
#[derive(Clone, Debug, Serialize)]
pub struct Image {
    /// What runs it.
    #[serde(serialize_with = "displayed_plain")]
    pub machine: Machine,
    /// Bits of an address.
    pub bits: u8,
    /// What the file is for.
    #[serde(serialize_with = "purpose_name")]
    pub purpose: Purpose,
    /// Whether it is linked statically.
    #[serde(rename = "static")]
    pub is_static: bool,
    /// The dynamic loader it asks for.
    pub loader: Option<String>,
    /// Whether it is loaded at any address.
    #[serde(rename = "position_independent")]
    pub is_relocatable: bool,
    /// Whether it was stripped.
    #[serde(rename = "stripped")]
    pub is_stripped: bool,
    /// Whether it has debug information of C.
    #[serde(rename = "dwarf")]
    pub has_dwarf: bool,
    /// Whether it takes from a library what brings the agent its turn.
    #[serde(rename = "wakes_agent")]
    pub is_waking: bool,
    /// What of the runtime the agent needs and cannot find.
    pub missing_symbols: Vec<&'static str>,
}

/// How much of an executable is looked at.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Depth {
    /// What decides whether it can be observed: headers and some names, however large it is.
    Observable,
    /// Also its debug information, for which all names are read.
    All,
}

impl Facts {
    /// Looks at a file.
    pub(super) fn of_file(path: &Path, depth: Depth) -> Result<Facts, Refusal> {
        Facts::read(path, path, depth)
    }

    /// Looks at what a process runs. The file may be gone, replaced or out of our sight, the kernel still has it.
    pub(super) fn of_process(pid: u32) -> Result<Facts, Refusal> {
        let link = PathBuf::from(format!("/proc/{pid}/exe"));
        let shown = fs::read_link(&link).map_err(|error| {
            let (reason, way_out) = match error.kind() {
                std::io::ErrorKind::PermissionDenied => {
                    let reason = format!("what process {pid} runs may not be seen by this user");
                    (reason, "Ask as the user it runs as, or as root")
                }
                std::io::ErrorKind::NotFound => {
                    (format!("process {pid} runs no program: it is the kernel's, or has ended"), "")
                }
                _ => (format!("process {pid}: {error}"), ""),
            };
            Refusal::new(Cause::Unreadable, reason, way_out)
        })?;
        Facts::read(&link, &shown, Depth::All)
    }

    /// Reads `path`, which is called `shown`.
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
            let is_nameless =
                executable.ocaml.as_ref().is_some_and(|ocaml| ocaml.kind == Kind::Unknown);
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
                    facts.image = Some(Image {
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
                            let what = format!("what its first line names cannot run it: {error}");
                            unreadable(&shown, &what)
                        })?;
                    shown.clone_from(&file);
                    facts.interpreters.push(file.clone());
                }
            }
        }
    }
}

/// The interpreter that a first line means: `/usr/bin/env NAME` means what PATH has under NAME.
fn behind_env(
    interpreter: &OsStr,
    argument: Option<&[u8]>,
) -> Result<PathBuf, crate::program::Error> {
    let path = Path::new(interpreter);
    let mut words = argument.unwrap_or_default().split(|byte| byte.is_ascii_whitespace());
    let name =
        words.find(|word| !word.is_empty() && !word.starts_with(b"-") && !word.contains(&b'='));
    match name {
        Some(name) if path.file_name() == Some(OsStr::new("env")) => {
            find_program(OsStr::from_bytes(name))
        }
        // The kernel does not ask PATH.
        _ => find_program(&Path::new(".").join(path).into_os_string()),
    }
}

/// Maps a file, so that only what is looked at is read.
fn contents(file: &Path, shown: &Path) -> Result<Input, Refusal> {
    let refused = |error: std::io::Error| unreadable(shown, &error);
    // Opening a pipe would wait for its other end.
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
    /// `symbols` is where its symbols are from.
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
fn kind_name<S: Serializer>(kind: &Kind, out: S) -> Result<S::Ok, S::Error> {
    out.serialize_str(match kind {
        Kind::Native => "native",
        Kind::NativeWithoutRuntime => "native-shared-runtime",
        Kind::Bytecode => "bytecode",
        Kind::Custom => "bytecode-custom",
        Kind::Complete => "bytecode-complete",
        Kind::Runtime => "bytecode-runtime",
        Kind::Unknown => "unknown",
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
