//! What works for a program, why not, and what the user can do, in words.

use std::fmt;
use std::path::{Path, PathBuf};

use bactrian_ocaml::executable::{ExecutableKind, Machine, Purpose, Said};
use bactrian_ocaml::{Runtime, RuntimeCode, Version, versions};
use serde::Serialize;

use super::facts::{Facts, MachineCode, OcamlFacts};
use super::process::{Process, Tracing};
use crate::agent::AGENT;
use crate::heap::target::{NAMES, Unknown};
use crate::types::build_of;

/// The first version with Gc.Memprof.
const FIRST_MEMPROF: Version = Version::new(4, 11);
/// Versions on which all tests of the recorder run.
const TESTED: &[Version] =
    &[Version::new(4, 13), Version::new(5, 3), Version::new(5, 4), Version::new(5, 5)];
/// Versions without a package: the tests were run with compilers built by hand.
const CHECKED: &[Version] = &[Version::new(5, 0), Version::new(5, 1), Version::new(5, 2)];

/// Whether something works.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "works", rename_all = "kebab-case")]
pub enum Verdict {
    /// It does.
    Yes {
        /// How certain that is.
        note: String,
    },
    /// It does not.
    No {
        /// The reason.
        reason: String,
        /// Advice; empty if nothing helps.
        way_out: String,
    },
}

/// What prevents recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The file cannot be read, or is damaged.
    Unreadable,
    /// It is not a program.
    NotAProgram,
    /// There is no OCaml in it.
    NotOcaml,
    /// The agent cannot be loaded into it.
    Closed,
    /// Its OCaml version is unknown.
    Version,
    /// Its OCaml version is known, but has no sampler (Gc.Memprof).
    NoSampler,
}

/// Why a program cannot be recorded.
#[derive(Clone, Debug)]
pub struct Refusal {
    /// The path of the program.
    path: PathBuf,
    /// The cause, as a code.
    pub cause: Cause,
    /// The cause, as a sentence.
    pub reason: String,
    /// Advice; empty if nothing helps.
    pub way_out: String,
}

impl Refusal {
    pub(super) fn new(
        cause: Cause,
        reason: impl Into<String>,
        way_out: impl Into<String>,
    ) -> Refusal {
        Refusal { path: PathBuf::new(), cause, reason: reason.into(), way_out: way_out.into() }
    }

    pub(super) fn about(self, path: &Path) -> Refusal {
        Refusal { path: path.to_owned(), ..self }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.as_os_str().is_empty() {
            write!(f, "{}: ", self.path.display())?;
        }
        f.write_str(&self.reason)?;
        if !self.way_out.is_empty() {
            write!(f, ". {}", self.way_out)?;
        }
        Ok(())
    }
}

impl std::error::Error for Refusal {}

impl From<Refusal> for Verdict {
    fn from(refusal: Refusal) -> Verdict {
        let Refusal { reason, way_out, .. } = refusal;
        Verdict::No { reason, way_out }
    }
}

/// Whether a program can be recorded; if so, how certain that is; if not, the refusal says what works
/// instead.
pub(super) fn record(facts: &Facts) -> Result<String, Refusal> {
    // Checked first, because advice for other causes would not help.
    if let Some(refusal) = without_sampler(facts) {
        return Err(refusal);
    }
    agent(facts).map(how_sure).map_err(|refusal| with_what_works(facts, refusal))
}

/// Adds to a refusal of what needs the agent from the start what can be done once the program runs.
pub(super) fn with_what_works(facts: &Facts, refusal: Refusal) -> Refusal {
    let Ok(version) = from_outside(facts) else { return refusal };
    let works = match cannot_be_started_late(facts, version) {
        None => {
            "it can be recorded while it runs, with bactrian record PID, and snapshots can be \
             taken with bactrian snapshot PID"
        }
        Some(_) => "snapshots can be taken while it runs, with bactrian snapshot PID",
    };
    Refusal { way_out: format!("{}; {works}", refusal.way_out), ..refusal }
}

