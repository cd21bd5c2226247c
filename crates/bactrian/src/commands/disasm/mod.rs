//! `bactrian disasm`: the instructions of a bytecode program, with source lines and allocations.

mod listing;
mod profile;
mod sources;

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use bactrian_analysis::Pattern;
use bactrian_capture::find_program;
use bactrian_ocaml::OcamlError;
use bactrian_ocaml::bytecode::{Function, Program};
use serde_json::{Value, json};

use self::profile::Profile;
use self::sources::Sources;
use crate::commands::instructions::Header;
use crate::failure::{Failure, Status};
use crate::open;
use crate::output::{Console, print_envelope, print_json};

/// Disassemble a bytecode program, beside its source.
///
/// With --profile, the margin shows what each instruction allocated; those with a tenth of all words or more are marked
/// with an asterisk. What a C primitive allocates is shown at the C_CALL that calls it.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  bactrian disasm ./queens.byte                         all of it
  bactrian disasm ./queens.byte --function Queens.solve one function
  bactrian record --exact -o queens.ctf -- ./queens.byte
  bactrian disasm ./queens.byte --profile queens.ctf    with words in the margin
  bactrian disasm ./queens.byte --profile queens.ctf --source --function /^Queens/")]
pub struct Args {
    /// A bytecode program; looked up in PATH as the shell does
    #[arg(value_name = "PROGRAM")]
    program: OsString,
    /// Only this function: a name (Main.load also matches Dune__exe__Main.load) or /REGEX/; may be repeated
    #[arg(long, value_name = "FUNCTION", value_parser = Pattern::parse)]
    function: Vec<Pattern>,
    /// Print source files, each line with the instructions that come from it; with --profile, only instructions that
    /// allocated, and words per line
    #[arg(long)]
    source: bool,
    /// Also look for source files here; may be repeated
    #[arg(long, value_name = "DIR")]
    source_dir: Vec<PathBuf>,
    /// A trace of this program
    #[arg(long, short, value_name = "TRACE")]
    profile: Option<PathBuf>,
    /// Whether word counts include the header of each block
    #[arg(long, value_name = "WHICH", default_value = "without-header", requires = "profile")]
    words: Header,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What is shown: a program, the requested functions, and what is known about them.
struct View<'a> {
    program: &'a Program<'a>,
    functions: Vec<&'a Function<'a>>,
    sources: Sources,
    profile: Option<Profile>,
}

pub fn run(args: &Args, console: &mut Console) -> Result<Status, Failure> {
    let path = locate(&args.program)?;
    let bytes = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let program = Program::read(&bytes).map_err(|error| refuse(&path, error))?;
    let functions = wanted(&program, &args.function)?;
    let sources = Sources::new(&path, &args.source_dir);
    let trace = args.profile.as_deref().map(open::open).transpose()?;
    let profile = trace.as_ref().map(|trace| Profile::new(trace, &program, args.words));
    let mut view = View { program: &program, functions, sources, profile };
    if args.json {
        let result = listing::as_json(&view);
        match (&args.profile, &view.profile) {
            (Some(trace), Some(profile)) => {
                print_json(console, "disasm", trace, &profile.of_trace.losses, &result)?;
            }
            _ => print_envelope(console, "disasm", [], &result)?,
        }
    } else if args.source {
        listing::print_sources(&mut view, console)?;
    } else {
        listing::print(&mut view, console)?;
    }
    if let (Some(trace), Some(profile)) = (&args.profile, &view.profile) {
        profile.warn(&path, console)?;
        open::account(trace, false, &profile.of_trace.losses, console)?;
    }
    Ok(Status::Done)
}

/// Finds the program: an existing file, executable or not, or a program in PATH.
fn locate(program: &OsString) -> Result<PathBuf, Failure> {
    if Path::new(program).is_file() {
        return Ok(program.into());
    }
    find_program(program).map_err(|error| Failure::Input(error.into()))
}

fn refuse(path: &Path, error: OcamlError) -> Failure {
    let what = format!("{}: {error}", path.display());
    match error {
        OcamlError::NoBytecode(_) => Failure::NotSupported(what),
        _ => Failure::Input(anyhow!(what)),
    }
}

fn wanted<'a>(
    program: &'a Program<'a>,
    patterns: &[Pattern],
) -> Result<Vec<&'a Function<'a>>, Failure> {
    let matches = |pattern: &Pattern, function: &Function<'_>| pattern.matches(&function.name);
    let missing = patterns
        .iter()
        .find(|pattern| !program.functions.iter().any(|function| matches(pattern, function)));
    if let Some(missing) = missing {
        let hint = match program.debug {
            Some(_) => "",
            None => ". It has no debug information, so its functions have numbers instead of names",
        };
        return Err(Failure::Input(anyhow!("no function {missing} in the program{hint}")));
    }
    let all = program.functions.iter();
    let is_wanted = |function: &&Function<'_>| {
        patterns.is_empty() || patterns.iter().any(|pattern| matches(pattern, function))
    };
    Ok(all.filter(is_wanted).collect())
}

/// A summary of the program as JSON.
fn describe(program: &Program<'_>) -> Value {
    json!({
        "version": program.version.to_string(),
        "code_words": program.code.end().0,
        "primitives": program.primitives.len(),
        "debug_info": program.debug.is_some(),
    })
}
