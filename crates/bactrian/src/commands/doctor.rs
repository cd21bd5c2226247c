//! `bactrian doctor`: what works for a program, and why other things do not.

use std::ffi::OsString;
use std::io::Write;
use std::path::Path;

use bactrian_capture::doctor::{
    Debug, ExecutableKind, Facts, MachineCode, OcamlFacts, Process, Purpose, Refusal, Report,
    Verdict, VersionSource, examine, examine_process,
};
use bactrian_capture::find_program;
use bactrian_capture::program::ProgramError;

use crate::failure::{Failure, Status};
use crate::output::{BAD, Console, FAINT, GOOD, print_envelope, visible};

/// The most module names listed.
const LISTED: usize = 5;
/// Width of the names of facts.
const MARGIN: usize = 14;

/// Show what works for a program, what does not and why, and what to do about it.
///
/// Examines the program's file without running it. Exit status 4 if the program cannot be recorded.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  bactrian doctor ./server       what can be observed of this program
  bactrian doctor unison         the same for a program in PATH
  bactrian doctor 1234           for a process, by its id, unless a file here has this name
  bactrian doctor ./server --json | jq .result.record")]
pub struct Args {
    /// A program, looked up in PATH as the shell does, or a process id
    #[arg(value_name = "PROGRAM|PID")]
    subject: OsString,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args, console: &mut Console) -> Result<Status, Failure> {
    let report = look(args)?;
    if args.json {
        print_envelope(console, "doctor", [], &report)?;
    } else {
        print(&report, console)?;
    }
    Ok(match report.record {
        Verdict::Yes { .. } => Status::Done,
        Verdict::No { .. } => Status::NotSupported,
    })
}

fn look(args: &Args) -> Result<Report, Failure> {
    let unreadable = |refusal: Refusal| Failure::Input(refusal.into());
    let number = args.subject.to_str().and_then(|text| text.parse().ok());
    let subject = match number {
        Some(pid) if !Path::new(&args.subject).exists() => {
            return examine_process(pid).map_err(unreadable);
        }
        // Programs in PATH are never named by a number.
        Some(_) => Path::new(".").join(&args.subject).into_os_string(),
        None => args.subject.clone(),
    };
    match find_program(&subject) {
        Ok(path) => examine(&path).map_err(unreadable),
        // A file that is not a program is reported as such, rather than as lacking a permission.
        Err(error @ ProgramError::NotExecutable(_)) => match error.path().map(examine) {
            Some(Err(refusal)) => Err(unreadable(refusal)),
            Some(Ok(report)) if !is_program(&report.program) => Ok(report),
            _ => Err(Failure::Input(error.into())),
        },
        Err(error) => Err(Failure::Input(error.into())),
    }
}

fn is_program(facts: &Facts) -> bool {
    facts.image.as_ref().is_none_or(|image| image.purpose == Purpose::Program)
}

fn print(report: &Report, console: &mut Console) -> Result<(), Failure> {
    let Report { program, process, .. } = report;
    print_program(program, console)?;
    if let Some(process) = process {
        print_process(process, console)?;
    }
    writeln!(console.out())?;
    let verdicts = [
        ("record", Some(&report.record)),
        ("record PID", report.record_running.as_ref()),
        ("snapshot", Some(&report.snapshot)),
        ("attach", Some(&report.attach)),
        ("types", Some(&report.types)),
    ];
    for (name, verdict) in verdicts {
        if let Some(verdict) = verdict {
            print_verdict(name, verdict, console)?;
        }
    }
    Ok(())
}

fn line(console: &mut Console, name: &str, value: &str) -> Result<(), Failure> {
    writeln!(console.out(), "{FAINT}{name:<MARGIN$}{FAINT:#}{}", visible(value))?;
    Ok(())
}

fn print_program(facts: &Facts, console: &mut Console) -> Result<(), Failure> {
    line(console, "program", &facts.path.display().to_string())?;
    for interpreter in &facts.interpreters {
        line(console, "run by", &interpreter.display().to_string())?;
    }
    match &facts.ocaml {
        None => line(console, "OCaml", "no")?,
        Some(ocaml) => {
            line(console, "OCaml", &show_ocaml(ocaml))?;
            if let Some(debug) = &ocaml.debug_info {
                line(console, "debug info", &show_debug_info(debug))?;
            }
        }
    }
    if let Some(image) = &facts.image {
        line(console, "machine code", &show_image(image))?;
        let is_native =
            facts.ocaml.as_ref().is_some_and(|ocaml| ocaml.kind == ExecutableKind::Native);
        if is_native && !image.is_static {
            line(console, "exports", &show_exports(image))?;
        }
    }
    if !facts.privileges.is_empty() {
        let names: Vec<_> = facts.privileges.iter().map(ToString::to_string).collect();
        line(console, "rights", &names.join(", "))?;
    }
    Ok(())
}