/// The refusal for a runtime that is known, but has no sampler.
fn without_sampler(facts: &Facts) -> Option<Refusal> {
    let ocaml = facts.ocaml.as_ref()?;
    let version = known_version(ocaml).ok()?;
    let is_without = Runtime::of(version).is_some_and(|runtime| !runtime.has_sampler);
    let named = ocaml.version.clone().unwrap_or_else(|| version.to_string());
    is_without.then(|| {
        let (reason, way_out) = no_sampler(&named, agent(facts).is_ok());
        Refusal::new(Cause::NoSampler, reason, way_out)
    })
}

/// Why a program of such a version cannot be recorded, and what works instead; `is_enterable` says whether
/// the agent can be loaded into it.
pub(crate) fn no_sampler(version: &str, is_enterable: bool) -> (String, &'static str) {
    let reason = format!(
        "OCaml {version} has no Gc.Memprof, which samples allocations: recording a trace needs \
         OCaml 5.3 or newer, or 4.11 to 4.14"
    );
    let way_out = match is_enterable {
        true => {
            "Snapshots and numbers need none: bactrian snapshot PID once it runs, bactrian record --no-trace \
             --snapshots exit -- PROGRAM, bactrian live PID"
        }
        false => {
            "Snapshots and numbers need none: bactrian snapshot PID once it runs, bactrian live PID"
        }
    };
    (reason, way_out)
}

/// Whether the agent can be loaded into a program, for what needs no sampler; if so, returns the OCaml
/// version.
pub(super) fn agent(facts: &Facts) -> Result<Version, Refusal> {
    if let Some(image) = &facts.image {
        is_program(image)?;
        if facts.ocaml.is_none() {
            // It may start OCaml programs, but the agent would be loaded into it, too.
            is_our_machine(image)?;
            is_for_glibc(image)?;
        }
    }
    let ocaml = has_ocaml(facts)?;
    if AGENT.is_empty() {
        let reason = "this Bactrian was built for a platform on which it cannot observe programs";
        return Err(Refusal::new(Cause::Closed, reason, "Use one built for Linux on x86-64"));
    }
    if let Some(image) = &facts.image {
        is_open(image, facts)?;
    }
    match ocaml.kind {
        ExecutableKind::Native => {}
        // The runtime is in another file, or has other symbols than that of native code. If the agent does
        // not find what it needs there, nothing is recorded, and `record` says so.
        ExecutableKind::Bytecode
        | ExecutableKind::Custom
        | ExecutableKind::Complete
        | ExecutableKind::Runtime => {
            return known_version(ocaml);
        }
        ExecutableKind::NativeWithoutRuntime | ExecutableKind::Unknown => is_whole(ocaml, EXPORT)?,
    }
    let version = known_version(ocaml)?;
    if let Some(image) = &facts.image {
        has_symbols(image)?;
    }
    Ok(version)
}

/// Advice for exporting the symbols that the agent needs, stripped or not.
const EXPORT: &str = "Link it as ocamlopt does, with -Wl,-E";

/// Whether it contains the runtime, with symbols; `named_by` is advice for providing symbols.
fn is_whole(ocaml: &OcamlFacts, named_by: &str) -> Result<(), Refusal> {
    let (cause, reason, way_out) = match ocaml.kind {
        ExecutableKind::NativeWithoutRuntime => (
            Cause::Version,
            "its OCaml runtime is in a shared library, and its version is unknown",
            "Link it without -runtime-variant _shared",
        ),
        ExecutableKind::Unknown => (
            Cause::Closed,
            "it is an OCaml program, but is stripped and exports no symbols of its runtime",
            named_by,
        ),
        _ => return Ok(()),
    };
    Err(Refusal::new(cause, reason, way_out))
}

fn how_sure(version: Version) -> String {
    if TESTED.contains(&version) {
        format!("tested with OCaml {version}")
    } else if CHECKED.contains(&version) {
        format!("checked by hand with OCaml {version}")
    } else {
        format!("expected to work, not tested with OCaml {version}")
    }
}

