//! What works for a program, why not, and the way out: all the words of it.

use std::fmt;
use std::path::{Path, PathBuf};

use bactrian_ocaml::executable::{Kind, Machine, Purpose, Said};
use bactrian_ocaml::{Code, Runtime, Version, versions};
use serde::Serialize;

use super::facts::{Facts, Image, OcamlFacts};
use super::process::{Process, Tracing};
use crate::agent::AGENT;
use crate::heap::target::{NAMES, Unknown};
use crate::types::build_of;

/// The first version with Gc.Memprof.
const FIRST_MEMPROF: Version = Version::new(4, 11);
/// Versions on which all tests of the recorder run.
const TESTED: &[Version] =
    &[Version::new(4, 13), Version::new(5, 3), Version::new(5, 4), Version::new(5, 5)];
/// Versions of which there is no package: the tests were run with compilers that were built by hand.
const CHECKED: &[Version] = &[Version::new(5, 0), Version::new(5, 1), Version::new(5, 2)];

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
    /// No agent can be brought into it.
    Closed,
    /// Its OCaml is of a version that is not known.
    Version,
    /// Its OCaml is known, but has no sampler (Gc.Memprof).
    NoSampler,
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
        let Refusal { reason, way_out, .. } = refusal;
        Verdict::No { reason, way_out }
    }
}

/// Whether a program can be recorded; if so, how sure that is. If not, what can be done instead is said.
pub(super) fn record(facts: &Facts) -> Result<String, Refusal> {
    // What helps against other reasons is of no use then.
    if let Some(refusal) = facts.ocaml.as_ref().and_then(without_sampler) {
        return Err(refusal);
    }
    agent(facts).map(how_sure).map_err(|refusal| with_what_works(facts, refusal))
}

/// A refusal of what needs the agent to be started with the program, and what can be done once it runs.
pub(super) fn with_what_works(facts: &Facts, refusal: Refusal) -> Refusal {
    let Ok(version) = from_outside(facts) else { return refusal };
    let works = match cannot_be_started_late(facts, version) {
        None => {
            "it can be recorded while it runs, by bactrian record PID, and snapshots be taken of it, by bactrian snapshot PID"
        }
        Some(_) => "snapshots can be taken of it while it runs, by bactrian snapshot PID",
    };
    Refusal { way_out: format!("{}; {works}", refusal.way_out), ..refusal }
}

/// The refusal for a runtime that is known, but has no sampler.
fn without_sampler(ocaml: &OcamlFacts) -> Option<Refusal> {
    let version = known_version(ocaml).ok()?;
    let is_without = Runtime::of(version).is_some_and(|runtime| !runtime.has_sampler);
    let named = ocaml.version.clone().unwrap_or_else(|| version.to_string());
    is_without.then(|| {
        let (reason, way_out) = no_sampler(&named);
        Refusal::new(Cause::NoSampler, reason, way_out)
    })
}

/// Why a program of such a version cannot be recorded, and what can be done instead.
pub(crate) fn no_sampler(version: &str) -> (String, &'static str) {
    let reason = format!(
        "OCaml {version} has no Gc.Memprof, by which allocations are sampled: recording a trace needs OCaml 5.3 or \
         newer, or 4.11 to 4.14"
    );
    let way_out = "Snapshots and numbers need none: bactrian snapshot PID once it runs, bactrian record --no-trace \
                   --snapshots exit -- PROGRAM, bactrian live PID";
    (reason, way_out)
}

/// Whether the agent can be in a program, for what needs no sampler; the version of OCaml if so.
pub(super) fn agent(facts: &Facts) -> Result<Version, Refusal> {
    if let Some(image) = &facts.image {
        is_program(image)?;
        if facts.ocaml.is_none() {
            // What it starts may be OCaml, but the agent would be in it, too.
            is_our_machine(image)?;
            is_for_glibc(image)?;
        }
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
        // The runtime is another file, or has other symbols than that of native code; if the agent does not find
        // what it needs there, nothing is recorded, and `record` says so.
        Kind::Bytecode | Kind::Custom | Kind::Complete | Kind::Runtime => {
            return known_version(ocaml);
        }
        Kind::NativeWithoutRuntime | Kind::Unknown => is_whole(ocaml, EXPORT)?,
    }
    let version = known_version(ocaml)?;
    if let Some(image) = &facts.image {
        has_symbols(image)?;
    }
    Ok(version)
}

