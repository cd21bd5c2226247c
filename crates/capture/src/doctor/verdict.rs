//! What works for a program, why not, and the way out: all the words of it.

use std::fmt;
use std::path::{Path, PathBuf};

use bactrian_ocaml::executable::{Kind, Machine, Purpose};
use bactrian_ocaml::{RUNTIMES, Version};
use serde::Serialize;

use super::facts::{Facts, Image, OcamlFacts};
use super::process::{Process, Tracing};
use crate::agent::AGENT;

/// The first version with Gc.Memprof, those that came without again, and the first that has it back.
const FIRST_MEMPROF: Version = Version::new(4, 11);
const WITHOUT_MEMPROF: std::ops::RangeInclusive<Version> = Version::new(5, 0)..=Version::new(5, 2);
/// Versions on which all tests of the recorder run.
const TESTED: &[Version] = &[Version::new(4, 13), Version::new(5, 3)];

/// Whether something works.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "works", rename_all = "kebab-case")]
pub enum Verdict {
    /// It does.
    Yes {
        /// How sure that is.
        note: String,
    },
    /// It does not.
    No {
        /// Why.
        reason: String,
        /// What helps; empty if nothing does.
        way_out: String,
    },
    /// No Bactrian of this version can do it.
    NotYet {
        /// What is missing.
        reason: String,
        /// What of this program matters once it can.
        way_out: String,
    },
}

/// What stands in the way of recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The file cannot be read, or is damaged.
    Unreadable,
    /// It is no program.
    NotAProgram,
    /// There is no OCaml in it.
    NotOcaml,
    /// It is bytecode.
    Bytecode,
    /// No agent can be brought into it.
    Closed,
    /// Its OCaml is of a version that cannot be recorded, or is not known.
    Version,
}

/// Why a program cannot be recorded.
#[derive(Clone, Debug)]
pub struct Refusal {
    /// The program.
    path: PathBuf,
    /// What stands in the way.
    pub cause: Cause,
    /// The same in words.
    pub reason: String,
    /// What helps; empty if nothing does.
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
        let Refusal { cause, reason, way_out, .. } = refusal;
        match cause {
            Cause::Bytecode => Verdict::NotYet { reason, way_out },
            _ => Verdict::No { reason, way_out },
        }
    }
}

/// Whether a program can be recorded; if so, how sure that is.
pub(super) fn record(facts: &Facts) -> Result<String, Refusal> {
    if let Some(image) = &facts.image {
        is_program(image)?;
    }
    let ocaml = has_ocaml(facts)?;
    if AGENT.is_empty() {
        let reason = "this Bactrian was built for a machine on which it cannot observe programs";
        return Err(Refusal::new(Cause::Closed, reason, "Use one built for Linux on x86-64"));
    }
    if let Some(image) = &facts.image {
        is_open(image, facts)?;
    }
    match ocaml.kind {
        Kind::Native => {}
        Kind::Bytecode | Kind::Custom | Kind::Complete | Kind::Runtime => {
            let what = match ocaml.kind {
                Kind::Runtime => "it runs bytecode",
                _ => "it is bytecode",
            };
            let reason =
                format!("{what}, and recording bytecode is not in this version of Bactrian");
            return Err(Refusal::new(
                Cause::Bytecode,
                reason,
                "Compile it to native code, with ocamlopt",
            ));
        }
        Kind::NativeWithoutRuntime => {
            let reason =
                "its OCaml runtime is in a shared library, and of a version that cannot be told";
            let way_out = "Link it without -runtime-variant _shared";
            return Err(Refusal::new(Cause::Version, reason, way_out));
        }
        Kind::Unknown => {
            let reason = "it is OCaml, but exports nothing of its runtime and is stripped";
            return Err(Refusal::new(
                Cause::Closed,
                reason,
                "Link it as ocamlopt does, with -Wl,-E",
            ));
        }
    }
    let version = known_version(ocaml)?;
    if let Some(image) = &facts.image {
        has_symbols(image)?;
    }
    Ok(match TESTED.contains(&version) {
        true => format!("tested with OCaml {version}"),
        false => format!("expected to work, not tested with OCaml {version}"),
    })
}

fn is_program(image: &Image) -> Result<(), Refusal> {
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
        let way_out = "If it starts OCaml programs, name one of those, or give --children follow to record them";
        Refusal::new(Cause::NotOcaml, reason, way_out)
    })
}

/// Whether the dynamic linker brings the agent into it.
fn is_open(image: &Image, facts: &Facts) -> Result<(), Refusal> {
    let (reason, way_out) = if image.machine != Machine::X86_64 || image.bits != 64 {
        let machine = match (image.machine, image.bits) {
            (Machine::X86_64, 32) => "x86-64 with addresses of 32 bits (x32)".to_owned(),
            (machine, _) => machine.to_string(),
        };
        (format!("it is for {machine}, and the agent is for x86-64"), "Build it for x86-64")
    } else if image.is_static {
        let way_out = "Link it dynamically, without -ccopt -static";
        ("it is linked statically, so that nothing can be loaded into it".to_owned(), way_out)
    } else if image.loader.as_ref().is_some_and(|loader| loader.contains("musl")) {
        let reason = "it is built for musl, and the agent needs glibc".to_owned();
        (reason, "Build it on a system with glibc")
    } else if !facts.privileges.is_empty() {
        let names: Vec<_> = facts.privileges.iter().map(ToString::to_string).collect();
        let names = names.join(" and ");
        let reason = format!(
            "it gives more rights to who runs it ({names}), so that the dynamic linker loads nothing \
             into it that its user chose"
        );
        (reason, "Record a copy of it, which has no such rights, or record it as root")
    } else {
        return Ok(());
    };
    Err(Refusal::new(Cause::Closed, reason, way_out))
}