fn is_program(image: &MachineCode) -> Result<(), Refusal> {
    let (reason, way_out) = match image.purpose {
        Purpose::Program => return Ok(()),
        Purpose::Library => ("it is a shared library", "Name the program that loads it"),
        Purpose::Object => ("it is an object file", "Link it to a program first"),
        Purpose::Core => ("it is a core file", "Name the program that it is from"),
    };
    Err(Refusal::new(Cause::NotAProgram, reason, way_out))
}

fn has_ocaml(facts: &Facts) -> Result<&OcamlFacts, Refusal> {
    facts.ocaml.as_ref().ok_or_else(|| {
        let reason = match facts.interpreters.last() {
            Some(interpreter) => {
                format!("it is a script for {}, in which there is no OCaml runtime", interpreter.display())
            }
            None => "there is no OCaml runtime in it".to_owned(),
        };
        let way_out =
            "If it starts OCaml programs, name one of those; bactrian record accepts this \
             program as well, and records the programs that it starts";
        Refusal::new(Cause::NotOcaml, reason, way_out)
    })
}

/// Whether it is for the machine that the agent and tracing support.
fn is_our_machine(image: &MachineCode) -> Result<(), Refusal> {
    if image.machine == Machine::X86_64 && image.bits == 64 {
        return Ok(());
    }
    let machine = match (image.machine, image.bits) {
        (Machine::X86_64, 32) => "x86-64 with 32-bit addresses (x32)".to_owned(),
        (machine, _) => machine.to_string(),
    };
    let reason = format!("it is for {machine}, and the agent is for x86-64");
    Err(Refusal::new(Cause::Closed, reason, "Build it for x86-64"))
}

/// Whether its libc is one that the agent supports.
fn is_for_glibc(image: &MachineCode) -> Result<(), Refusal> {
    match image.loader.as_ref().is_some_and(|loader| loader.contains("musl")) {
        true => {
            let reason = "it is built for musl, and the agent needs glibc";
            Err(Refusal::new(Cause::Closed, reason, "Build it on a system with glibc"))
        }
        false => Ok(()),
    }
}

/// Whether the dynamic linker loads the agent into it.
fn is_open(image: &MachineCode, facts: &Facts) -> Result<(), Refusal> {
    is_our_machine(image)?;
    is_for_glibc(image)?;
    let (reason, way_out) = if image.is_static {
        let way_out = "Link it dynamically, without -ccopt -static";
        ("it is linked statically, so the agent cannot be loaded into it".to_owned(), way_out)
    } else if !facts.privileges.is_empty() {
        let names: Vec<_> = facts.privileges.iter().map(ToString::to_string).collect();
        let names = names.join(" and ");
        let reason = format!(
            "it runs with additional privileges ({names}), so the dynamic linker ignores LD_PRELOAD"
        );
        (
            reason,
            "Record a copy of it without these privileges, or run it as a user who already \
            has them",
        )
    } else {
        return Ok(());
    };
    Err(Refusal::new(Cause::Closed, reason, way_out))
}

/// The version, if its runtime is known.
fn known_version(ocaml: &OcamlFacts) -> Result<Version, Refusal> {
    let refuse =
        |reason: String, way_out: String| Err(Refusal::new(Cause::Version, reason, way_out));
    let way_out =
        || format!("Compile it with OCaml {}", versions(|runtime| runtime.has_sampler, "or"));
    // The version of a bytecode file is determined by its magic number alone.
    let is_bytecode = ocaml.kind == ExecutableKind::Bytecode;
    let is_known = |version| Runtime::of(version).is_some();
    let named = ocaml.version.as_deref().map_or(String::new(), |text| format!(" {text}"));
    match (ocaml.release, ocaml.runtime) {
        (Some(said), Some(runtime)) if said != runtime && said >= FIRST_MEMPROF => {
            let said = Said { version: said, text: ocaml.version.clone().unwrap_or_default() };
            let unknown = Unknown::Version { said, runtime };
            refuse(unknown.to_string(), unknown.way_out())
        }
        (Some(version), _) if version < FIRST_MEMPROF => {
            let reason = format!("OCaml{named} has no Gc.Memprof, which came with {FIRST_MEMPROF}");
            refuse(reason, way_out())
        }
        (Some(version), runtime) if is_known(version) && (runtime.is_some() || is_bytecode) => {
            Ok(version)
        }
        _ => {
            let known = versions(|_| true, "and");
            let reason = match &ocaml.version {
                Some(version) => {
                    format!(
                        "OCaml {version} is not known to this version of Bactrian, which knows {known}"
                    )
                }
                None => format!(
                    "its version of OCaml is not known to this version of Bactrian, which knows \
                     {known}"
                ),
            };
            refuse(reason, "A newer Bactrian may know it".to_owned())
        }
    }
}