/// What gives the agent the names that it needs, stripped or not.
const EXPORT: &str = "Link it as ocamlopt does, with -Wl,-E";

/// Whether the runtime is in it, and has names; if not, what gives it names.
fn is_whole(ocaml: &OcamlFacts, named_by: &str) -> Result<(), Refusal> {
    let (cause, reason, way_out) = match ocaml.kind {
        Kind::NativeWithoutRuntime => (
            Cause::Version,
            "its OCaml runtime is in a shared library, and of a version that cannot be told",
            "Link it without -runtime-variant _shared",
        ),
        Kind::Unknown => (
            Cause::Closed,
            "it is OCaml, but exports nothing of its runtime and is stripped",
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
        let way_out =
            "If it starts OCaml programs, name one of those; bactrian record takes it as it is, and records them";
        Refusal::new(Cause::NotOcaml, reason, way_out)
    })
}

/// Whether it is for the machine that agent and tracing are for.
fn is_our_machine(image: &Image) -> Result<(), Refusal> {
    if image.machine == Machine::X86_64 && image.bits == 64 {
        return Ok(());
    }
    let machine = match (image.machine, image.bits) {
        (Machine::X86_64, 32) => "x86-64 with addresses of 32 bits (x32)".to_owned(),
        (machine, _) => machine.to_string(),
    };
    let reason = format!("it is for {machine}, and the agent is for x86-64");
    Err(Refusal::new(Cause::Closed, reason, "Build it for x86-64"))
}

/// Whether its libc is one that the agent can be with.
fn is_for_glibc(image: &Image) -> Result<(), Refusal> {
    match image.loader.as_ref().is_some_and(|loader| loader.contains("musl")) {
        true => {
            let reason = "it is built for musl, and the agent needs glibc";
            Err(Refusal::new(Cause::Closed, reason, "Build it on a system with glibc"))
        }
        false => Ok(()),
    }
}

/// Whether the dynamic linker brings the agent into it.
fn is_open(image: &Image, facts: &Facts) -> Result<(), Refusal> {
    is_our_machine(image)?;
    is_for_glibc(image)?;
    let (reason, way_out) = if image.is_static {
        let way_out = "Link it dynamically, without -ccopt -static";
        ("it is linked statically, so that nothing can be loaded into it".to_owned(), way_out)
    } else if !facts.privileges.is_empty() {
        let names: Vec<_> = facts.privileges.iter().map(ToString::to_string).collect();
        let names = names.join(" and ");
        let reason = format!(
            "it gives more rights to who runs it ({names}), so that the dynamic linker loads nothing \
             into it that its user chose"
        );
        (reason, "Record a copy of it, which has no such rights, or as a user who has them")
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
    // What a bytecode file is for is told by its magic number alone.
    let is_bytecode = ocaml.kind == Kind::Bytecode;
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
                    "its OCaml is none that this version of Bactrian knows, which are {known}"
                ),
            };
            refuse(reason, "A newer Bactrian may know it".to_owned())
        }
    }
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
        return Err(Refusal::new(Cause::Closed, reason, EXPORT));
    }
    if !image.is_waking {
        let reason = "it does not take readlink from libc, by whose call the agent would start";
        return Err(Refusal::new(Cause::Closed, reason, "Link libc dynamically"));
    }
    Ok(())
}

/// Whether a snapshot of the heap can be taken: by the agent, or once the program runs.
pub(super) fn snapshot(facts: &Facts) -> Verdict {
    let outside = match from_outside(facts) {
        Ok(version) => version,
        Err(refusal) => return said_before(refusal),
    };
    match agent(facts) {
        Ok(_) => Verdict::Yes { note: how_sure(outside) },
        Err(refusal) => Verdict::Yes {
            note: format!(
                "only once it runs, by its number, and not by record: {}",
                refusal.reason
            ),
        },
    }
}

/// Whether a snapshot can be taken of the program once it runs.
pub(super) fn attach(facts: &Facts, process: Option<&Process>) -> Verdict {
    let version = match from_outside(facts) {
        Ok(version) => version,
        Err(refusal) => return said_before(refusal),
    };
    match process.map(|process| &process.tracing) {
        None => Verdict::Yes {
            note: format!(
                "{}; whether a process may be traced is told by its number",
                how_sure(version)
            ),
        },
        Some(Tracing::Yes) => {
            Verdict::Yes { note: format!("{}, and it may be traced", how_sure(version)) }
        }
        Some(Tracing::No { reason, way_out }) => Verdict::No {
            reason: format!("it may not be traced: {reason}"),
            way_out: match way_out.as_str() {
                "" => String::new(),
                some => format!("{some}; or start it anew by record --snapshots signal"),
            },
        },
    }
}