/// The version, if it is one that can be recorded.
fn known_version(ocaml: &OcamlFacts) -> Result<Version, Refusal> {
    let refuse =
        |reason: String, way_out: String| Err(Refusal::new(Cause::Version, reason, way_out));
    let way_out = || format!("Compile it with OCaml {}", known_versions());
    let named = ocaml.version.as_deref().map_or(String::new(), |text| format!(" {text}"));
    match (ocaml.release, ocaml.runtime) {
        (Some(version), _) if version < FIRST_MEMPROF => {
            let reason = format!("OCaml{named} has no Gc.Memprof, which came with {FIRST_MEMPROF}");
            refuse(reason, way_out())
        }
        (Some(version), _) if WITHOUT_MEMPROF.contains(&version) => {
            let reason =
                format!("OCaml{named} has no Gc.Memprof: 5.0, 5.1 and 5.2 came without it");
            refuse(reason, "Compile it with OCaml 4.14 or 5.3".to_owned())
        }
        (Some(said), Some(runtime)) if said != runtime => {
            let reason = format!(
                "it says that it is OCaml{named}, but its runtime has the symbols of {runtime}: a \
                 changed OCaml, of which nothing is known"
            );
            refuse(reason, way_out())
        }
        (Some(version), Some(_)) if bactrian_ocaml::Runtime::of(version).is_some() => Ok(version),
        _ => {
            let which = if named.is_empty() { "of an unknown version" } else { named.trim_start() };
            let reason = format!(
                "OCaml {which} is not known to this version of Bactrian, which knows {}",
                known_versions()
            );
            refuse(reason, "A newer Bactrian may know it".to_owned())
        }
    }
}

/// The versions that can be recorded, as `4.11 to 4.14 and 5.3 to 5.4`.
fn known_versions() -> String {
    let mut ranges: Vec<(Version, Version)> = Vec::new();
    for (first, last) in RUNTIMES.iter().map(|runtime| runtime.versions) {
        match ranges.last_mut() {
            Some((_, end)) if (end.major, end.minor + 1) == (first.major, first.minor) => {
                *end = last
            }
            _ => ranges.push((first, last)),
        }
    }
    let ranges = ranges.iter().map(|(first, last)| match first == last {
        true => first.to_string(),
        false => format!("{first} to {last}"),
    });
    ranges.collect::<Vec<_>>().join(" and ")
}

/// Whether the agent finds what it needs in the runtime.
fn has_symbols(image: &Image) -> Result<(), Refusal> {
    if !image.missing_symbols.is_empty() {
        let names = match image.missing_symbols.as_slice() {
            [first, others @ ..] if others.len() > 2 => {
                format!("{first} and {} more", others.len())
            }
            names => names.join(", "),
        };
        let reason = format!("it does not export what the agent needs of the runtime ({names})");
        return Err(Refusal::new(Cause::Closed, reason, "Link it as ocamlopt does, with -Wl,-E"));
    }
    if !image.is_waking {
        let reason = "it does not take readlink from libc, by whose call the agent would start";
        return Err(Refusal::new(Cause::Closed, reason, "Link libc dynamically"));
    }
    Ok(())
}

/// Whether a snapshot of the heap can be taken.
pub(super) fn snapshot(facts: &Facts) -> Verdict {
    later(facts, "heap snapshots are", |ocaml| match record(facts) {
        Ok(_) => "Nothing known of this program stands against them".to_owned(),
        Err(_) if ocaml.release.is_none() => {
            "They need a version of OCaml that is known".to_owned()
        }
        Err(_) => "What stands against recording may stand against them too".to_owned(),
    })
}

/// Whether the program can be observed once it runs.
pub(super) fn attach(facts: &Facts, process: Option<&Process>) -> Verdict {
    later(facts, "attaching to what runs is", |_| match process.map(|process| &process.tracing) {
        None => "Ask with the number of a process whether it may be traced".to_owned(),
        Some(Tracing::Yes) => "This process may be traced".to_owned(),
        Some(Tracing::No { reason, way_out }) => {
            let rest = if way_out.is_empty() { String::new() } else { format!(". {way_out}") };
            format!("This process may not be traced: {reason}{rest}")
        }
    })
}

/// Whether blocks of the heap can be given types.
pub(super) fn types(facts: &Facts) -> Verdict {
    later(facts, "types of blocks are", |ocaml| {
        let needs =
            "They will need the .cmt files of its modules (ocamlopt -bin-annot; dune makes them)";
        match &ocaml.debug_info {
            Some(debug) if debug.is_complete => format!("{needs}; it has the debug info they need"),
            _ => format!("{needs}, and debug info (-g)"),
        }
    })
}

fn later(facts: &Facts, what: &str, outlook: impl FnOnce(&OcamlFacts) -> String) -> Verdict {
    let is_program = facts.image.as_ref().map_or(Ok(()), is_program);
    match is_program.and_then(|()| has_ocaml(facts)) {
        Err(refusal) => Verdict::No { reason: refusal.reason, way_out: String::new() },
        Ok(ocaml) => Verdict::NotYet {
            reason: format!("{what} not in this version of Bactrian"),
            way_out: outlook(ocaml),
        },
    }
}