/// Whether the runtime exports what the agent needs.
fn has_symbols(image: &MachineCode) -> Result<(), Refusal> {
    if !image.missing_symbols.is_empty() {
        let names = match image.missing_symbols.as_slice() {
            [first, others @ ..] if others.len() > 2 => {
                format!("{first} and {} more", others.len())
            }
            names => names.join(", "),
        };
        let reason = format!("it does not export runtime symbols that the agent needs ({names})");
        return Err(Refusal::new(Cause::Closed, reason, EXPORT));
    }
    if !image.is_waking {
        let reason = "it does not import readlink from libc, through which the agent would start";
        return Err(Refusal::new(Cause::Closed, reason, "Link libc dynamically"));
    }
    Ok(())
}

/// Whether a snapshot of the heap can be taken: by the agent, or while the program runs.
pub(super) fn snapshot(facts: &Facts) -> Verdict {
    let outside = match from_outside(facts) {
        Ok(version) => version,
        Err(refusal) => return said_before(refusal),
    };
    match agent(facts) {
        Ok(_) => Verdict::Yes { note: how_sure(outside) },
        Err(refusal) => Verdict::Yes {
            note: format!(
                "only while it runs, by its process id, and not with record: {}",
                refusal.reason
            ),
        },
    }
}

/// Whether a snapshot of the program can be taken while it runs.
pub(super) fn attach(facts: &Facts, process: Option<&Process>) -> Verdict {
    let version = match from_outside(facts) {
        Ok(version) => version,
        Err(refusal) => return said_before(refusal),
    };
    match process.map(|process| &process.tracing) {
        None => Verdict::Yes {
            note: format!(
                "{}; to check whether a process may be traced, give its process id",
                how_sure(version)
            ),
        },
        Some(Tracing::Yes) => {
            Verdict::Yes { note: format!("{}, and this process may be traced", how_sure(version)) }
        }
        Some(Tracing::No { reason, way_out }) => Verdict::No {
            reason: format!("it may not be traced: {reason}"),
            way_out: match way_out.as_str() {
                "" => String::new(),
                some => format!("{some}; or start it again with record --snapshots signal"),
            },
        },
    }
}

/// Whether a process can be recorded while it runs.
pub(super) fn record_running(facts: &Facts, process: &Process) -> Verdict {
    match recordable_late(facts, process) {
        Ok(version) => Verdict::Yes {
            note: format!("{}, with bactrian record {}", how_sure(version), process.pid),
        },
        Err(refusal) => said_before(refusal),
    }
}

/// Why no sampler can be started in such a program while it runs, and what works instead; None if one can be
/// started. `knows_libc` says whether symbols of its libc are available, and it is glibc.
pub(crate) fn cannot_start_late(
    version: Version,
    code: RuntimeCode,
    knows_libc: bool,
) -> Option<(String, &'static str)> {
    if Runtime::of(version).is_some_and(|runtime| !runtime.has_sampler) {
        return Some(no_sampler(&version.to_string(), false));
    }
    if code == RuntimeCode::Bytecode {
        let reason = "it is bytecode, in which the sampler cannot be started while it runs";
        return Some((reason.to_owned(), "Start the program under `bactrian record`"));
    }
    (!knows_libc).then(|| {
        let reason = "it is linked statically and stripped, or not with glibc: libc functions \
            that the agent needs cannot be found";
        (reason.to_owned(), "Take snapshots of it (`bactrian snapshot PID`), or do not strip it")
    })
}