/// Whether a process can be recorded as it runs.
pub(super) fn record_running(facts: &Facts, process: &Process) -> Verdict {
    match recordable_late(facts, process) {
        Ok(version) => Verdict::Yes {
            note: format!("{}, by bactrian record {}", how_sure(version), process.pid),
        },
        Err(refusal) => said_before(refusal),
    }
}

/// Why no sampler can be started in such a program while it runs, and what can be done instead; none if one can. `knows_libc`: whether
/// there are names of its libc's functions, and that is glibc.
pub(crate) fn cannot_start_late(
    version: Version,
    code: Code,
    knows_libc: bool,
) -> Option<(String, &'static str)> {
    if Runtime::of(version).is_some_and(|runtime| !runtime.has_sampler) {
        return Some(no_sampler(&version.to_string()));
    }
    if code == Code::Bytecode {
        let reason = "it is bytecode, in which no sampler can be started while it runs";
        return Some((reason.to_owned(), "Start the program under `bactrian record`"));
    }
    (!knows_libc).then(|| {
        let reason = "it is linked statically and stripped, or not with glibc: what the agent needs of libc is not found";
        (reason.to_owned(), "Take snapshots of it (`bactrian snapshot PID`), or do not strip it")
    })
}

/// The same of a program that is known by its file.
fn cannot_be_started_late(facts: &Facts, version: Version) -> Option<(String, &'static str)> {
    let is_bytecode = facts.ocaml.as_ref().is_some_and(|ocaml| ocaml.kind != Kind::Native);
    let code = if is_bytecode { Code::Bytecode } else { Code::Native };
    let knows_libc =
        |image: &Image| is_for_glibc(image).is_ok() && !(image.is_static && image.is_stripped);
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
        return closed("it was started under bactrian record, and has an agent", "");
    }
    if process.has_other_files {
        return closed("it sees other files than we do", "Run bactrian in that container");
    }
    match &process.tracing {
        Tracing::Yes => Ok(version),
        Tracing::No { reason, way_out } => {
            closed(&format!("it may not be traced: {reason}"), way_out)
        }
    }
}

/// What helps if it is no program of OCaml is said once, with recording.
fn said_before(refusal: Refusal) -> Verdict {
    match refusal.cause {
        Cause::NotAProgram | Cause::NotOcaml => {
            Verdict::No { reason: refusal.reason, way_out: String::new() }
        }
        _ => refusal.into(),
    }
}

/// Whether the heap can be walked from outside; the version of OCaml if so.
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

/// The version, if it is one whose heaps are known.
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