fn show_ocaml(ocaml: &OcamlFacts) -> String {
    let version = ocaml.version.as_deref().unwrap_or("of unknown version");
    let kind = match ocaml.kind {
        ExecutableKind::Native => "native code",
        ExecutableKind::NativeWithoutRuntime => "native code, its runtime in a shared library",
        ExecutableKind::Bytecode => "bytecode",
        ExecutableKind::Custom => "bytecode with its own runtime (ocamlc -custom)",
        ExecutableKind::Complete => "bytecode with its own runtime (ocamlc -output-complete-exe)",
        ExecutableKind::Runtime => "the runtime for bytecode",
        ExecutableKind::Unknown => "stripped of all symbols",
    };
    let source = match ocaml.version_source {
        None => return format!("{version}, {kind}"),
        Some(VersionSource::Sys) => match ocaml.runtime {
            Some(runtime) if Some(runtime) == ocaml.release => {
                "Sys.ocaml_version and the runtime's symbols".to_owned()
            }
            Some(runtime) => {
                format!("Sys.ocaml_version, but the runtime's symbols are those of {runtime}")
            }
            None => "Sys.ocaml_version; the runtime's symbols match no known version".to_owned(),
        },
        Some(VersionSource::Symbols) => "the runtime's symbols".to_owned(),
        Some(VersionSource::DebugFile) => "the symbols in its debug file".to_owned(),
        Some(VersionSource::Code) => {
            "the runtime's code, which matches an ocamlopt installed here".to_owned()
        }
        Some(VersionSource::MagicNumber) => "the magic number of the bytecode".to_owned(),
    };
    format!("{version} (according to {source}), {kind}")
}

fn show_debug_info(debug: &Debug) -> String {
    let Debug { is_complete, modules_with, modules_without } = debug;
    let Some(with) = modules_with else {
        return match is_complete {
            true => "source locations are known".to_owned(),
            false => "none: it was compiled without -g".to_owned(),
        };
    };
    let all = with + modules_without.len();
    if *is_complete {
        return format!("allocation sites are known in all {all} modules that allocate");
    }
    let listed: Vec<_> = modules_without.iter().take(LISTED).map(String::as_str).collect();
    let more = match modules_without.len().saturating_sub(LISTED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let listed = listed.join(", ");
    format!(
        "allocation sites are known in {with} of {all} modules that allocate, not in \
         {listed}{more} (compile them with -g)"
    )
}

fn show_image(image: &MachineCode) -> String {
    let purpose = match image.purpose {
        Purpose::Program if image.is_static => "linked statically",
        Purpose::Program => "linked dynamically",
        Purpose::Library => "a shared library",
        Purpose::Object => "an object file",
        Purpose::Core => "a core file",
    };
    let mut parts = vec![image.machine.to_string(), purpose.to_owned()];
    let [stripped, dwarf] = [image.is_stripped, image.has_dwarf];
    parts.push(if stripped { "stripped" } else { "not stripped" }.to_owned());
    if dwarf {
        parts.push("with C debug info".to_owned());
    }
    parts.join(", ")
}

fn show_exports(image: &MachineCode) -> String {
    match image.missing_symbols.as_slice() {
        [] => "everything that the agent needs from the runtime".to_owned(),
        missing => format!("not {}", missing.join(", ")),
    }
}

fn print_process(process: &Process, console: &mut Console) -> Result<(), Failure> {
    let agent = match &process.agent {
        Some(path) => format!("{}, agent loaded ({path})", process.pid),
        None => format!("{}, agent not loaded", process.pid),
    };
    line(console, "process", &agent)?;
    let places = match (process.has_other_files, process.has_other_numbers) {
        (false, false) => return Ok(()),
        (true, false) => "its own mount namespace, as in a container: paths differ there",
        (false, true) => "its own pid namespace, as in a container",
        (true, true) => "its own mount and pid namespaces, as in a container: paths differ there",
    };
    line(console, "namespaces", places)
}

fn print_verdict(name: &str, verdict: &Verdict, console: &mut Console) -> Result<(), Failure> {
    let (style, answer, first, second) = match verdict {
        Verdict::Yes { note } => (GOOD, "yes", note.as_str(), ""),
        Verdict::No { reason, way_out } => (BAD, "no", reason.as_str(), way_out.as_str()),
    };
    let out = console.out();
    writeln!(out, "{FAINT}{name:<MARGIN$}{FAINT:#}{style}{answer}{style:#}: {}", visible(first))?;
    if !second.is_empty() {
        writeln!(out, "{:MARGIN$}{}", "", visible(second))?;
    }
    Ok(())
}