/// The same for a program that is known by its file.
fn cannot_be_started_late(facts: &Facts, version: Version) -> Option<(String, &'static str)> {
    let is_bytecode =
        facts.ocaml.as_ref().is_some_and(|ocaml| ocaml.kind != ExecutableKind::Native);
    let code = if is_bytecode { RuntimeCode::Bytecode } else { RuntimeCode::Native };
    let knows_libc = |image: &MachineCode| {
        is_for_glibc(image).is_ok() && !(image.is_static && image.is_stripped)
    };
    let knows_libc = facts.image.as_ref().is_none_or(knows_libc);
    cannot_start_late(version, code, knows_libc)
}

fn recordable_late(facts: &Facts, process: &Process) -> Result<Version, Refusal> {
    let closed = |reason: &str, way_out: &str| Err(Refusal::new(Cause::Closed, reason, way_out));
    let version = from_outside(facts)?;
    if let Some((reason, way_out)) = cannot_be_started_late(facts, version) {
        return closed(&reason, way_out);
    }
    if process.agent.is_some() {
        return closed("it was started under bactrian record, so the agent is already loaded", "");
    }
    if process.has_other_files {
        return closed("it sees different files", "Run bactrian in that container");
    }
    match &process.tracing {
        Tracing::Yes => Ok(version),
        Tracing::No { reason, way_out } => {
            closed(&format!("it may not be traced: {reason}"), way_out)
        }
    }
}

/// Advice for something that is not an OCaml program is only given once, with recording.
fn said_before(refusal: Refusal) -> Verdict {
    match refusal.cause {
        Cause::NotAProgram | Cause::NotOcaml => {
            Verdict::No { reason: refusal.reason, way_out: String::new() }
        }
        _ => refusal.into(),
    }
}

/// Whether the heap can be walked from outside; if so, returns the OCaml version.
fn from_outside(facts: &Facts) -> Result<Version, Refusal> {
    if let Some(image) = &facts.image {
        is_program(image)?;
    }
    let ocaml = has_ocaml(facts)?;
    if let Some(image) = &facts.image {
        is_our_machine(image)?;
    }
    is_whole(ocaml, NAMES)?;
    walkable(ocaml)
}

/// The version, if it is one whose heap layout is known.
fn walkable(ocaml: &OcamlFacts) -> Result<Version, Refusal> {
    let has_heap = |runtime: &Runtime| runtime.heap.is_some();
    let unknown = |version: &str| {
        let known = versions(has_heap, "and");
        let reason = format!(
            "heaps of OCaml {version} are not known to this version of Bactrian, which knows those of {known}"
        );
        let way_out = format!("Compile it with OCaml {}", versions(has_heap, "or"));
        Err(Refusal::new(Cause::Version, reason, way_out))
    };
    match known_version(ocaml) {
        Ok(version) if !Runtime::of(version).is_some_and(has_heap) => unknown(&version.to_string()),
        Ok(version) => Ok(version),
        Err(refusal) => match ocaml.release {
            Some(version)
                if ocaml.runtime.is_none_or(|runtime| runtime == version)
                    && version < FIRST_MEMPROF =>
            {
                unknown(ocaml.version.as_deref().unwrap_or("of this version"))
            }
            _ => Err(refusal),
        },
    }
}

/// Whether the blocks of the heap can be typed.
pub(super) fn types(facts: &Facts) -> Verdict {
    let is_program = facts.image.as_ref().map_or(Ok(()), is_program);
    let ocaml = match is_program.and_then(|()| has_ocaml(facts)) {
        Err(refusal) => return Verdict::No { reason: refusal.reason, way_out: String::new() },
        Ok(ocaml) => ocaml,
    };
    let Some(build) = build_of(&facts.path) else {
        return Verdict::No {
            reason: "there are no .cmt files where it is".to_owned(),
            way_out: "Build a table of types where it was built (bactrian types build _build -o \
                x.types) and name it with --types"
                .to_owned(),
        };
    };
    let samples = match &ocaml.debug_info {
        Some(debug) if debug.is_complete => "",
        _ => "; without debug info (-g), samples have no types",
    };
    Verdict::Yes { note: format!("its .cmt files are in {}{samples}", build.display()) }
}

#[cfg(test)]
mod tests;