/// Whether blocks of the heap can be given types.
pub(super) fn types(facts: &Facts) -> Verdict {
    let is_program = facts.image.as_ref().map_or(Ok(()), is_program);
    let ocaml = match is_program.and_then(|()| has_ocaml(facts)) {
        Err(refusal) => return Verdict::No { reason: refusal.reason, way_out: String::new() },
        Ok(ocaml) => ocaml,
    };
    let Some(build) = build_of(&facts.path) else {
        return Verdict::No {
            reason: "there are no .cmt files where it is".to_owned(),
            way_out: "Make a table where it was built (bactrian types build _build -o x.types) and name it with --types"
                .to_owned(),
        };
    };
    let samples = match &ocaml.debug_info {
        Some(debug) if debug.is_complete => "",
        _ => "; without debug info (-g), samples tell no types",
    };
    Verdict::Yes { note: format!("its .cmt files are in {}{samples}", build.display()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::facts::{Debug, VersionSource};
    use crate::doctor::privilege::Privilege;

    /// A program that can be recorded.
    fn program() -> Facts {
        Facts {
            path: "server".into(),
            interpreters: Vec::new(),
            ocaml: Some(ocaml("4.13.1", Some(Version::new(4, 13)))),
            image: Some(Image {
                machine: Machine::X86_64,
                bits: 64,
                purpose: Purpose::Program,
                is_static: false,
                loader: Some("/lib64/ld-linux-x86-64.so.2".to_owned()),
                is_relocatable: true,
                is_stripped: true,
                has_dwarf: false,
                is_waking: true,
                missing_symbols: Vec::new(),
            }),
            privileges: Vec::new(),
        }
    }

    fn ocaml(said: &str, runtime: Option<Version>) -> OcamlFacts {
        OcamlFacts {
            kind: Kind::Native,
            version: Some(said.to_owned()),
            version_source: Some(VersionSource::Sys),
            runtime,
            release: Version::parse(said),
            debug_info: Some(Debug {
                is_complete: true,
                modules_with: Some(7),
                modules_without: Vec::new(),
            }),
        }
    }

    /// Checks what is said of a program that was changed: a part of the note, or of the refusal.
    fn check(expected: Result<&str, (Cause, &str)>, change: impl FnOnce(&mut Facts, &mut Image)) {
        let mut facts = program();
        let mut image = facts.image.take().expect("it has one");
        change(&mut facts, &mut image);
        facts.image = Some(image);
        match (record(&facts), expected) {
            (Ok(note), Ok(part)) => assert!(note.contains(part), "{note}"),
            (Err(refusal), Err((cause, part))) => {
                assert_eq!(refusal.cause, cause, "{refusal}");
                assert!(refusal.reason.contains(part), "{refusal}");
                assert!(!refusal.way_out.is_empty(), "{refusal}");
            }
            (seen, expected) => panic!("{seen:?} instead of {expected:?}"),
        }
    }

    #[test]
    fn versions_decide() {
        let of = |said: &'static str, runtime: (u8, u8), expected| {
            let runtime = (runtime.0 > 0).then(|| Version::new(runtime.0, runtime.1));
            check(expected, |facts, _| facts.ocaml = Some(ocaml(said, runtime)));
        };
        let no = |part| Err((Cause::Version, part));
        of("4.13.1", (4, 13), Ok("tested with OCaml 4.13"));
        of("5.3.0", (5, 3), Ok("tested with OCaml 5.3"));
        of("4.11.2", (4, 11), Ok("expected to work, not tested"));
        of("4.14.2", (4, 14), Ok("expected to work, not tested"));
        of("4.10.2", (4, 10), no("OCaml 4.10.2 has no Gc.Memprof, which came with 4.11"));
        of("4.02.3", (0, 0), no("OCaml 4.02.3 has no Gc.Memprof"));
        for (said, minor) in [("5.0.0", 0), ("5.1.1", 1), ("5.2.1", 2)] {
            let reason = "has no Gc.Memprof, by which allocations are sampled: recording a trace needs OCaml 5.3";
            of(said, (5, minor), Err((Cause::NoSampler, reason)));
        }
        of("5.2.0+jst", (5, 3), no("a changed OCaml"));
        of("4.14.0+changed", (5, 3), no("says that it is OCaml 4.14.0+changed, but its runtime"));
        of(
            "5.3.0",
            (0, 0),
            no("OCaml 5.3.0 is not known to this version of Bactrian, which knows 4.11"),
        );
        of("5.9.0", (5, 5), no("OCaml 5.9.0 is not known to this version of Bactrian"));
        of("5.9.0", (0, 0), no("OCaml 5.9.0 is not known"));
        check(no("its OCaml is none that this version of Bactrian knows"), |facts, _| {
            let unknown = OcamlFacts { version: None, release: None, ..ocaml("5.3.0", None) };
            facts.ocaml = Some(unknown);
        });
        // Without Sys in it, symbols are all there is.
        check(Ok("tested with OCaml 5.3"), |facts, _| {
            facts.ocaml = Some(ocaml("5.3", Some(Version::new(5, 3))));
        });
    }

    #[test]
    fn what_has_no_sampler_is_told_what_works() {
        let mut facts = program();
        facts.ocaml = Some(ocaml("5.2.1", Some(Version::new(5, 2))));
        // That it is linked statically is not what is wrong with it.
        facts.image.as_mut().expect("it has one").is_static = true;
        let refusal = record(&facts).expect_err("it has no sampler").to_string();
        for part in [
            "OCaml 5.2.1",
            "needs OCaml 5.3 or newer",
            "bactrian snapshot PID",
            "bactrian record --no-trace --snapshots exit",
            "bactrian live",
        ] {
            assert!(refusal.contains(part), "{refusal}");
        }
        assert_eq!(agent(&facts).map_err(|refusal| refusal.cause), Err(Cause::Closed));
        facts.image.as_mut().expect("it has one").is_static = false;
        assert_eq!(agent(&facts).ok(), Some(Version::new(5, 2)));
    }

    #[test]
    fn what_the_dynamic_linker_refuses_is_refused() {
        let no = |part| Err((Cause::Closed, part));
        check(no("linked statically"), |_, image| (image.is_static, image.loader) = (true, None));
        check(no("built for musl"), |_, image| {
            image.loader = Some("/lib/ld-musl-x86_64.so.1".to_owned());
        });
        check(no("it is for arm64"), |_, image| image.machine = Machine::Aarch64);
        check(no("it is for x86, and"), |_, image| {
            (image.machine, image.bits) = (Machine::X86, 32)
        });
        check(no("x32"), |_, image| image.bits = 32);
        check(no("(setuid and file capabilities)"), |facts, _| {
            facts.privileges = vec![Privilege::Setuid, Privilege::Capabilities];
        });
        check(no("(caml_c_call)"), |_, image| image.missing_symbols = vec!["caml_c_call"]);
        check(no("(a and 3 more)"), |_, image| image.missing_symbols = vec!["a", "b", "c", "d"]);
        check(no("readlink"), |_, image| image.is_waking = false);
    }

    #[test]
    fn refusals_name_what_works() {
        let mut facts = program();
        let image = facts.image.as_mut().expect("it has one");
        (image.is_static, image.loader) = (true, None);
        let refusal = record(&facts).expect_err("static");
        assert!(refusal.way_out.starts_with("Link it dynamically"), "{refusal}");
        assert!(refusal.way_out.ends_with("by bactrian snapshot PID"), "{refusal}");
        let nameless = OcamlFacts { kind: Kind::Unknown, ..ocaml("4.13.1", None) };
        facts.ocaml = Some(nameless);
        let refusal = record(&facts).expect_err("static");
        assert_eq!(refusal.way_out, "Link it dynamically, without -ccopt -static");
        let Verdict::No { way_out, .. } = snapshot(&facts) else { panic!("it has no names") };
        assert!(way_out.starts_with("Do not strip it"), "{way_out}");
        // What is exported survives stripping.
        let image = facts.image.as_mut().expect("it has one");
        (image.is_static, image.loader) = (false, Some("/lib64/ld-linux-x86-64.so.2".to_owned()));
        assert_eq!(record(&facts).expect_err("it has no names").way_out, EXPORT);
    }

    #[test]
    fn what_is_no_ocaml_that_is_known_is_refused() {
        check(Err((Cause::NotOcaml, "no OCaml runtime")), |facts, _| facts.ocaml = None);
        check(Err((Cause::Closed, "built for musl")), |facts, image| {
            facts.ocaml = None;
            image.loader = Some("/lib/ld-musl-x86_64.so.1".to_owned());
        });
        check(Err((Cause::Closed, "it is for x86, and")), |facts, image| {
            facts.ocaml = None;
            (image.machine, image.bits) = (Machine::X86, 32);
        });
        check(Err((Cause::NotOcaml, "a script for /bin/sh")), |facts, _| {
            facts.ocaml = None;
            facts.interpreters = vec!["/bin/sh".into()];
        });
        for (purpose, part) in
            [(Purpose::Library, "library"), (Purpose::Object, "object"), (Purpose::Core, "core")]
        {
            check(Err((Cause::NotAProgram, part)), |_, image| image.purpose = purpose);
        }
        for (kind, cause, part) in [
            (Kind::NativeWithoutRuntime, Cause::Version, "shared library"),
            (Kind::Unknown, Cause::Closed, "exports nothing"),
        ] {
            check(Err((cause, part)), |facts, _| {
                facts.ocaml = facts.ocaml.take().map(|ocaml| OcamlFacts { kind, ..ocaml });
            });
        }
    }

    #[test]
    fn bytecode_is_recorded_whatever_its_runtime_exports() {
        for kind in [Kind::Bytecode, Kind::Custom, Kind::Complete, Kind::Runtime] {
            check(Ok("tested"), |facts, image| {
                facts.ocaml = facts.ocaml.take().map(|ocaml| OcamlFacts { kind, ..ocaml });
                image.missing_symbols = vec!["caml_c_call"];
            });
        }
    }

    #[test]
    fn types_need_what_the_compiler_left() {
        let verdict = types(&program());
        let Verdict::No { way_out, .. } = verdict else { panic!("{verdict:?}") };
        assert!(way_out.contains("bactrian types build"), "{way_out}");
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("program");
        for name in ["program", "program.cmt"] {
            std::fs::write(folder.path().join(name), "").expect("room");
        }
        let verdict = types(&Facts { path, ..program() });
        let Verdict::Yes { note } = verdict else { panic!("{verdict:?}") };
        assert!(note.starts_with("its .cmt files are in /"), "{note}");
    }

    #[test]
    fn refusals_say_what_helps() {
        let refusal = Refusal::new(Cause::NotOcaml, "why", "What helps").about(Path::new("x"));
        assert_eq!(refusal.to_string(), "x: why. What helps");
    }

    /// Checks what is said of snapshots of a program that was changed.
    fn check_snapshot(expected: Result<&str, &str>, change: impl FnOnce(&mut Facts, &mut Image)) {
        let mut facts = program();
        let mut image = facts.image.take().expect("it has one");
        change(&mut facts, &mut image);
        facts.image = Some(image);
        match (snapshot(&facts), expected) {
            (Verdict::Yes { note }, Ok(part)) => assert!(note.contains(part), "{note}"),
            (Verdict::No { reason, way_out }, Err(part)) => {
                assert!(reason.contains(part), "{reason}");
                assert_eq!(way_out.is_empty(), facts.ocaml.is_none(), "{reason}");
                assert!(matches!(attach(&facts, None), Verdict::No { .. }), "{reason}");
            }
            (seen, expected) => panic!("{seen:?} instead of {expected:?}"),
        }
    }

    #[test]
    fn snapshots_need_a_heap_that_is_known() {
        let of = |said: &'static str, (major, minor), expected| {
            let runtime = Some(Version::new(major, minor));
            check_snapshot(expected, |facts, _| facts.ocaml = Some(ocaml(said, runtime)));
        };
        of("4.13.1", (4, 13), Ok("tested with OCaml 4.13"));
        of("5.3.0", (5, 3), Ok("tested with OCaml 5.3"));
        of("4.14.2", (4, 14), Ok("not tested with OCaml 4.14"));
        of("4.10.2", (4, 10), Err("heaps of OCaml 4.10.2 are not known"));
        of("5.1.0", (5, 1), Ok("checked by hand with OCaml 5.1"));
        of("5.6.0", (5, 6), Err("OCaml 5.6.0 is not known to this version of Bactrian"));
        of("5.2.0+jst", (5, 3), Err("a changed OCaml"));
        let bytecode = |said: &'static str, version: Version| {
            move |facts: &mut Facts, _: &mut Image| {
                let ocaml = ocaml(said, Some(version));
                facts.ocaml = Some(OcamlFacts { kind: Kind::Custom, ..ocaml });
            }
        };
        check_snapshot(Ok("tested"), bytecode("4.13.1", Version::new(4, 13)));
        check_snapshot(Ok("tested with OCaml 5.3"), bytecode("5.3.0", Version::new(5, 3)));
    }

    #[test]
    fn what_the_agent_cannot_enter_can_still_be_traced() {
        check_snapshot(Ok("only once it runs"), |_, image| {
            (image.is_static, image.loader) = (true, None);
        });
        check_snapshot(Err("is stripped"), |facts, image| {
            (image.is_static, image.loader) = (true, None);
            let nameless = OcamlFacts { version: None, release: None, ..ocaml("4.13.1", None) };
            facts.ocaml = Some(OcamlFacts { kind: Kind::Unknown, ..nameless });
        });
        check_snapshot(Err("no OCaml runtime"), |facts, _| facts.ocaml = None);
        check_snapshot(Err("arm64"), |_, image| image.machine = Machine::Aarch64);
    }

    #[test]
    fn a_process_is_attached_to_if_it_may_be_traced() {
        let process = |tracing| Process {
            pid: 7,
            agent: None,
            tracing,
            has_other_files: false,
            has_other_numbers: false,
        };
        let seen = attach(&program(), Some(&process(Tracing::Yes)));
        assert!(
            matches!(&seen, Verdict::Yes { note } if note.contains("may be traced")),
            "{seen:?}"
        );
        let (reason, way_out) = ("because".to_owned(), "Do this".to_owned());
        let seen = attach(&program(), Some(&process(Tracing::No { reason, way_out })));
        let Verdict::No { reason, way_out } = seen else { panic!("{seen:?}") };
        assert_eq!(reason, "it may not be traced: because");
        assert_eq!(way_out, "Do this; or start it anew by record --snapshots signal");
    }
}
